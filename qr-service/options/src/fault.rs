//! Faults of options. Functions that check options return all faults at once.

use std::fmt;

use serde::Serialize;

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// There is no such parameter.
    Unknown,
    /// The parameter is given more than once.
    Repeated,
    /// The parameter is required.
    Missing,
    /// The value has the wrong type or the wrong syntax.
    Malformed,
    /// The value is below the minimum or above the maximum.
    OutOfRange,
    /// The value is not one of the allowed ones.
    NotAllowed,
    /// The parameter excludes another one that is given, or has no effect together with it.
    Contradictory,
    /// The data does not fit the symbol, or a caption does not fit its label.
    TooLong,
    /// The picture or label is too small for its modules, or has more pixels than allowed.
    Size,
    /// Dark and light differ too little, or dark is lighter than light.
    Contrast,
    /// A decoder could not read the picture.
    Unreadable,
    /// The logo covers more codewords of a block than its error correction can spare.
    Correction,
}

/// One fault of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fault {
    /// The parameter's name.
    pub parameter: String,
    /// The kind of fault.
    pub code: Code,
    /// The fault in words, for people.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub detail: Box<str>,
    /// The lowest value or length that works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The highest value or length that works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// The values that work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// What to do instead, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub suggestion: Option<Box<str>>,
}

impl Fault {
    /// A fault without limits, allowed values and suggestion.
    pub fn new(parameter: &str, code: Code, detail: impl Into<String>) -> Self {
        Fault {
            parameter: parameter.to_owned(),
            code,
            detail: detail.into().into_boxed_str(),
            minimum: None,
            maximum: None,
            allowed: Vec::new(),
            suggestion: None,
        }
    }

    /// Adds the lowest value that works.
    pub fn at_least(mut self, minimum: impl Into<f64>) -> Self {
        self.minimum = Some(minimum.into());
        self
    }

    /// Adds the highest value that works.
    pub fn at_most(mut self, maximum: impl Into<f64>) -> Self {
        self.maximum = Some(maximum.into());
        self
    }

    /// Adds the values that work.
    pub fn allowed<S: ToString>(mut self, allowed: impl IntoIterator<Item = S>) -> Self {
        self.allowed = allowed.into_iter().map(|value| value.to_string()).collect();
        self
    }

    /// Adds what to do instead, in words.
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into().into_boxed_str());
        self
    }
}

/// One line for people.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.parameter, self.detail)?;
        self.suggestion.as_ref().map_or(Ok(()), |suggestion| write!(f, " ({suggestion})"))
    }
}
