//! Reads the parameters of a query or a JSON object into a struct, and lists every fault at once.
//!
//! A schema lists the parameters with their types, limits and values. The OpenAPI document is made from the
//! same schema, so it always matches the checks.

mod schema;

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::fault::{Code, Fault};
pub use schema::Schema;

/// The most parameters of a request. There are far fewer, so only a mistaken request has more.
pub const MAX_PARAMETERS: usize = 100;
/// The most characters of an unknown name that a fault quotes.
const MAX_NAME: usize = 40;

/// Our names, and for each those that people or other services use for it. If one of these occurs several times, the
/// first of our names that the request may have is suggested.
const ALIASES: [(&str, &str); 27] = [
    ("street", "address"),
    ("light", "background bg bgcolor"),
    ("message", "body"),
    ("margin", "border quietzone qzone"),
    ("mobile", "cell"),
    ("text", "chl content link message url"),
    ("level and margin", "chld"),
    ("size", "chs px"),
    ("dark", "color fg foreground"),
    ("organization", "company org"),
    ("data", "datauri"),
    ("level", "ec ecc ecl eclevel errorcorrection errorcorrectionlevel"),
    ("security", "encryption"),
    ("caption", "label"),
    ("latitude", "lat"),
    ("longitude", "lng lon"),
    ("latitude and longitude", "location"),
    ("last_name", "name"),
    ("beneficiary", "name"),
    ("ssid", "name"),
    ("filename", "download name"),
    ("phone", "number"),
    ("format", "output type"),
    ("password", "pass"),
    ("job_title", "role"),
    ("version_min and version_max", "version"),
    ("size or width_mm", "width"),
];

/// The parts of a query that have a name or a value.
fn pairs_of(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|pair| !pair.is_empty())
}

/// Reads the parameters of `schemas` from a query. `+` is a space, except where only a plus makes sense. Adds a fault
/// to `faults` for each name that is unknown or repeated, and for each value that is not percent-encoded UTF-8; such a
/// value becomes null.
pub fn read_query(query: &str, schemas: &[&Schema], faults: &mut Vec<Fault>) -> Map<String, Value> {
    let mut values = Map::new();
    if pairs_of(query).count() > MAX_PARAMETERS {
        let detail = format!("a request has at most {MAX_PARAMETERS} parameters");
        faults.push(Fault::new("query", Code::OutOfRange, detail).at_most(MAX_PARAMETERS as u32));
        return values;
    }
    let mut after_url = false;
    for (name, value) in pairs_of(query).map(split_pair) {
        let is_ours = |name: &str| schemas.iter().any(|schema| schema.has(name));
        match decode(name) {
            Some(name) if after_url && is_ours(&name) => {
                let detail = "it may belong to the text before it, which has a ? that is not percent-encoded";
                let fault = Fault::new(&name, Code::Unknown, detail);
                faults.push(fault.suggest("write ? as %3F and & as %26 in the text"));
            }
            Some(name) => add_pair(&mut values, name, decode(&value), schemas, faults),
            None => {
                let detail = "a name is not percent-encoded UTF-8";
                faults.push(Fault::new("query", Code::Malformed, detail));
            }
        }
        after_url |= is_open_url(name, &value);
    }
    values
}

/// Name and value of a part of a query. Plus signs that do not mean a space are percent-encoded.
fn split_pair(pair: &str) -> (&str, Cow<'_, str>) {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    let (kept, rest) = value.split_at(kept_plus(name, value));
    let value = match kept.contains('+') {
        true => Cow::Owned(kept.replace('+', "%2B") + rest),
        false => Cow::Borrowed(value),
    };
    (name, value)
}

/// Length of the start of a value that has no spaces, so that each `+` in it is a plus: all of Base64, of an address or
/// of a time; of a telephone number, or a text with the scheme of one, the part before the digits.
fn kept_plus(name: &str, value: &str) -> usize {
    let to_digits = || value.bytes().position(|byte| byte.is_ascii_digit()).unwrap_or(0);
    match name {
        "data" | "logo" | "key" | "email" | "to" | "cc" | "url" | "start" | "end" | "elements" => {
            value.len()
        }
        "phone" | "mobile" | "work_phone" | "home_phone" | "fax" => to_digits(),
        "text" => {
            let scheme = value.split_once(':').map_or("", |(scheme, _)| scheme);
            let schemes = ["tel", "sms", "smsto", "mmsto"];
            let is_phone = schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known));
            if is_phone { to_digits() } else { 0 }
        }
        _ => 0,
    }
}

/// Whether a text is a URL with a query that is not percent-encoded, so that the parameters after it may belong to it.
fn is_open_url(name: &str, value: &str) -> bool {
    let query = value.split_once("://").and_then(|(_, rest)| rest.split_once('?'));
    matches!(name, "text" | "url") && query.is_some_and(|(_, query)| query.contains('='))
}

/// The parameters of a query as long as all are right; at the first wrong one, an error without a message. serde
/// refuses repeated parameters, so their number is limited by that of the struct.
struct QueryReader<'a, I> {
    pairs: I,
    schema: &'a Schema,
    after_url: bool,
    /// The value of the name that was read last.
    value: Value,
}

impl<'q, 'de, I: Iterator<Item = (&'q str, Cow<'q, str>)>> MapAccess<'de> for QueryReader<'_, I> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        let Some((name, value)) = self.pairs.next() else { return Ok(None) };
        let wrong = || Self::Error::custom("");
        if std::mem::replace(&mut self.after_url, is_open_url(name, &value)) {
            return Err(wrong());
        }
        let (name, value) = decode(name).zip(decode(&value)).ok_or_else(wrong)?;
        let parameter = self.schema.parameters.get(&*name).ok_or_else(wrong)?;
        self.value = parameter.query_value(value);
        parameter.check(&self.value).map_err(|_| wrong())?;
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        seed.deserialize(self.value.take())
    }
}

/// Reads the fields of a form, or a row of a table with the names of its columns, like the parameters of a query. Adds
/// a fault for each name that is unknown or repeated.
pub fn read_pairs(
    pairs: Vec<(String, String)>,
    schemas: &[&Schema],
    faults: &mut Vec<Fault>,
) -> Map<String, Value> {
    let mut values = Map::new();
    for (name, value) in pairs {
        let (name, value) = (Cow::Owned(name), Some(Cow::Owned(value)));
        add_pair(&mut values, name, value, schemas, faults);
    }
    values
}

/// Adds a parameter whose value is text, or `None` if it could not be decoded.
fn add_pair(
    values: &mut Map<String, Value>,
    name: Cow<'_, str>,
    value: Option<Cow<'_, str>>,
    schemas: &[&Schema],
    faults: &mut Vec<Fault>,
) {
    let Some(parameter) = schemas.iter().find_map(|schema| schema.parameters.get(&*name)) else {
        let fault = unknown(&name, schemas);
        faults.push(match fault.suggestion {
            None => fault.suggest("a text with & or # in it must be percent-encoded"),
            Some(_) => fault,
        });
        return;
    };
    if values.contains_key(&*name) {
        // One fault, however often the parameter is repeated.
        if !faults.iter().any(|it| it.parameter == name && it.code == Code::Repeated) {
            faults.push(Fault::new(&name, Code::Repeated, "give it once"));
        }
        return;
    }
    let value = match value {
        Some(value) => parameter.query_value(value),
        None => {
            let detail = "it is not percent-encoded UTF-8; write % as %25";
            faults.push(Fault::new(&name, Code::Malformed, detail));
            // Null, so that the parameter does not count as missing as well.
            Value::Null
        }
    };
    values.insert(name.into_owned(), value);
}

/// Reads a JSON object. Adds a fault to `faults` for each name that is unknown or repeated.
///
/// # Errors
/// A message for the client, if `body` is not a JSON object.
pub fn read_json(
    body: &[u8],
    schemas: &[&Schema],
    faults: &mut Vec<Fault>,
) -> Result<Map<String, Value>, String> {
    let entries = serde_json::from_slice(body)
        .map_err(|error| format!("the body is not a JSON object: line {}", error.line()))?;
    Ok(read_entries(entries, schemas, faults))
}

/// The values of a JSON object. Adds a fault to `faults` for each name that is unknown or repeated.
pub fn read_entries(
    Entries(entries): Entries,
    schemas: &[&Schema],
    faults: &mut Vec<Fault>,
) -> Map<String, Value> {
    let mut values = Map::new();
    for (name, value) in entries {
        // JavaScript writes `width_mm` as `widthMm`.
        let is_camel =
            |ours: &&&str| !name.contains('_') && ours.replace('_', "") == name.to_lowercase();
        let names = || schemas.iter().flat_map(|schema| schema.parameters.keys());
        let is_ours = schemas.iter().any(|schema| schema.has(&name));
        let camel = if is_ours { None } else { names().find(is_camel) };
        let name = camel.map_or(name, |ours| (*ours).to_owned());
        let Some(schema) = schemas.iter().find(|schema| schema.has(&name)) else {
            faults.push(unknown(&name, schemas));
            continue;
        };
        if values.contains_key(&name) {
            faults.push(Fault::new(&name, Code::Repeated, "give it once"));
        } else {
            let value = schema.json_value(&name, value);
            values.insert(name, value);
        }
    }
    values
}

/// The entries of a JSON object in their order, including repeated ones.
pub struct Entries(Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Entries;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    if entries.len() == MAX_PARAMETERS {
                        return Err(A::Error::custom("too many parameters"));
                    }
                    entries.push((name, flat(value).map_err(A::Error::custom)?));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// A JSON value. Of an array or an object, which no parameter is, only the kind is kept: half a megabyte of brackets
/// would take thirty times the memory, and milliseconds.
fn flat(value: &RawValue) -> serde_json::Result<Value> {
    match value.get().as_bytes().first() {
        Some(b'[') => Ok(Value::Array(Vec::new())),
        Some(b'{') => Ok(Value::Object(Map::new())),
        _ => serde_json::from_str(value.get()),
    }
}

/// The fault of a name that is not a parameter. It suggests the parameter that is probably meant, or lists all.
pub fn unknown(name: &str, schemas: &[&Schema]) -> Fault {
    let short: String = name.chars().take(MAX_NAME).collect();
    let fault = Fault::new(&short, Code::Unknown, "there is no such parameter");
    let lower: String = short.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    let ours = schemas.iter().flat_map(|schema| schema.parameters.keys());
    let same = ours.clone().find(|ours| ours.replace('_', "") == lower).copied();
    let is_ours = |name: &str| schemas.iter().any(|schema| schema.has(name));
    let is_alias = |theirs: &str| theirs.split(' ').any(|it| it == lower);
    let mut aliases = ALIASES.iter().filter(|(_, theirs)| is_alias(theirs)).map(|(ours, _)| *ours);
    let alias = aliases.find(|ours| ours.split(' ').any(is_ours));
    match same.or(alias) {
        Some(suggestion) => fault.suggest(format!("use {suggestion}")),
        None => fault.allowed(ours),
    }
}

/// Decodes a part of a query; `None` if an escape is not two hexadecimal digits, or the bytes are not UTF-8.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(Cow::Borrowed(text));
    }
    let (mut bytes, mut decoded) = (text.bytes(), Vec::with_capacity(text.len()));
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => (digit()? << 4 | digit()?) as u8,
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok().map(Cow::Owned)
}
