//! GS1 element strings, from the bracketed notation that people write, and the same data as a GS1 Digital Link URI.
//!
//! The rules of each identifier are those of the GS1 Barcode Syntax Dictionary, the file in this folder: its format and
//! its linters are described at its head. Linters that need lists of codes kept elsewhere (`iso3166`, `gcppos1` and the
//! like) are not checked. `req` is not either: the elements that it asks for may be on another symbol of the item.

use std::collections::HashMap;
use std::sync::LazyLock;

use chrono::{NaiveDate, NaiveTime};

use super::epc::is_iban;
use super::syntax::HOST;
use super::{Payload, parameters, percent, text};
use crate::v1::fault::{Code, Fault};

parameters! {
    /// Element strings with their application identifiers in brackets.
    #[derive(serde::Deserialize)]
    pub(super) Gs1 {
        /// Elements, such as `(01)09506000134352(10)ABC123(21)4711`.
        elements: String = text(4, 1000).example("(01)09506000134352(10)ABC123")
            .pattern(r"^\([0-9]{2,4}\)"),
        /// Host of a resolver, with a path if it has one. The symbol is then a GS1 Digital Link, which every phone
        /// opens.
        domain: Option<String> = text(1, 200).example("id.example.org").pattern(HOST),
    }
}

const SEPARATOR: char = '\u{1d}';

/// The rules of an application identifier.
struct Rules {
    /// Whether its length is fixed, so that no separator follows its data.
    is_fixed: bool,
    /// Whether it may be in the query of a link.
    is_attribute: bool,
    parts: Vec<Part>,
    /// Identifiers that exclude it; `n` stands for any digit.
    excludes: Vec<&'static str>,
    /// For the key of a link, the sequences of identifiers that may follow in its path.
    sequences: Option<Vec<Vec<&'static str>>>,
}

/// A part of an identifier's data.
struct Part {
    is_optional: bool,
    /// `N`, `X`, `Y` or `Z`: digits, or one of GS1's character sets.
    set: char,
    least: usize,
    most: usize,
    linters: Vec<&'static str>,
}

static RULES: LazyLock<HashMap<String, Rules>> = LazyLock::new(|| {
    let lines = include_str!("gs1-syntax-dictionary.txt").lines();
    let lines = lines.map(|line| line.split('#').next().unwrap_or_default());
    lines.flat_map(rules_of).collect()
});

/// The identifiers of a line of the dictionary with their rules.
fn rules_of(line: &'static str) -> Vec<(String, Rules)> {
    let mut words = line.split_whitespace();
    let Some((first, last)) = words.next().map(|it| it.split_once('-').unwrap_or((it, it))) else {
        return Vec::new();
    };
    let width = first.len();
    let range = first.parse::<u32>().ok().zip(last.parse::<u32>().ok());
    let words: Vec<&str> = words.collect();
    let is_flag = |word: &&&str| word.starts_with(['*', '?']);
    let flags = words.first().filter(is_flag).copied().unwrap_or_default();
    let values = |key: &str| {
        let prefix = format!("{key}=");
        let values = words.iter().filter_map(move |word| word.strip_prefix(&*prefix));
        values.collect::<Vec<&'static str>>()
    };
    let sequences = |value: &'static str| value.split('|').map(|it| it.split(',').collect());
    let is_key = words.iter().any(|word| word.split('=').next() == Some("dlpkey"));
    let rules = || Rules {
        is_fixed: flags.contains('*'),
        is_attribute: flags.contains('?'),
        parts: words.iter().filter_map(|word| part_of(word)).collect(),
        excludes: values("ex").into_iter().flat_map(|value| value.split(',')).collect(),
        sequences: is_key.then(|| values("dlpkey").into_iter().flat_map(sequences).collect()),
    };
    let numbers = range.into_iter().flat_map(|(first, last)| first..=last);
    numbers.map(|number| (format!("{number:0width$}"), rules())).collect()
}

/// A word such as `N13,csum` or `[X..17]`.
fn part_of(word: &'static str) -> Option<Part> {
    let is_optional = word.starts_with('[');
    let mut words = word.split(',');
    let bare = words.next()?.trim_start_matches('[').trim_end_matches(']');
    let set = bare.chars().next().filter(|set| "NXYZ".contains(*set))?;
    let (least, most) = match bare[1..].strip_prefix("..") {
        Some(most) => (1, most.parse().ok()?),
        None => (bare[1..].parse().ok()?, bare[1..].parse().ok()?),
    };
    Some(Part { is_optional, set, least, most, linters: words.collect() })
}

impl Payload for Gs1 {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let mut refuse = |name: &str, detail: String| {
            faults.push(Fault::new(name, Code::Malformed, detail));
        };
        let Some(elements) = elements(&self.elements) else {
            let detail = "write each identifier in brackets, as in (01)09506000134352(10)ABC";
            refuse("elements", detail.to_owned());
            return String::new();
        };
        for (index, (identifier, data)) in elements.iter().enumerate() {
            let checked = check(identifier, data);
            if let Err(detail) = checked.and(check_beside(identifier, &elements, index)) {
                refuse("elements", format!("({identifier}) {detail}"));
            }
        }
        let Some(domain) = &self.domain else { return element_string(&elements) };
        let scheme = if domain.contains("://") { "" } else { "https://" };
        link(format!("{scheme}{}", domain.trim_end_matches('/')), &elements).unwrap_or_else(
            |detail| {
                refuse("elements", detail);
                String::new()
            },
        )
    }
}

/// The elements as they are in a symbol with FNC1: a separator follows data of variable length (General
/// Specifications, section 7.8).
fn element_string(elements: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (index, (identifier, data)) in elements.iter().enumerate() {
        let is_fixed = RULES.get(*identifier).is_some_and(|rules| rules.is_fixed);
        text.extend([*identifier, data]);
        if !is_fixed && index + 1 < elements.len() {
            text.push(SEPARATOR);
        }
    }
    text
}

/// The link (GS1 Digital Link: URI Syntax 1.6): the first key and its qualifiers in their order as its path, all other
/// elements as its query.
fn link(mut link: String, elements: &[(&str, &str)]) -> Result<String, String> {
    let sequences = |identifier: &str| RULES.get(identifier)?.sequences.as_deref();
    let key = elements.iter().find_map(|element| Some((element, sequences(element.0)?)));
    let (key, sequences) = key.ok_or("a link needs a key such as (01), a GTIN")?;
    let value_of = |identifier: &str| elements.iter().find(|(it, _)| *it == identifier);
    let given = |sequence: &[&str]| -> Vec<&(&str, &str)> {
        sequence.iter().filter_map(|identifier| value_of(identifier)).collect()
    };
    let sequences = sequences.iter().map(|sequence| given(sequence));
    let path: Vec<_> =
        [key].into_iter().chain(sequences.max_by_key(Vec::len).into_iter().flatten()).collect();
    for (identifier, data) in &path {
        link.push_str(&format!("/{identifier}/{}", percent(data)));
    }
    let mut before = '?';
    for (identifier, data) in elements.iter().filter(|element| !path.contains(element)) {
        if !RULES.get(*identifier).is_some_and(|rules| rules.is_attribute) {
            return Err(format!("({identifier}) cannot be in a link with ({})", key.0));
        }
        link.push_str(&format!("{before}{identifier}={}", percent(data)));
        before = '&';
    }
    Ok(link)
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

/// Checks the data of an element by itself. Fails with the mistake in words.
fn check(identifier: &str, data: &str) -> Result<(), String> {
    let rules = RULES.get(identifier).ok_or("is not an identifier of GS1")?;
    if data.is_empty() {
        return Err("has no data".to_owned());
    }
    let mut rest = data;
    for part in &rules.parts {
        if rest.is_empty() && part.is_optional {
            break;
        }
        let length = rest.chars().take_while(|c| is_in(part.set, *c)).take(part.most).count();
        if length < part.least {
            return Err(format!("takes {}", described(&rules.parts)));
        }
        let (own, after) = rest.split_at(length);
        part.linters.iter().try_for_each(|linter| lint(linter, own))?;
        rest = after;
    }
    if rest.is_empty() { Ok(()) } else { Err(format!("takes {}", described(&rules.parts))) }
}

/// Checks an element against the others.
fn check_beside(identifier: &str, all: &[(&str, &str)], index: usize) -> Result<(), String> {
    if all[..index].iter().any(|(before, _)| *before == identifier) {
        return Err("is given twice".to_owned());
    }
    let is_like = |pattern: &str, other: &str| {
        let mut chars = pattern.chars().zip(other.chars());
        pattern.len() == other.len() && chars.all(|(of, c)| of == 'n' || of == c)
    };
    let excludes = RULES.get(identifier).map_or(&[][..], |rules| &rules.excludes);
    let others = all.iter().filter(|(other, _)| *other != identifier);
    let mut excluded = others.filter(|(other, _)| excludes.iter().any(|it| is_like(it, other)));
    excluded.next().map_or(Ok(()), |(other, _)| Err(format!("cannot be beside ({other})")))
}

/// Whether GS1's character set has this character: digits, the 82 characters of ISO/IEC 646, the 39 of CPIDs, or
/// those of Base64 for URLs.
fn is_in(set: char, c: char) -> bool {
    match set {
        'N' => c.is_ascii_digit(),
        'X' => c.is_ascii_alphanumeric() || "!\"%&'()*+,-./:;<=>?_".contains(c),
        'Y' => c.is_ascii_digit() || c.is_ascii_uppercase() || "#-/".contains(c),
        _ => c.is_ascii_alphanumeric() || "-_=".contains(c),
    }
}

/// The parts of an identifier's data in words.
fn described(parts: &[Part]) -> String {
    let describe = |part: &Part| {
        let what = match part.set {
            'N' => "digits",
            'X' => "letters, digits and some punctuation",
            'Y' => "capital letters, digits, #, - and /",
            _ => "characters of Base64 for URLs",
        };
        let up_to = if part.least == part.most { "" } else { "up to " };
        let maybe = if part.is_optional { "perhaps " } else { "" };
        format!("{maybe}{up_to}{} {what}", part.most)
    };
    parts.iter().map(describe).collect::<Vec<_>>().join(", then ")
}

/// Checks a part's data by one of the dictionary's linters.
fn lint(linter: &str, data: &str) -> Result<(), String> {
    let is_date = |year: &str, rest: &str| {
        NaiveDate::parse_from_str(&format!("{year}{rest}"), "%Y%m%d").is_ok()
    };
    let is_time = |text: String| NaiveTime::parse_from_str(&text, "%H%M").is_ok();
    let is_zero = data.bytes().all(|byte| byte == b'0');
    let (is_right, takes) = match linter {
        "csum" => return check_digit(data),
        "yymmdd" => (is_date("20", data), "a date as YYMMDD, such as 261231"),
        "yymmd0" => {
            let first =
                data.strip_suffix("00").map_or(data.to_owned(), |month| month.to_owned() + "01");
            (is_date("20", &first), "a date as YYMMDD, such as 261231, or 00 for the day")
        }
        "yyyymmdd" => (is_date("", data), "a date as YYYYMMDD, such as 20261231"),
        "hhmi" => (is_time(data.to_owned()), "a time as HHMM"),
        "hh" => (is_time(data.to_owned() + "00"), "an hour from 00 to 23"),
        "mi" | "ss" => (is_time("00".to_owned() + data), "a number from 00 to 59"),
        "iban" => (is_iban(data), "an IBAN"),
        "zero" => (is_zero, "0 at its beginning"),
        "nonzero" => (!is_zero, "a number above 0"),
        "nozeroprefix" => (data == "0" || !data.starts_with('0'), "a number without 0 before it"),
        "yesno" => (matches!(data, "0" | "1"), "0 or 1"),
        "hyphen" => (data == "-", "a hyphen at its end"),
        _ => (true, ""),
    };
    if is_right { Ok(()) } else { Err(format!("takes {takes}")) }
}

/// Checks the check digit of a number: weights of 3 and 1 from the right, modulo 10 (section 7.9.1).
fn check_digit(digits: &str) -> Result<(), String> {
    let weighted = digits.bytes().rev().zip([1, 3].into_iter().cycle());
    let sum: u32 = weighted.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    let last = u32::from(digits.bytes().last().unwrap_or(b'0') - b'0');
    match (last + (10 - sum % 10)) % 10 {
        right if right == last => Ok(()),
        right => Err(format!("has the check digit {last}, but the other digits need {right}")),
    }
}
