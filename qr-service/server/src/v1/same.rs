//! Checks that a decoder has read the symbol that was requested.

use encoding_rs::SHIFT_JIS;

use crate::v1::options::Mode;
use crate::v1::plan::{Plan, SymbolPlan};
use crate::v1::reader::Seen;
use crate::v1::symbol::Encoded;

/// Whether the symbol found has the version, the content and the part of the requested one.
pub(crate) fn is_same(found: &Seen, plan: &Plan, encoded: &Encoded) -> bool {
    let content = plan.content.as_bytes();
    let has_kanji = matches!(plan.symbol.mode(), Mode::Kanji | Mode::AutoKanji);
    if found.version != encoded.symbol.version() {
        return false;
    }
    let SymbolPlan::Qr { part: Some(part), mode, .. } = plan.symbol else {
        return if has_kanji {
            is_part_of_text(content, &found.bytes, true)
        } else {
            found.bytes == content
        };
    };
    if encoded.parts > 1 {
        let header = (i32::from(part) - 1, encoded.parts as i32);
        let parity = parity(content, mode);
        if found.part != Some(header) || (parity.is_some() && found.parity != parity) {
            return false;
        }
    }
    // The encoder chooses where a part begins and ends, so only its place in the message is checked.
    let is_only = encoded.parts == 1;
    if has_kanji {
        is_part_of_text(content, &found.bytes, is_only)
    } else if is_only {
        found.bytes == content
    } else {
        let is_in = |content: &[u8]| match (part, usize::from(part) == encoded.parts) {
            (1, _) => content.starts_with(&found.bytes),
            (_, true) => content.ends_with(&found.bytes),
            _ => content.windows(found.bytes.len()).any(|it| it == found.bytes),
        };
        !found.bytes.is_empty() && is_in(content)
    }
}

/// The XOR of the message's encoded bytes. `None` if only the encoder knows which characters are in Kanji mode.
fn parity(content: &[u8], mode: Mode) -> Option<u8> {
    let xor = |bytes: &[u8]| bytes.iter().fold(0, |parity, byte| parity ^ byte);
    match mode {
        Mode::AutoKanji => None,
        Mode::Kanji => Some(xor(&SHIFT_JIS.encode(std::str::from_utf8(content).ok()?).0)),
        _ => Some(xor(content)),
    }
}

/// Whether `read` is the text `content`, or a part of it unless it `is_whole`. Each character may be in UTF-8, or in
/// Shift JIS as in Kanji mode.
fn is_part_of_text(content: &[u8], read: &[u8], is_whole: bool) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return read == content };
    let chars: Vec<Forms<'_>> = text.char_indices().map(|(at, c)| forms(text, at, c)).collect();
    let starts = if is_whole { 1 } else { chars.len() };
    (0..starts).any(|start| fits(&chars[start..], read, is_whole))
}

/// A character in UTF-8, and in Shift JIS if it has two bytes there, because only such characters fit Kanji mode.
type Forms<'a> = (&'a [u8], Option<[u8; 2]>);

fn forms(text: &str, at: usize, char: char) -> Forms<'_> {
    let utf8 = &text[at..at + char.len_utf8()];
    let (jis, _, is_foreign) = SHIFT_JIS.encode(utf8);
    (utf8.as_bytes(), jis.as_ref().try_into().ok().filter(|_| !is_foreign))
}

/// Whether `read` consists of these characters: of all of them if it `has_all`, else of the first ones.
fn fits(chars: &[Forms<'_>], read: &[u8], has_all: bool) -> bool {
    // The positions in `read` that the characters so far can end at.
    let (mut places, mut next) = (vec![0], Vec::new());
    for (utf8, jis) in chars {
        for &place in &places {
            for form in [Some(*utf8), jis.as_ref().map(|it| &it[..])].into_iter().flatten() {
                let end = place + form.len();
                if read[place..].starts_with(form) && !next.contains(&end) {
                    next.push(end);
                }
            }
        }
        (places, next) = (next, Vec::new());
        if places.is_empty() || (!has_all && places.contains(&read.len())) {
            break;
        }
    }
    places.contains(&read.len())
}

#[cfg(test)]
mod tests;
