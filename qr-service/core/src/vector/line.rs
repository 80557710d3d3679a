//! The place of a caption: one line below the standard's quiet zone, whatever the margin.

use crate::modules::Modules;

/// The font size as a share of the picture's width, and the largest share of the width that a caption may take: a
/// longer caption gets a smaller font size.
const SIZE: f64 = 1.0 / 16.0;
const MOST: f64 = 0.94;
/// Height of the line, and the distance of its base line from its top, as multiples of the font size.
const HEIGHT: f64 = 1.5;
const BASE: f64 = 1.0;

/// Lengths in modules from the picture's upper left corner.
pub(super) struct Line {
    pub(super) size: f64,
    pub(super) base: f64,
    pub(super) height: f64,
}

impl Line {
    /// The line for a caption that is `width_em` times its font size wide.
    pub(super) fn new(width_em: f64, modules: &Modules<'_>, margin_modules: u32) -> Self {
        let with_margins = |side: usize| side as f64 + 2.0 * f64::from(margin_modules);
        let width = with_margins(modules.width());
        let size = (width * SIZE).min(width * MOST / width_em);
        // The quiet zone of Micro QR and rMQR has 2 modules.
        let is_qr = modules.width() >= 21 && modules.width() == modules.height();
        let quiet = if is_qr { 4_u32 } else { 2 };
        let gap = f64::from(quiet.saturating_sub(margin_modules));
        let base = with_margins(modules.height()) + gap + BASE * size;
        Line { size, base, height: gap + HEIGHT * size }
    }
}
