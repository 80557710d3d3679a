//! GS1 element strings, from the bracketed notation that people write (GS1 General Specifications,
//! sections 3, 7.8 and 7.9).

use chrono::NaiveDate;
use serde::Deserialize;
use utoipa::ToSchema;

use super::Payload;
use crate::v1::fault::{Code, Fault};

/// Element strings with their application identifiers in brackets.
#[derive(Deserialize, ToSchema)]
pub(super) struct Gs1 {
    /// Elements, such as `(01)09506000134352(10)ABC123(21)4711`.
    #[schema(
        min_length = 4,
        max_length = 1000,
        example = "(01)09506000134352(10)ABC123",
        pattern = r"^\([0-9]{2,4}\)"
    )]
    elements: String,
}

/// Identifiers that begin with these digits have data of this length, and no separator after it (figure 7.8.5-2).
const FIXED: [(&str, usize); 6] = [
    ("00", 18),
    ("01 02 03", 14),
    ("04", 16),
    ("11 12 13 14 15 16 17 18 19 31 32 33 34 35 36", 6),
    ("20", 2),
    ("41", 13),
];

/// The data of these identifiers begins with this many digits, the last of which is a check digit (section 3).
const CHECK_DIGITS: [(&str, usize); 4] = [
    ("253 255 410 411 412 413 414 415 416 417", 13),
    ("01 02 03 8003 8006 8026", 14),
    ("402", 17),
    ("00 8017 8018", 18),
];
/// The data of these identifiers begins with a date, YYMMDD. In the first group the day may be 00, the last of the
/// month.
const MONTHS_OR_DAYS: &str = "11 12 13 15 16 17 4324 4325";
const DAYS: &str = "4326 7003 7006 7007 7011 8008";

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
    let begins = |list: &str| list.split(' ').any(|begin| identifier.starts_with(begin));
    FIXED.iter().find(|(list, _)| begins(list)).map(|(_, length)| *length)
}

/// Splits a text into identifiers of 2 to 4 digits and their data. An opening bracket belongs to the data
/// unless an identifier follows it. `None` if the text does not begin with an identifier.
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
    } else if data.len() > 90 || !data.chars().all(is_allowed) {
        return Err("takes up to 90 letters, digits and some punctuation".to_owned());
    }
    let is_in = |list: &str| list.split(' ').any(|it| it == identifier);
    let digits = CHECK_DIGITS.iter().find(|(list, _)| is_in(list)).map(|(_, length)| *length);
    if let Some(wrong) = digits.and_then(|length| wrong_check_digit(data, length)) {
        return Err(wrong);
    }
    let may_lack_day = is_in(MONTHS_OR_DAYS);
    if (may_lack_day || is_in(DAYS)) && !has_date(data, may_lack_day) {
        return Err("takes a date as YYMMDD, such as 261231 for 31 December 2026".to_owned());
    }
    Ok(())
}

/// Checks the check digit of the first `length` digits: weights of 3 and 1 from the right, modulo 10 (section 7.9.1).
/// Returns the mistake in words, if there is one.
fn wrong_check_digit(data: &str, length: usize) -> Option<String> {
    let is_digits = |digits: &&[u8]| digits.iter().all(u8::is_ascii_digit);
    let Some(digits) = data.as_bytes().get(..length).filter(is_digits) else {
        return Some(format!("takes {length} digits"));
    };
    let weighted = digits.iter().rev().zip([1, 3].into_iter().cycle());
    let sum: u32 = weighted.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    let last = u32::from(digits[length - 1] - b'0');
    let right = (last + (10 - sum % 10)) % 10;
    (right != last)
        .then(|| format!("has the check digit {last}, but the other digits need {right}"))
}

fn has_date(data: &str, may_lack_day: bool) -> bool {
    let part = |from: usize| data.get(from..from + 2)?.parse::<u32>().ok();
    let (Some(year), Some(month), Some(day)) = (part(0), part(2), part(4)) else { return false };
    let day = if may_lack_day { day.max(1) } else { day };
    NaiveDate::from_ymd_opt(2000 + year as i32, month, day).is_some()
}
