//! The parameters of a struct, with their types, limits and values; reads the struct from such values.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::de::value::MapAccessDeserializer;
use serde_json::{Map, Number, Value};

use super::{QueryReader, pairs_of, split_pair};
use crate::definition::{Definition, Of, Parameters};
use crate::fault::{Code, Fault};

/// The parameters of one struct, by name.
pub struct Schema {
    pub(super) parameters: BTreeMap<&'static str, &'static Definition>,
    required: Vec<&'static str>,
}

impl Schema {
    /// The parameters of a struct.
    pub fn of<T: Parameters>() -> Self {
        let required = T::DEFINITIONS.iter().filter(|it| it.is_required).map(|it| it.name);
        let parameters = T::DEFINITIONS.iter().map(|it| (it.name, it)).collect();
        Schema { parameters, required: required.collect() }
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
        let before = faults.len();
        for (name, value) in values.iter().filter(|(_, value)| !value.is_null()) {
            let checked = self.parameters.get(&**name).map(|parameter| parameter.check(value));
            faults.extend(checked.and_then(Result::err));
        }
        for &name in &self.required {
            let is_missing = values.get(name).is_none_or(Value::is_null);
            // A malformed value does not count as missing as well.
            if is_missing && !faults.iter().any(|fault| fault.parameter == name) {
                faults.push(Fault::new(name, Code::Missing, "it is required"));
            }
        }
        // serde ignores the parameters of other structs. If a value is wrong, the second attempt below leaves it out.
        if faults.len() == before
            && let Ok(read) = T::deserialize(values)
        {
            return Some(read);
        }
        let mut right = self.right_of(values);
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

    /// Those of the `values` that are given, are parameters, and pass their check.
    fn right_of(&self, values: &Map<String, Value>) -> Map<String, Value> {
        let is_right = |name: &str, value: &Value| {
            let parameter = self.parameters.get(name);
            parameter.is_some_and(|it| !value.is_null() && it.check(value).is_ok())
        };
        let right = values.iter().filter(|(name, value)| is_right(name, value));
        right.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The `values` that are right, with stand-ins for required ones that are wrong or missing, so that checks of
    /// several values can run in spite of them.
    pub fn with_stand_ins(&self, values: &Map<String, Value>) -> Map<String, Value> {
        let mut all = self.right_of(values);
        for &name in &self.required {
            if !all.contains_key(name) {
                all.insert(name.to_owned(), self.parameters[name].stand_in());
            }
        }
        all
    }

    /// Reads the struct from a query without faults, like [`super::read_query`] and [`Self::read`], but faster, because
    /// it keeps no values. `None` if anything is wrong; those two then list the faults.
    pub fn read_right<T: DeserializeOwned>(&self, query: &str) -> Option<T> {
        let pairs = pairs_of(query).map(split_pair);
        let right = QueryReader { pairs, schema: self, after_url: false, value: Value::Null };
        T::deserialize(MapAccessDeserializer::new(right)).ok()
    }

    /// A cell of a table as a value of a query. Spreadsheets write numbers with the local decimal sign, which is a comma
    /// where cells are divided by semicolons, and people write 0 and 1 for false and true.
    pub fn cell_value(&self, name: &str, cell: String, has_comma: bool) -> String {
        match (self.parameters.get(name).map(|parameter| parameter.of), cell.trim()) {
            (Some(Of::Number(..)), number) if has_comma => number.replacen(',', ".", 1),
            (Some(Of::Boolean), "0") => false.to_string(),
            (Some(Of::Boolean), "1") => true.to_string(),
            _ => cell,
        }
    }

    /// Normalises a JSON value: whole numbers such as `8.0` (from Python, and allowed by JSON Schema) become integers,
    /// and names get their usual case.
    pub(super) fn json_value(&self, name: &str, value: Value) -> Value {
        let Some(parameter) = self.parameters.get(name) else { return value };
        let is_float = matches!(parameter.of, Of::Integer(..)) && value.is_f64();
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

impl Definition {
    /// Bounds on the value of a number, or on the length of a text in characters.
    fn bounds(&self) -> (Option<f64>, Option<f64>) {
        match self.of {
            Of::Integer(low, high) => (Some(low.into()), high.map(f64::from)),
            Of::Number(low, high) => (Some(low), Some(high)),
            Of::Text(low, high) => ((low > 0).then_some(low.into()), Some(high.into())),
            Of::Boolean | Of::AnyText | Of::Names(_) => (None, None),
        }
    }

    /// A value that passes the check.
    fn stand_in(&self) -> Value {
        match self.of {
            Of::Text(low, _) => "A".repeat(low as usize).into(),
            Of::Names(named) => named.names[0].into(),
            Of::AnyText => "".into(),
            Of::Integer(low, _) => low.into(),
            Of::Number(low, _) => low.into(),
            Of::Boolean => false.into(),
        }
    }

    /// Turns a value of a query into a JSON value of the parameter's type. A value of another type stays text.
    pub(super) fn query_value(&self, text: Cow<'_, str>) -> Value {
        // A plus sign is a space in a query.
        let value = match self.of {
            Of::Integer(..) => text.trim().parse::<i64>().ok().map(Value::from),
            // JSON has no NaN and no infinity.
            Of::Number(..) => {
                text.trim().parse().ok().and_then(Number::from_f64).map(Value::Number)
            }
            Of::Boolean => text.trim().to_ascii_lowercase().parse::<bool>().ok().map(Value::from),
            Of::Text(..) | Of::AnyText | Of::Names(_) => None,
        };
        value.unwrap_or_else(|| Value::String(self.named(text.into_owned())))
    }

    /// The allowed name that equals the text in either case; other texts stay as they are.
    fn named(&self, text: String) -> String {
        let mut names = self.names().iter();
        names.find(|name| name.eq_ignore_ascii_case(&text)).map_or(text, |name| (*name).to_owned())
    }

    pub(super) fn check(&self, value: &Value) -> Result<(), Fault> {
        let fault = |code, detail: String| Err(Fault::new(self.name, code, detail));
        let malformed = |what: &str| fault(Code::Malformed, format!("use {what}"));
        let measure = match (self.of, value) {
            (Of::Integer(..), Value::Number(number)) if number.is_i64() || number.is_u64() => {
                number.as_f64()
            }
            (Of::Integer(..), _) => return malformed("a whole number"),
            (Of::Number(..), Value::Number(number)) => number.as_f64(),
            (Of::Number(..), Value::String(text)) if text.contains(',') => {
                return malformed("a number with a point, such as 25.4");
            }
            (Of::Number(..), _) => return malformed("a number"),
            (Of::Boolean, Value::Bool(_)) => None,
            (Of::Boolean, _) => return malformed("true or false"),
            (Of::Names(named), Value::String(text)) if !named.names.contains(&&**text) => {
                let refused = fault(Code::NotAllowed, format!("use {}", named.names.join(", ")));
                return refused.map_err(|fault| fault.allowed(named.names));
            }
            (Of::Names(_), Value::String(_)) => None,
            (_, Value::String(text)) => Some(text.chars().count() as f64),
            _ => return malformed("text, in quotation marks"),
        };
        let (minimum, maximum) = self.bounds();
        let is_within = |it: f64| {
            minimum.is_none_or(|least| it >= least) && maximum.is_none_or(|most| it <= most)
        };
        if measure.is_none_or(is_within) {
            return Ok(());
        }
        let unit = if matches!(self.of, Of::Text(..)) { " characters" } else { "" };
        let detail = match (minimum, maximum) {
            (Some(least), Some(most)) => format!("use {least} to {most}{unit}"),
            (Some(least), None) => format!("use at least {least}{unit}"),
            (None, most) => format!("use at most {}{unit}", most.unwrap_or_default()),
        };
        Err(Fault { minimum, maximum, ..Fault::new(self.name, Code::OutOfRange, detail) })
    }
}
