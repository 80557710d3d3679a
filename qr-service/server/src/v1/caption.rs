//! Captions of labels, in Helvetica, and how captions are broken into lines.

use qr_core::Helvetica;

use crate::v1::fault::{Code, Fault};

/// A caption to draw.
#[derive(Clone)]
pub(crate) struct LabelCaption {
    /// The text in the font's encoding.
    bytes: Vec<u8>,
    pub(crate) width_pt: f64,
}

impl LabelCaption {
    /// Measures a text at a font size of `size_pt` points. Fails if it has characters that the font lacks, or is wider
    /// than `room_pt` points; `None` allows any width.
    pub(crate) fn new(text: &str, size_pt: f64, room_pt: Option<f64>) -> Result<Self, Fault> {
        let bytes = Helvetica::encode(text)
            .map_err(|error| Fault::new("caption", Code::NotAllowed, error.to_string()))?;
        let width_pt = Helvetica::width_em(text) * size_pt;
        if let Some(room_pt) = room_pt.filter(|room_pt| width_pt > *room_pt) {
            let detail = format!("it is {width_pt:.0} points wide, but the label has {room_pt:.0}");
            let fault = Fault::new("caption", Code::TooLong, detail);
            return Err(fault.suggest("shorten it, or use a smaller caption_pt or fewer columns"));
        }
        Ok(LabelCaption { bytes, width_pt })
    }

    /// Breaks a text between words into lines of at most `room_pt` points. Fails if a word is wider, or there are more
    /// than `most` lines.
    pub(crate) fn lines(
        text: &str,
        size_pt: f64,
        room_pt: f64,
        most: usize,
    ) -> Result<Vec<Self>, Fault> {
        let lines = wrapped(text.split(' '), |it| Helvetica::width_em(it) * size_pt <= room_pt);
        let drawn = lines.iter().map(|line| LabelCaption::new(line, size_pt, Some(room_pt)));
        let lines: Vec<Self> = drawn.collect::<Result<_, _>>()?;
        if lines.len() > most {
            let detail = format!("it takes {} lines, but a label has room for {most}", lines.len());
            let fault = Fault::new("caption", Code::TooLong, detail);
            return Err(fault.suggest("shorten it, or use a smaller caption_pt"));
        }
        Ok(lines)
    }

    /// Its bytes in hexadecimal digits, as PDF strings have them between angle brackets.
    pub(crate) fn hex(&self) -> String {
        hex::encode_upper(&self.bytes)
    }
}

/// Joins words to lines that fit. A word that does not fit is a line of its own.
pub(crate) fn wrapped<'a>(
    words: impl Iterator<Item = &'a str>,
    fits: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if fits(&format!("{line} {word}")) => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
