//! What tests make go wrong. Not in a build without the feature.

use std::sync::atomic::{AtomicBool, Ordering};

static OTHER_TEXTS: AtomicBool = AtomicBool::new(false);

/// From now on pictures are of other texts than those asked for.
pub fn draw_other_texts() {
    OTHER_TEXTS.store(true, Ordering::Relaxed);
}

/// The text to draw where `text` is asked for.
pub(crate) fn text_to_draw(text: &str) -> &str {
    if OTHER_TEXTS.load(Ordering::Relaxed) { "not what was asked for" } else { text }
}
