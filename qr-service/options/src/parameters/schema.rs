//! Which parameters a struct has, with their types, limits and values, and the struct from their values.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::de::value::MapAccessDeserializer;
use serde_json::{Map, Number, Value};

use super::{Right, pairs_of, split_pair};
use crate::fault::{Code, Fault};

/// The parameters of one struct, with their limits.
pub struct Schema {
    pub(super) parameters: BTreeMap<String, Parameter>,
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

pub(super) struct Parameter {
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

    /// Reads the struct from a query that is right, as [`super::read_query`] and [`Self::read`] do, and in less time,
    /// since it keeps no values. `None` if anything is wrong, which those two say.
    pub fn read_right<T: DeserializeOwned>(&self, query: &str) -> Option<T> {
        let pairs = pairs_of(query).map(split_pair);
        let right = Right { pairs, schema: self, after_url: false, value: Value::Null };
        T::deserialize(MapAccessDeserializer::new(right)).ok()
    }

    /// A value of JSON as it is meant: Python writes a whole number as `8.0`, which JSON Schema's integers include, and
    /// the case of a name does not matter.
    pub(super) fn json_value(&self, name: &str, value: Value) -> Value {
        let Some(parameter) = self.parameters.get(name) else { return value };
        let is_float = parameter.of == Type::Integer && value.is_f64();
        match (value.as_f64(), value) {
            // Each of these is a number of its own, and all limits are below them.
            (Some(number), _) if is_float && number.fract() == 0.0 && number.abs() < 1e15 => {
                Value::from(number as i64)
            }
            (_, Value::String(text)) => Value::String(parameter.named(text)),
            (_, value) => value,
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
        let allowed: Vec<&str> = allowed.filter_map(Value::as_str).collect();
        // A letter that is listed in both cases is one value.
        let is_other_case = |name: &str| name.len() == 1 && name.to_uppercase() != name;
        let allowed = allowed.into_iter().filter(|name| !is_other_case(name)).map(str::to_owned);
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
    pub(super) fn query_value(&self, text: Cow<'_, str>) -> Value {
        // A plus sign is a space in a query.
        let value = match self.of {
            Type::Integer => text.trim().parse::<i64>().ok().map(Value::from),
            // NaN and infinity are no numbers of JSON.
            Type::Number => text.trim().parse().ok().and_then(Number::from_f64).map(Value::Number),
            Type::Boolean => text.trim().parse::<bool>().ok().map(Value::from),
            Type::Text | Type::Nested => None,
        };
        value.unwrap_or_else(|| Value::String(self.named(text.into_owned())))
    }

    /// The name that a text is in another case; other texts as they are.
    fn named(&self, text: String) -> String {
        let mut names = self.allowed.iter();
        names.find(|name| name.eq_ignore_ascii_case(&text)).cloned().unwrap_or(text)
    }

    pub(super) fn check(&self, name: &str, value: &Value) -> Result<(), Fault> {
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
            (Type::Text, _) => return malformed("text, in quotation marks"),
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
