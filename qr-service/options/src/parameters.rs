//! Reads the parameters of a query or a JSON object into a struct, and lists every fault at once.
//!
//! A schema says which parameters there are, with their types, limits and values. OpenAPI is made from the
//! same schema, so what it says is what is checked.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, MapAccess};
use serde_json::{Map, Value};

use crate::fault::{Code, Fault};

/// The most parameters of a request: several times as many as there are.
pub const MAX_PARAMETERS: usize = 100;
/// Characters of an unknown name that a fault repeats.
const MAX_NAME: usize = 40;

/// Names that other services have, and ours.
const ALIASES: [(&str, &str); 27] = [
    ("bg", "light"),
    ("bgcolor", "light"),
    ("background", "light"),
    ("border", "margin"),
    ("chl", "text"),
    ("chld", "level and margin"),
    ("chs", "size"),
    ("color", "dark"),
    ("content", "text"),
    ("data-uri", "data"),
    ("download", "filename"),
    ("ec", "level"),
    ("ecc", "level"),
    ("ecl", "level"),
    ("eclevel", "level"),
    ("errorcorrection", "level"),
    ("errorcorrectionlevel", "level"),
    ("fg", "dark"),
    ("foreground", "dark"),
    ("message", "text"),
    ("output", "format"),
    ("px", "size"),
    ("qzone", "margin"),
    ("quietzone", "margin"),
    ("type", "format"),
    ("version", "version_min and version_max"),
    ("width", "size or width_mm"),
];

/// The parameters of one struct, with their limits.
pub struct Schema {
    parameters: BTreeMap<String, Parameter>,
    required: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Integer,
    Number,
    Boolean,
    Text,
    /// An object or an array, which only JSON has.
    Nested,
}

struct Parameter {
    of: Type,
    /// Of a number its value, of a text its length in characters.
    minimum: Option<f64>,
    maximum: Option<f64>,
    allowed: Vec<String>,
}

impl Schema {
    /// The parameters that a JSON Schema of an object describes.
    pub fn new(schema: &Value) -> Self {
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let parameters = properties.iter().map(|(name, it)| (name.clone(), Parameter::of(it)));
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(|name| Some(name.as_str()?.to_owned())).collect();
        Schema { parameters: parameters.collect(), required }
    }

    /// Whether there is a parameter of this name.
    pub fn has(&self, name: &str) -> bool {
        self.parameters.contains_key(name)
    }

    /// Reads the struct from those `values` that are its own. Adds what is wrong to `faults`; the struct
    /// then lacks the wrong values, and is `None` if it cannot do without them.
    pub fn read<T: DeserializeOwned>(
        &self,
        values: &Map<String, Value>,
        faults: &mut Vec<Fault>,
    ) -> Option<T> {
        let mut right = Map::new();
        let before = faults.len();
        let own = || values.iter().filter(|(_, value)| !value.is_null());
        for (name, value) in own() {
            let Some(parameter) = self.parameters.get(name) else { continue };
            if let Err(fault) = parameter.check(name, value) {
                faults.push(fault);
            }
        }
        for name in &self.required {
            let is_missing = values.get(name).is_none_or(Value::is_null);
            // A value that is malformed is not missing as well.
            if is_missing && !faults.iter().any(|fault| fault.parameter == *name) {
                faults.push(Fault::new(name, Code::Missing, "it is required"));
            }
        }
        // The values of others are ignored, and those that are wrong are gone before the second attempt.
        if faults.len() == before
            && let Ok(read) = T::deserialize(values)
        {
            return Some(read);
        }
        for (name, value) in own() {
            let parameter = self.parameters.get(name);
            if parameter.is_some_and(|parameter| parameter.check(name, value).is_ok()) {
                right.insert(name.clone(), value.clone());
            }
        }
        if let Ok(read) = serde_json::from_value(Value::Object(right.clone())) {
            return Some(read);
        }
        // What the schema cannot say, such as how a colour is written, the types' own code refuses.
        let mut wrong = Vec::new();
        for (name, value) in &right {
            let alone = Map::from_iter([(name.clone(), value.clone())]);
            if let Some(error) = serde_json::from_value::<T>(Value::Object(alone)).err()
                && !error.to_string().starts_with("missing field")
            {
                wrong.push(name.clone());
                faults.push(Fault::new(name, Code::Malformed, error.to_string()));
            }
        }
        right.retain(|name, _| !wrong.contains(name));
        let read = serde_json::from_value(Value::Object(right));
        if let (Err(error), true) = (&read, faults.len() == before) {
            faults.push(Fault::new("body", Code::Malformed, error.to_string()));
        }
        read.ok()
    }

    /// The `values` that are right, and stand-ins for what is required and wrong or missing, so that the rest can be
    /// checked at the same time.
    pub fn with_stand_ins(&self, values: &Map<String, Value>) -> Map<String, Value> {
        let is_right = |name: &str, value: &Value| {
            let parameter = self.parameters.get(name);
            parameter.is_some_and(|it| !value.is_null() && it.check(name, value).is_ok())
        };
        let right = values.iter().filter(|(name, value)| is_right(name, value));
        let mut all: Map<String, Value> =
            right.map(|(name, value)| (name.clone(), value.clone())).collect();
        for name in &self.required {
            if let (false, Some(parameter)) = (all.contains_key(name), self.parameters.get(name)) {
                all.insert(name.clone(), parameter.stand_in());
            }
        }
        all
    }

    /// Reads the struct from a query that is right, as [`read_query`] and [`Self::read`] do, and in less time, since
    /// it keeps no values. `None` if anything is wrong, which those two say.
    pub fn read_right<T: DeserializeOwned>(&self, query: &str) -> Option<T> {
        let pairs = pairs_of(query).map(split_pair);
        let right = Right { pairs, schema: self, value: Value::Null };
        T::deserialize(MapAccessDeserializer::new(right)).ok()
    }

    /// A whole number that JSON has with a point, as Python writes `8.0`: JSON Schema's integers include it.
    fn json_value(&self, name: &str, value: Value) -> Value {
        let is_integer = self.parameters.get(name).is_some_and(|it| it.of == Type::Integer);
        match value.as_f64() {
            // Each of these is a number of its own, and all limits are below them.
            Some(number)
                if is_integer && value.is_f64() && number.fract() == 0.0 && number.abs() < 1e15 =>
            {
                Value::from(number as i64)
            }
            _ => value,
        }
    }
}

impl Parameter {
    fn of(schema: &Value) -> Self {
        let names = match &schema["type"] {
            Value::Array(names) => names.iter().filter_map(Value::as_str).find(|it| *it != "null"),
            name => name.as_str(),
        };
        // An optional enum is one of null and the enum.
        let options = schema["oneOf"].as_array().into_iter().flatten();
        if let Some(option) = options.into_iter().find(|option| option["type"] != "null") {
            return Parameter::of(option);
        }
        let of = match names {
            Some("integer") => Type::Integer,
            Some("number") => Type::Number,
            Some("boolean") => Type::Boolean,
            Some("string") => Type::Text,
            _ => Type::Nested,
        };
        let (low, high) = match of {
            Type::Text => ("minLength", "maxLength"),
            _ => ("minimum", "maximum"),
        };
        let allowed = schema["enum"].as_array().into_iter().flatten();
        let allowed = allowed.filter_map(|value| Some(value.as_str()?.to_owned()));
        let bound = |name: &str| schema[name].as_f64();
        Parameter { of, minimum: bound(low), maximum: bound(high), allowed: allowed.collect() }
    }

    /// A value that is right.
    fn stand_in(&self) -> Value {
        let least = self.minimum.unwrap_or_default();
        match (self.of, self.allowed.first()) {
            (Type::Text, Some(allowed)) => allowed.as_str().into(),
            (Type::Text, None) => "A".repeat(least as usize).into(),
            (Type::Integer, _) => (least as i64).into(),
            (Type::Number, _) => least.into(),
            (Type::Boolean, _) => false.into(),
            (Type::Nested, _) => Value::Null,
        }
    }

    /// Turns a value of a query into one of JSON, by the parameter's type. What is no number stays text.
    fn query_value(&self, text: Cow<'_, str>) -> Value {
        let value = match self.of {
            Type::Integer => text.parse::<i64>().ok().map(Value::from),
            Type::Number => text.parse::<f64>().ok().map(Value::from),
            Type::Boolean => text.parse::<bool>().ok().map(Value::from),
            Type::Text | Type::Nested => None,
        };
        value.unwrap_or_else(|| Value::String(text.into_owned()))
    }

    fn check(&self, name: &str, value: &Value) -> Result<(), Fault> {
        let malformed = |what: &str| Err(Fault::new(name, Code::Malformed, format!("use {what}")));
        let measure = match (self.of, value) {
            (Type::Integer, Value::Number(number)) if number.is_i64() || number.is_u64() => {
                number.as_f64()
            }
            (Type::Integer, _) => return malformed("a whole number"),
            (Type::Number, Value::Number(number)) => number.as_f64(),
            (Type::Number, _) => return malformed("a number"),
            (Type::Boolean, Value::Bool(_)) => None,
            (Type::Boolean, _) => return malformed("true or false"),
            (Type::Text, Value::String(text)) if self.allowed.is_empty() => {
                Some(text.chars().count() as f64)
            }
            (Type::Text, Value::String(text)) if self.allowed.contains(text) => None,
            (Type::Text, Value::String(_)) => {
                let detail = format!("use {}", self.allowed.join(", "));
                return Err(Fault::new(name, Code::NotAllowed, detail).allowed(&self.allowed));
            }
            (Type::Text, _) => return malformed("text"),
            (Type::Nested, _) => None,
        };
        match measure {
            Some(measure) if !self.holds(measure) => Err(self.out_of_range(name)),
            _ => Ok(()),
        }
    }

    fn holds(&self, measure: f64) -> bool {
        self.minimum.is_none_or(|least| measure >= least)
            && self.maximum.is_none_or(|most| measure <= most)
    }

    fn out_of_range(&self, name: &str) -> Fault {
        let unit = if self.of == Type::Text { " characters" } else { "" };
        let detail = match (self.minimum, self.maximum) {
            (Some(least), Some(most)) => format!("use {least} to {most}{unit}"),
            (Some(least), None) => format!("use at least {least}{unit}"),
            (None, most) => format!("use at most {}{unit}", most.unwrap_or_default()),
        };
        let (minimum, maximum) = (self.minimum, self.maximum);
        Fault { minimum, maximum, ..Fault::new(name, Code::OutOfRange, detail) }
    }
}

/// The parts of a query that have a name or a value.
fn pairs_of(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|pair| !pair.is_empty())
}

/// Reads a query: `+` is a space. `schemas` say which parameters there are. Faults are added for names
/// that are unknown or repeated, and for values that are not UTF-8; those values are left out.
pub fn read_query(query: &str, schemas: &[&Schema], faults: &mut Vec<Fault>) -> Map<String, Value> {
    let mut values = Map::new();
    if pairs_of(query).count() > MAX_PARAMETERS {
        let detail = format!("a request has at most {MAX_PARAMETERS} parameters");
        faults.push(Fault::new("query", Code::OutOfRange, detail).at_most(MAX_PARAMETERS as u32));
        return values;
    }
    for (name, value) in pairs_of(query).map(split_pair) {
        match decode(name) {
            Some(name) => add_pair(&mut values, name, decode(value), schemas, faults),
            None => {
                let detail = "a name is not percent-encoded UTF-8";
                faults.push(Fault::new("query", Code::Malformed, detail));
            }
        }
    }
    values
}

fn split_pair(pair: &str) -> (&str, &str) {
    pair.split_once('=').unwrap_or((pair, ""))
}

/// The parameters of a query while all are right; else an error, which says nothing. serde refuses repeated ones, so
/// there are no more than a struct has.
struct Right<'a, I> {
    pairs: I,
    schema: &'a Schema,
    /// Of the name that was read last.
    value: Value,
}

impl<'q, 'de, I: Iterator<Item = (&'q str, &'q str)>> MapAccess<'de> for Right<'_, I> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        let Some((name, value)) = self.pairs.next() else { return Ok(None) };
        let wrong = || Self::Error::custom("");
        let (name, value) = decode(name).zip(decode(value)).ok_or_else(wrong)?;
        let parameter = self.schema.parameters.get(&*name).ok_or_else(wrong)?;
        self.value = parameter.query_value(value);
        parameter.check(&name, &self.value).map_err(|_| wrong())?;
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        seed.deserialize(self.value.take())
    }
}

/// Reads the fields of a form, or a row of a table with the names of its columns, as a query's.
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

/// Adds a parameter whose value is text; `None` could not be decoded.
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
        // One fault, however often it is repeated.
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
            // So that it is not missing as well.
            Value::Null
        }
    };
    values.insert(name.into_owned(), value);
}

/// Reads a JSON object, with faults for names that are unknown or repeated.
///
/// # Errors
/// If it is not a JSON object.
pub fn read_json(
    body: &[u8],
    schemas: &[&Schema],
    faults: &mut Vec<Fault>,
) -> Result<Map<String, Value>, String> {
    let entries = serde_json::from_slice(body)
        .map_err(|error| format!("the body is not a JSON object: line {}", error.line()))?;
    Ok(read_entries(entries, schemas, faults))
}

/// The values of a JSON object, with faults for names that are unknown or repeated.
pub fn read_entries(
    Entries(entries): Entries,
    schemas: &[&Schema],
    faults: &mut Vec<Fault>,
) -> Map<String, Value> {
    let mut values = Map::new();
    for (name, value) in entries {
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

/// The entries of a JSON object in their order, with the repeated ones.
pub struct Entries(Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Entries;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    if entries.len() == MAX_PARAMETERS {
                        return Err(serde::de::Error::custom("too many parameters"));
                    }
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

fn unknown(name: &str, schemas: &[&Schema]) -> Fault {
    let short: String = name.chars().take(MAX_NAME).collect();
    let fault = Fault::new(&short, Code::Unknown, "there is no such parameter");
    let lower: String = short.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    let ours = schemas.iter().flat_map(|schema| schema.parameters.keys());
    let same = ours.clone().find(|ours| ours.replace('_', "") == lower).map(String::as_str);
    let alias = ALIASES.iter().find(|(theirs, _)| *theirs == lower).map(|(_, ours)| *ours);
    match same.or(alias) {
        Some(suggestion) => fault.suggest(format!("use {suggestion}")),
        None => fault.allowed(ours),
    }
}

/// Decodes a part of a query; `None` if an escape is not two hexadecimal digits, or the bytes are not UTF-8.
fn decode(text: &str) -> Option<Cow<'_, str>> {
    let special = |bytes: &[u8]| bytes.iter().position(|byte| matches!(byte, b'%' | b'+'));
    let mut rest = text.as_bytes();
    let Some(mut at) = special(rest) else { return Some(Cow::Borrowed(text)) };
    let mut decoded = Vec::with_capacity(text.len());
    loop {
        decoded.extend_from_slice(&rest[..at]);
        let after = match &rest[at..] {
            [b'+', after @ ..] => {
                decoded.push(b' ');
                after
            }
            [_, high, low, after @ ..] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                decoded.push((digit(*high)? << 4 | digit(*low)?) as u8);
                after
            }
            _ => return None,
        };
        rest = after;
        match special(rest) {
            Some(next) => at = next,
            None => break,
        }
    }
    decoded.extend_from_slice(rest);
    String::from_utf8(decoded).ok().map(Cow::Owned)
}
