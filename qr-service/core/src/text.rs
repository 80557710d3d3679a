//! Symbols as text, for terminals and plain files.

use crate::modules::Modules;

/// How to draw as text.
#[doc = example!(symbol:
    let mut text = String::new();
    write_ascii(&symbol, &TextStyle::default().margin_modules(2).ink(Ink::Dark), &mut text);
    assert_eq!(text.lines().count(), 21 + 2 * 2);
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextStyle {
    /// Width of the quiet zone, in modules.
    pub margin_modules: u32,
    /// The modules that are drawn as characters; the others are blank.
    pub ink: Ink,
}

impl Default for TextStyle {
    /// For light characters on a dark background, as in most terminals, with the standard's quiet zone of 4 modules.
    fn default() -> Self {
        TextStyle { margin_modules: 4, ink: Ink::Light }
    }
}

impl TextStyle {
    setters! {
        margin_modules: u32 = "TextStyle::default().margin_modules(2)",
        ink: Ink = "TextStyle::default().ink(Ink::Dark)",
    }
}

/// The modules that are drawn as characters.
///
/// ```
/// use qr_core::{Ink, Level, TextStyle, encode, write_half_blocks};
///
/// let symbol = encode("text", Level::M)?;
/// let draw = |ink| {
///     let mut text = String::new();
///     write_half_blocks(&symbol, &TextStyle::default().margin_modules(1).ink(ink), &mut text);
///     text.chars().next()
/// };
/// assert_eq!((draw(Ink::Light), draw(Ink::Dark)), (Some('█'), Some(' ')));
/// # Ok::<(), qr_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The dark ones: for dark characters on a light background, such as paper.
    Dark,
    /// The light ones: for light characters on a dark background.
    Light,
}

/// Appends the symbol to `out` in half blocks: a character shows two modules, one above the other. Each
/// line ends with a newline.
#[doc = example!(symbol:
    let mut text = String::new();
    write_half_blocks(&symbol, &TextStyle::default(), &mut text);
    assert_eq!(text.lines().count(), (21 + 2 * 4_usize).div_ceil(2));
)]
pub fn write_half_blocks<'a>(modules: impl Into<Modules<'a>>, style: &TextStyle, out: &mut String) {
    let picture = Picture::new(modules.into(), style);
    for y in (0..picture.height).step_by(2) {
        out.extend((0..picture.width).map(|x| {
            match (picture.is_drawn(x, y), picture.is_drawn(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            }
        }));
        out.push('\n');
    }
}

/// Appends the symbol to `out` in ASCII: `##` for a module that is drawn, two spaces for any other. Each
/// line ends with a newline.
#[doc = example!(symbol:
    let mut text = String::new();
    write_ascii(&symbol, &TextStyle::default().margin_modules(0).ink(Ink::Dark), &mut text);
    assert!(text.starts_with("##############  "));
)]
pub fn write_ascii<'a>(modules: impl Into<Modules<'a>>, style: &TextStyle, out: &mut String) {
    let picture = Picture::new(modules.into(), style);
    for y in 0..picture.height {
        let drawn = |x| if picture.is_drawn(x, y) { "##" } else { "  " };
        out.extend((0..picture.width).map(drawn));
        out.push('\n');
    }
}

/// A symbol with its quiet zone.
struct Picture<'a> {
    modules: Modules<'a>,
    margin: usize,
    width: usize,
    height: usize,
    ink: Ink,
}

impl<'a> Picture<'a> {
    fn new(modules: Modules<'a>, style: &TextStyle) -> Self {
        let margin = style.margin_modules as usize;
        let (width, height) = (modules.width() + 2 * margin, modules.height() + 2 * margin);
        Picture { modules, margin, width, height, ink: style.ink }
    }

    /// Whether the module has ink. There is none below the last row.
    fn is_drawn(&self, x: usize, y: usize) -> bool {
        // Above or left of the symbol this wraps to a large number, which is outside as well.
        let at = (x.wrapping_sub(self.margin), y.wrapping_sub(self.margin));
        let is_dark = self.modules.is_dark(at.0, at.1);
        y < self.height && is_dark == (self.ink == Ink::Dark)
    }
}
