//! GS1 element strings, from the bracketed notation that people write (GS1 General Specifications
//! section 3, 7.8 and 7.9).

use serde::Deserialize;
use utoipa::ToSchema;

use super::Payload;
use crate::fault::{Code, Fault};

/// Element strings with their application identifiers in brackets.
#[derive(Deserialize, ToSchema)]
pub(super) struct Gs1 {
    /// Such as `(01)09506000134352(10)ABC123(21)4711`.
    #[schema(
        min_length = 4,
        max_length = 1000,
        example = "(01)09506000134352(10)ABC123",
        pattern = r"^\([0-9]{2,4}\)"
    )]
    elements: String,
}

/// Data after an identifier that begins so has this length and no separator (figure 7.8.5-2).
const FIXED: [(&str, usize); 22] = [
    ("00", 18),
    ("01", 14),
    ("02", 14),
    ("03", 14),
    ("04", 16),
    ("11", 6),
    ("12", 6),
    ("13", 6),
    ("14", 6),
    ("15", 6),
    ("16", 6),
    ("17", 6),
    ("18", 6),
    ("19", 6),
    ("20", 2),
    ("31", 6),
    ("32", 6),
    ("33", 6),
    ("34", 6),
    ("35", 6),
    ("36", 6),
    ("41", 13),
];

const SEPARATOR: char = '\u{1d}';

impl Payload for Gs1 {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let mut text = String::new();
        match elements(&self.elements) {
            None => {
                let detail = "write each identifier in brackets, as in (01)09506000134352(10)ABC";
                faults.push(Fault::new("elements", Code::Malformed, detail));
            }
            Some(elements) => {
                let mut needs_separator = false;
                for (identifier, data) in elements {
                    if let Err(detail) = check(identifier, data) {
                        let detail = format!("({identifier}) {detail}");
                        faults.push(Fault::new("elements", Code::Malformed, detail));
                    }
                    if needs_separator {
                        text.push(SEPARATOR);
                    }
                    text.push_str(identifier);
                    text.push_str(data);
                    needs_separator = fixed_length(identifier).is_none();
                }
            }
        }
        text
    }
}

fn fixed_length(identifier: &str) -> Option<usize> {
    FIXED.iter().find(|(begin, _)| identifier.starts_with(begin)).map(|(_, length)| *length)
}

/// Identifiers of 2 to 4 digits with their data. An opening bracket in data is one too, unless an
/// identifier follows it.
fn elements(text: &str) -> Option<Vec<(&str, &str)>> {
    let begins: Vec<(usize, usize)> = text
        .match_indices('(')
        .filter_map(|(at, _)| {
            let digits = text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            let is_closed = text.as_bytes().get(at + 1 + digits) == Some(&b')');
            (is_closed && (2..=4).contains(&digits)).then_some((at, digits))
        })
        .collect();
    if begins.first()?.0 != 0 {
        return None;
    }
    let ends = begins.iter().skip(1).map(|(at, _)| *at).chain([text.len()]);
    let element = |((at, digits), end): (&(usize, usize), usize)| {
        (&text[at + 1..at + 1 + digits], &text[at + digits + 2..end])
    };
    Some(begins.iter().zip(ends).map(element).collect())
}

fn check(identifier: &str, data: &str) -> Result<(), String> {
    // The 82 characters of ISO/IEC 646 that GS1 allows.
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "!\"%&'()*+,-./:;<=>?_".contains(c);
    if data.is_empty() {
        return Err("has no data".to_owned());
    }
    if let Some(length) = fixed_length(identifier) {
        if data.len() != length || !data.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!("takes {length} digits"));
        }
        if matches!(identifier, "00" | "01" | "02" | "03") && !has_check_digit(data) {
            return Err("has a wrong check digit".to_owned());
        }
    } else if data.len() > 90 || !data.chars().all(is_allowed) {
        return Err("takes up to 90 letters, digits and some punctuation".to_owned());
    }
    Ok(())
}

/// Weights of 3 and 1 from the right, modulo 10 (section 7.9.1).
fn has_check_digit(digits: &str) -> bool {
    let weighted = digits.bytes().rev().zip([1, 3].into_iter().cycle());
    weighted.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum::<u32>().is_multiple_of(10)
}
