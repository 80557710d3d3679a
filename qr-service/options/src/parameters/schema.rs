//! The parameters of a struct, with their types, limits and values; reads the struct from such values.

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
}

pub(super) struct Parameter {
    of: Type,
    /// Bounds on the value of a number, or on the length of a text in characters.
    minimum: Option<f64>,
    maximum: Option<f64>,
    allowed: Vec<String>,
}

impl Schema {
    /// Reads the parameters from the JSON Schema of an object.
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

    /// Reads the struct from those `values` that are its parameters. Adds each fault to `faults`; the struct
    /// then lacks the wrong values. `None` if one of them is required.
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
            // A malformed value does not count as missing as well.
            if is_missing && !faults.iter().any(|fault| fault.parameter == *name) {
                faults.push(Fault::new(name, Code::Missing, "it is required"));
            }
        }
        // serde ignores the parameters of other structs. If a value is wrong, the second attempt below leaves it out.
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
        // The code of the types refuses what the schema cannot express, such as the syntax of a colour.
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

    /// The `values` that are right, with stand-ins for required ones that are wrong or missing, so that checks of
    /// several values can run in spite of them.
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

    /// Reads the struct from a query without faults, like [`super::read_query`] and [`Self::read`], but faster, because
    /// it keeps no values. `None` if anything is wrong; those two then list the faults.
    pub fn read_right<T: DeserializeOwned>(&self, query: &str) -> Option<T> {
        let pairs = pairs_of(query).map(split_pair);
        let right = Right { pairs, schema: self, after_url: false, value: Value::Null };
        T::deserialize(MapAccessDeserializer::new(right)).ok()
    }

    /// A cell of a table as a value of a query. Spreadsheets write numbers with the local decimal sign, which is a comma
    /// where cells are divided by semicolons, and people write 0 and 1 for false and true.
    pub fn cell_value(&self, name: &str, cell: String, has_comma: bool) -> String {
        match (self.parameters.get(name).map(|parameter| parameter.of), cell.trim()) {
            (Some(Type::Number), number) if has_comma => number.replacen(',', ".", 1),
            (Some(Type::Boolean), "0") => false.to_string(),
            (Some(Type::Boolean), "1") => true.to_string(),
            _ => cell,
        }
    }

    /// Normalises a JSON value: whole numbers such as `8.0` (from Python, and allowed by JSON Schema) become integers,
    /// and names get their usual case.
    pub(super) fn json_value(&self, name: &str, value: Value) -> Value {
        let Some(parameter) = self.parameters.get(name) else { return value };
        let is_float = parameter.of == Type::Integer && value.is_f64();
        match (value.as_f64(), value) {
            // Up to this size, different integers are different floats, and all limits are below it.
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
        // The schema of an optional enum is `oneOf` null and the enum.
        let options = schema["oneOf"].as_array().into_iter().flatten();
        if let Some(option) = options.into_iter().find(|option| option["type"] != "null") {
            return Parameter::of(option);
        }
        let of = match names {
            Some("integer") => Type::Integer,
            Some("number") => Type::Number,
            Some("boolean") => Type::Boolean,
            _ => Type::Text,
        };
        let (low, high) = match of {
            Type::Text => ("minLength", "maxLength"),
            _ => ("minimum", "maximum"),
        };
        let allowed = schema["enum"].as_array().into_iter().flatten();
        let allowed: Vec<&str> = allowed.filter_map(Value::as_str).collect();
        // A letter that the schema lists in both cases is one value.
        let is_other_case = |name: &str| name.len() == 1 && name.to_uppercase() != name;
        let allowed = allowed.into_iter().filter(|name| !is_other_case(name)).map(str::to_owned);
        let bound = |name: &str| schema[name].as_f64();
        Parameter { of, minimum: bound(low), maximum: bound(high), allowed: allowed.collect() }
    }

    /// A value that passes the check.
    fn stand_in(&self) -> Value {
        let least = self.minimum.unwrap_or_default();
        match (self.of, self.allowed.first()) {
            (Type::Text, Some(allowed)) => allowed.as_str().into(),
            (Type::Text, None) => "A".repeat(least as usize).into(),
            (Type::Integer, _) => (least as i64).into(),
            (Type::Number, _) => least.into(),
            (Type::Boolean, _) => false.into(),
        }
    }

    /// Turns a value of a query into a JSON value of the parameter's type. A value of another type stays text.
    pub(super) fn query_value(&self, text: Cow<'_, str>) -> Value {
        // A plus sign is a space in a query.
        let value = match self.of {
            Type::Integer => text.trim().parse::<i64>().ok().map(Value::from),
            // JSON has no NaN and no infinity.
            Type::Number => text.trim().parse().ok().and_then(Number::from_f64).map(Value::Number),
            Type::Boolean => text.trim().to_ascii_lowercase().parse::<bool>().ok().map(Value::from),
            Type::Text => None,
        };
        value.unwrap_or_else(|| Value::String(self.named(text.into_owned())))
    }

    /// The allowed name that equals the text in either case; other texts stay as they are.
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
            (Type::Number, Value::String(text)) if text.contains(',') => {
                return malformed("a number with a point, such as 25.4");
            }
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
