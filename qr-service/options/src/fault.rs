//! What is wrong with options. A list of faults has all at once.

use std::fmt;

use serde::Serialize;

/// What is wrong with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// There is no such parameter.
    Unknown,
    /// It is given more than once.
    Repeated,
    /// It is required.
    Missing,
    /// Its value has another type, or is not written as it must be.
    Malformed,
    /// Its value is below the minimum or above the maximum.
    OutOfRange,
    /// Its value is none of those allowed.
    NotAllowed,
    /// It excludes another parameter that is given, or has no effect with it.
    Contradictory,
    /// The data need more room than the symbol has, or a caption more than its label.
    TooLong,
    /// The picture or label is too small for its modules, or has more pixels than allowed.
    Size,
    /// Dark and light differ too little to tell them apart, or are exchanged.
    Contrast,
    /// A decoder could not read the picture.
    Unreadable,
    /// The logo covers more than a block's error correction can spare.
    Correction,
}

/// One fault of a request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fault {
    /// The parameter's name.
    pub parameter: String,
    /// What is wrong with it.
    pub code: Code,
    /// The same for people.
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
    /// What would work.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub suggestion: Option<Box<str>>,
}

impl Fault {
    /// A fault without what would work.
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

    /// Adds what would work, in words.
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
