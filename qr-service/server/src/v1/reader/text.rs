//! Decodes the text of a symbol whose bytes may not be UTF-8.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EUC_KR, Encoding, GBK, ISO_8859_4, SHIFT_JIS, WINDOWS_1252};
use rxing::common::cpp_essentials::DecoderResult;
use rxing::common::{CharacterSet, ECIStringBuilder};

/// The text, and the name of its encoding if that was guessed, because the symbol does not declare it and it is not
/// UTF-8.
pub(super) fn of(decoded: &DecoderResult<bool>) -> (String, Option<&'static str>) {
    let (bytes, text) = (decoded.content().bytes(), decoded.text());
    if decoded.content().has_eci || bytes.is_ascii() {
        return (text, None);
    }
    if let Ok(text) = str::from_utf8(bytes) {
        return (text.to_owned(), None);
    }
    if knows_modes(decoded.content(), &text) {
        return (text, None);
    }
    let encoding = guess(bytes);
    match encoding.decode_without_bom_handling_and_without_replacement(bytes) {
        Some(text) => (text.into_owned(), Some(encoding.name())),
        None => (text, None),
    }
}

/// Whether rxing has read Kanji mode, which determines the encoding. rxing's result does not list the modes, so they
/// are inferred.
fn knows_modes(content: &ECIStringBuilder, text: &str) -> bool {
    let mut of_bytes = ECIStringBuilder::default();
    of_bytes.symbology = content.symbology;
    of_bytes.switch_encoding(CharacterSet::Unknown, false);
    of_bytes.append_bytes(content.bytes());
    if of_bytes == *content {
        return false;
    }
    // Kanji mode has no half-width katakana. If other modes are mixed in, part of the text is in UTF-8.
    let has_half_width = text.chars().any(|char| ('\u{ff61}'..='\u{ff9f}').contains(&char));
    let is_there = |char: char| {
        let utf8 = char.to_string();
        content.bytes().windows(utf8.len()).any(|it| it == utf8.as_bytes())
    };
    SHIFT_JIS.decode(content.bytes()).0 == text && !has_half_width
        || text.chars().any(|char| !char.is_ascii() && is_there(char))
}

/// The encoding that bytes most likely have, guessed as browsers do for pages. Symbols are shorter than pages, so rare
/// encodings that a browser would guess from a few bytes are replaced by those that are frequent in symbols.
pub(super) fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    let pairs = bytes.iter().filter(|byte| !byte.is_ascii()).count() / 2;
    if guess.is_single_byte() && has_only_pairs_of_kanji(bytes) {
        SHIFT_JIS
    } else if guess == EUC_KR && pairs <= 2 {
        GBK
    } else if guess == ISO_8859_4 {
        WINDOWS_1252
    } else {
        guess
    }
}

/// Whether all bytes beyond ASCII are runs of two or more frequent characters of Shift JIS. The first bytes of these
/// characters are quotation marks and rare letters in other encodings.
fn has_only_pairs_of_kanji(bytes: &[u8]) -> bool {
    let (mut rest, mut run) = (bytes, 0);
    loop {
        rest = match rest {
            [0x81..=0x97, 0x40..=0x7e | 0x80..=0xfc, rest @ ..] => {
                run += 1;
                rest
            }
            _ if run == 1 => return false,
            [0..=0x7f, rest @ ..] => {
                run = 0;
                rest
            }
            rest => return rest.is_empty(),
        };
    }
}
