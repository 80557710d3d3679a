//! Whether what a decoder read is what was asked for.

use encoding_rs::SHIFT_JIS;

use crate::options::Mode;
use crate::plan::{Plan, SymbolPlan};
use crate::reader::Found;
use crate::symbol::Encoded;

/// Whether it is the symbol that was asked for, with its content.
pub(crate) fn is_same(found: &Found, plan: &Plan, encoded: &Encoded) -> bool {
    let asked = plan.content.as_bytes();
    let has_kanji = matches!(plan.symbol.mode(), Mode::Kanji | Mode::AutoKanji);
    if found.version != encoded.symbol.version() {
        return false;
    }
    let SymbolPlan::Qr { part: Some(part), mode, .. } = plan.symbol else {
        return if has_kanji { is_text(asked, &found.bytes) } else { found.bytes == asked };
    };
    if encoded.parts > 1 {
        let header = (i32::from(part) - 1, encoded.parts as i32);
        let parity = parity(asked, mode);
        if found.part != Some(header) || (parity.is_some() && found.parity != parity) {
            return false;
        }
    }
    // Where a part begins and ends is the encoder's choice.
    let is_only = encoded.parts == 1;
    if has_kanji {
        is_part_of_text(asked, &found.bytes, is_only)
    } else if is_only {
        found.bytes == asked
    } else {
        let is_in = |asked: &[u8]| match (part, usize::from(part) == encoded.parts) {
            (1, _) => asked.starts_with(&found.bytes),
            (_, true) => asked.ends_with(&found.bytes),
            _ => asked.windows(found.bytes.len()).any(|it| it == found.bytes),
        };
        !found.bytes.is_empty() && is_in(asked)
    }
}

/// The XOR of the message's bytes as they are encoded. `None` if only the encoder knows which characters are
/// Kanji.
fn parity(asked: &[u8], mode: Mode) -> Option<u8> {
    let xor = |bytes: &[u8]| bytes.iter().fold(0, |parity, byte| parity ^ byte);
    match mode {
        Mode::AutoKanji => None,
        Mode::Kanji => Some(xor(&SHIFT_JIS.encode(std::str::from_utf8(asked).ok()?).0)),
        _ => Some(xor(asked)),
    }
}

/// Whether `read` has each character of a text, in UTF-8 or, as Kanji mode has them, in Shift JIS.
fn is_text(asked: &[u8], read: &[u8]) -> bool {
    is_part_of_text(asked, read, true)
}

/// The same for a part of a text, unless it `is_whole`.
fn is_part_of_text(asked: &[u8], read: &[u8], is_whole: bool) -> bool {
    let Ok(text) = std::str::from_utf8(asked) else { return read == asked };
    let chars: Vec<Forms<'_>> = text.char_indices().map(|(at, c)| forms(text, at, c)).collect();
    let starts = if is_whole { 1 } else { chars.len() };
    (0..starts).any(|start| fits(&chars[start..], read, is_whole))
}

/// A character in UTF-8, and in Shift JIS where that has two bytes, which are what Kanji mode can write.
type Forms<'a> = (&'a [u8], Option<[u8; 2]>);

fn forms(text: &str, at: usize, char: char) -> Forms<'_> {
    let utf8 = &text[at..at + char.len_utf8()];
    let (jis, _, is_foreign) = SHIFT_JIS.encode(utf8);
    (utf8.as_bytes(), jis.as_ref().try_into().ok().filter(|_| !is_foreign))
}

/// Whether `read` is these characters: all of them, or else the first ones.
fn fits(chars: &[Forms<'_>], read: &[u8], has_all: bool) -> bool {
    // The places in `read` up to which the characters so far fit.
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
mod tests {
    use super::*;
    use crate::options::{Format, Options};
    use crate::reader::{self, Picture};
    use crate::symbol::encode;

    fn plan(options: Options) -> Plan {
        Plan::new(options, Format::Json).unwrap()
    }

    fn of_text(text: &str, mode: Mode) -> Options {
        let text = Some(text.to_owned());
        Options { text, mode: Some(mode), version_max: Some(4), ..Options::default() }
    }

    /// What the decoder reads of a plan's symbol, drawn with four pixels a module.
    fn read(plan: &Plan) -> (Encoded, Found) {
        const SCALE: usize = 4;
        let encoded = encode(plan).unwrap();
        let modules = encoded.symbol.modules();
        let side = (modules.width() + 8) * SCALE;
        let is_dark = |at: usize| {
            let (x, y) = (at % side / SCALE, at / side / SCALE);
            modules.is_dark(x.wrapping_sub(4), y.wrapping_sub(4))
        };
        let grey = (0..side * side).map(|at| if is_dark(at) { 0 } else { 255 }).collect();
        let picture = Picture { width: side as u32, height: side as u32, grey };
        let found = reader::read(&picture, &[plan.symbol.kind()], 1).remove(0);
        (encoded, found)
    }

    /// The plan's own symbol is the same, that of each other plan is not.
    fn tell_apart(asked: Options, others: Vec<Options>) {
        let asked = plan(asked);
        let (encoded, found) = read(&asked);
        assert!(is_same(&found, &asked, &encoded), "{found:?}");
        for other in others {
            let (_, wrong) = read(&plan(other));
            assert_eq!(wrong.version, found.version);
            assert!(!is_same(&wrong, &asked, &encoded), "{wrong:?}");
        }
    }

    #[test]
    fn other_kanji_are_not_the_same() {
        for mode in [Mode::Kanji, Mode::AutoKanji] {
            let other = |text| of_text(text, mode);
            tell_apart(
                other("点茗荷点"),
                vec![other("点茗荷茗"), other("茗点荷点"), other("点茗荷")],
            );
        }
        let mixed = |text| of_text(text, Mode::AutoKanji);
        tell_apart(
            mixed("点茗ab12c"),
            vec![mixed("点茗ab12d"), mixed("点点ab12c"), mixed("点茗ab13c")],
        );
    }

    #[test]
    fn other_elements_of_gs1_are_not_the_same() {
        let gs1 = |text| Options { gs1: Some(true), ..of_text(text, Mode::Auto) };
        tell_apart(gs1("10A-1\u{1d}212"), vec![gs1("10A-1\u{1d}213"), gs1("10A-1\u{1d}21")]);
    }

    #[test]
    fn other_parts_are_not_the_same() {
        for mode in [Mode::Byte, Mode::AutoKanji] {
            let text = |name: &str| format!("part {name} of 点茗 ").repeat(12);
            let part =
                |last: &str, part| Options { part: Some(part), ..of_text(&text(last), mode) };
            // Of another index, and of another message.
            let others = vec![part("a", 2), part("b", 3)];
            tell_apart(part("a", 3), others);
        }
        // Of a message with another parity, though this part is equal.
        let whole = |last: &str| "0123456789abcdef".repeat(12) + last;
        let part = |last: &str| Options { part: Some(1), ..of_text(&whole(last), Mode::Byte) };
        tell_apart(part("a"), vec![part("b")]);
    }
}
