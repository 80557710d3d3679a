//! Faults that tests inject, in builds with the feature `faults` only.

use std::sync::atomic::{AtomicBool, Ordering};

static OTHER_TEXTS: AtomicBool = AtomicBool::new(false);

/// From now on every picture encodes a wrong text.
pub fn draw_other_texts() {
    OTHER_TEXTS.store(true, Ordering::Relaxed);
}

/// The text to draw for a request of `text`.
pub(crate) fn text_to_draw(text: &str) -> &str {
    if OTHER_TEXTS.load(Ordering::Relaxed) { "not what was asked for" } else { text }
}
