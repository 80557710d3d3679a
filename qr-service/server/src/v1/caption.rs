//! Captions in Helvetica, which every reader of PDF has, so no font is embedded (ISO 32000-1 section 9.6.2.2).
//!
//! They have the characters of WinAnsiEncoding, which is Windows-1252: Latin-1, the euro, dashes and quotation
//! marks. Others are refused by name.

use encoding_rs::WINDOWS_1252;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::v1::fault::{Code, Fault};

/// What a label has besides its symbol.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub(crate) struct LabelText {
    /// The line under the symbol, or the lines beside it, in characters of Windows-1252: those of western Europe.
    #[schema(min_length = 1, max_length = 200)]
    pub(crate) caption: Option<String>,
}

/// A caption to draw.
#[derive(Clone)]
pub(crate) struct LabelCaption {
    /// In the font's encoding.
    bytes: Vec<u8>,
    pub(crate) width_pt: f64,
}

impl LabelCaption {
    /// Measures a text of `size_pt` points; `None` for room is any.
    ///
    /// # Errors
    /// If it has characters that the font has not, or is wider than `room_pt` points.
    pub(crate) fn new(text: &str, size_pt: f64, room_pt: Option<f64>) -> Result<Self, Fault> {
        let mut bytes = Vec::with_capacity(text.len());
        for char in text.chars() {
            let Some(byte) = byte_of(char) else {
                let code = u32::from(char);
                let detail = format!("a caption cannot have U+{code:04X}, only Windows-1252");
                return Err(Fault::new("caption", Code::NotAllowed, detail));
            };
            bytes.push(byte);
        }
        let width = |byte: &u8| u32::from(WIDTHS[usize::from(byte.saturating_sub(0x20))]);
        let thousandths: u32 = bytes.iter().map(width).sum();
        let width_pt = f64::from(thousandths) / 1000.0 * size_pt;
        if let Some(room_pt) = room_pt.filter(|room_pt| width_pt > *room_pt) {
            let detail = format!("it is {width_pt:.0} points wide, and a label {room_pt:.0}");
            let fault = Fault::new("caption", Code::TooLong, detail);
            return Err(fault.suggest("shorten it, or use a smaller caption_pt or fewer columns"));
        }
        Ok(LabelCaption { bytes, width_pt })
    }

    /// The lines of a text that is `room_pt` points wide at most, broken between words.
    ///
    /// # Errors
    /// If a word is wider, or there are more than `most` lines.
    pub(crate) fn lines(
        text: &str,
        size_pt: f64,
        room_pt: f64,
        most: usize,
    ) -> Result<Vec<Self>, Fault> {
        let mut lines: Vec<(String, Self)> = Vec::new();
        for word in text.split(' ') {
            let longer = lines.last().map(|(line, _)| format!("{line} {word}"));
            let fits =
                |line: String| Some((LabelCaption::new(&line, size_pt, Some(room_pt)).ok()?, line));
            match longer.and_then(fits) {
                Some((drawn, line)) => {
                    lines.pop();
                    lines.push((line, drawn));
                }
                None => {
                    let drawn = LabelCaption::new(word, size_pt, Some(room_pt))?;
                    lines.push((word.to_owned(), drawn));
                }
            }
        }
        if lines.len() > most {
            let detail = format!("it takes {} lines, and a label has room for {most}", lines.len());
            let fault = Fault::new("caption", Code::TooLong, detail);
            return Err(fault.suggest("shorten it, or use a smaller caption_pt"));
        }
        Ok(lines.into_iter().map(|(_, drawn)| drawn).collect())
    }

    /// Its bytes as a string of a PDF has them between angle brackets.
    pub(crate) fn hex(&self) -> String {
        self.bytes.iter().map(|byte| format!("{byte:02X}")).collect()
    }
}

/// The byte of a character in the font's encoding.
fn byte_of(char: char) -> Option<u8> {
    let mut utf8 = [0; 4];
    let (bytes, _, is_missing) = WINDOWS_1252.encode(char.encode_utf8(&mut utf8));
    // What the encoding leaves undefined are control characters.
    match *bytes {
        [byte] if !is_missing && !char.is_control() => Some(byte),
        _ => None,
    }
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
