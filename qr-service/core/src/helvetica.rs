//! The characters of Helvetica and their widths. Every PDF reader and every printer has this font, so documents need
//! not embed it (ISO 32000-1 section 9.6.2.2).

use crate::error::Error;

/// The font of captions, with the characters of Windows-1252, which PDF calls WinAnsiEncoding: Latin-1, the euro,
/// dashes and quotation marks.
#[doc = example!(
    assert_eq!(Helvetica::encode("5 €"), Ok(vec![0x35, 0x20, 0x80]));
    assert_eq!(Helvetica::encode("漢"), Err(Error::Character { character: '漢' }));
)]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Helvetica;

/// The characters from 0x80 to 0x9F. Codes that the encoding leaves undefined are control characters here.
const FROM_80: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl Helvetica {
    /// Encodes a text in Windows-1252, the font's encoding.
    #[doc = example!(assert_eq!(Helvetica::encode("Größe"), Ok(b"Gr\xf6\xdfe".to_vec())))]
    ///
    /// # Errors
    /// [`Error::Character`] for the first character that the font lacks.
    pub fn encode(text: &str) -> Result<Vec<u8>, Error> {
        text.chars().map(|it| byte_of(it).ok_or(Error::Character { character: it })).collect()
    }

    /// The width of a text, as a multiple of the font size. A character that the font lacks counts as 1, the width of a
    /// Kanji.
    #[doc = example!(assert_eq!(Helvetica::width_em("Will"), (944.0 + 3.0 * 222.0) / 1000.0))]
    pub fn width_em(text: &str) -> f64 {
        let width = |byte: u8| WIDTHS[usize::from(byte.saturating_sub(0x20))];
        let thousandths = text.chars().map(|it| u32::from(byte_of(it).map_or(1000, width)));
        f64::from(thousandths.sum::<u32>()) / 1000.0
    }
}

fn byte_of(character: char) -> Option<u8> {
    if character.is_control() {
        return None;
    }
    let of_80 = || FROM_80.iter().position(|it| *it == character).map(|at| 0x80 + at as u8);
    u8::try_from(character).ok().or_else(of_80)
}

/// Widths of Helvetica's characters from 0x20 on (Adobe Font Metrics), in thousandths of the font's size.
#[rustfmt::skip]
const WIDTHS: [u16; 224] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, 350,
    556, 350, 222, 556, 333, 1000, 556, 556, 333, 1000, 667, 333, 1000, 350, 611, 350,
    350, 222, 222, 333, 333, 350, 556, 1000, 333, 1000, 500, 333, 944, 350, 500, 667,
    278, 333, 556, 556, 556, 556, 260, 556, 333, 737, 370, 556, 584, 333, 737, 333,
    400, 584, 333, 333, 333, 556, 537, 278, 333, 333, 365, 556, 834, 834, 834, 611,
    667, 667, 667, 667, 667, 667, 1000, 722, 667, 667, 667, 667, 278, 278, 278, 278,
    722, 722, 778, 778, 778, 778, 778, 584, 778, 722, 722, 722, 722, 667, 667, 611,
    556, 556, 556, 556, 556, 556, 889, 500, 556, 556, 556, 556, 278, 278, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 584, 611, 556, 556, 556, 556, 500, 556, 500,
];
