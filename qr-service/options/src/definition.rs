//! The types and macros that define options.

use serde_json::{Map, Value, json};

/// One option: its name, description, type and limits.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The name in queries and JSON.
    pub name: &'static str,
    /// The description, by lines.
    pub description: &'static [&'static str],
    of: Of,
    default: Option<&'static str>,
    example: Option<&'static str>,
    format: Option<&'static str>,
    pattern: Option<&'static str>,
}

/// A type with its limits.
#[derive(Clone, Copy, Debug)]
enum Of {
    Boolean,
    Integer(u32, u32),
    Number(f64, f64),
    /// A text with a minimum and a maximum number of characters.
    Text(u32, u32),
    AnyText,
    Names(Named),
}

/// The names of an enum's values, and the description of the enum, by lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) description: &'static [&'static str],
    pub(crate) names: &'static [&'static str],
}

const fn of(of: Of) -> Definition {
    Definition {
        name: "",
        description: &[],
        of,
        default: None,
        example: None,
        format: None,
        pattern: None,
    }
}

/// A boolean option, by default false.
pub(crate) const fn boolean() -> Definition {
    of(Of::Boolean).default("false")
}

/// An option with a whole number.
pub(crate) const fn integer(low: u32, high: u32) -> Definition {
    of(Of::Integer(low, high))
}

/// An option with a number.
pub(crate) const fn number(low: f64, high: f64) -> Definition {
    of(Of::Number(low, high))
}

/// A text of `low` to `high` characters.
pub(crate) const fn text(low: u32, high: u32) -> Definition {
    of(Of::Text(low, high))
}

/// A text whose length its own type limits.
pub(crate) const fn any_text() -> Definition {
    of(Of::AnyText)
}

/// An option with one of several names.
pub(crate) const fn one_of(named: Named) -> Definition {
    of(Of::Names(named))
}

impl Definition {
    pub(crate) const fn described(
        self,
        name: &'static str,
        description: &'static [&'static str],
    ) -> Self {
        Definition { name, description, ..self }
    }

    pub(crate) const fn default(self, text: &'static str) -> Self {
        Definition { default: Some(text), ..self }
    }

    pub(crate) const fn example(self, text: &'static str) -> Self {
        Definition { example: Some(text), ..self }
    }

    pub(crate) const fn format(self, name: &'static str) -> Self {
        Definition { format: Some(name), ..self }
    }

    /// The names of its values; empty if its values have no names.
    pub fn names(&self) -> &'static [&'static str] {
        match self.of {
            Of::Names(Named { names, .. }) => names,
            _ => &[],
        }
    }

    /// Whether its value is a text other than a name.
    pub fn is_text(&self) -> bool {
        matches!(self.of, Of::Text(..) | Of::AnyText)
    }

    /// Its default; `None` if it has none or the default depends on other options.
    pub fn default_value(&self) -> Option<&'static str> {
        self.default
    }

    /// Adds a regular expression for the values that the type's own code accepts, as far as one can describe them.
    pub(crate) const fn pattern(self, expression: &'static str) -> Self {
        Definition { pattern: Some(expression), ..self }
    }

    /// The option in JSON Schema, as OpenAPI 3.1 uses it. An option may be null, which means that it is not given.
    fn schema(&self) -> Value {
        let mut schema = match self.of {
            Of::Boolean => json!({"type": ["boolean", "null"]}),
            Of::Integer(low, high) => {
                json!({"type": ["integer", "null"], "format": "int32", "minimum": low, "maximum": high})
            }
            Of::Number(low, high) => {
                json!({"type": ["number", "null"], "format": "double", "minimum": low, "maximum": high})
            }
            Of::Text(low, high) => {
                json!({"type": ["string", "null"], "minLength": low, "maxLength": high})
            }
            Of::AnyText => json!({"type": ["string", "null"]}),
            Of::Names(Named { description, names }) => {
                let description = joined(description);
                // The case of all names is ignored. The schema lists both cases of single letters, but of longer
                // names only the usual one.
                let letters = names.iter().filter(|name| name.len() == 1);
                let lower = letters.map(|name| name.to_lowercase());
                let all: Vec<String> = names.iter().map(|it| it.to_string()).chain(lower).collect();
                let of = json!({"type": "string", "description": description, "enum": all});
                json!({"oneOf": [{"type": "null"}, of]})
            }
        };
        schema["description"] = joined(self.description).into();
        if let Some(default) = self.default {
            let is_text = matches!(self.of, Of::AnyText | Of::Text(..) | Of::Names(_));
            let value = if is_text { None } else { serde_json::from_str(default).ok() };
            schema["default"] = value.unwrap_or_else(|| default.into());
        }
        for (name, value) in
            [("example", self.example), ("format", self.format), ("pattern", self.pattern)]
        {
            if let Some(value) = value {
                schema[name] = value.into();
            }
        }
        schema
    }
}

/// The schema of an object with these properties.
pub(crate) fn schema_of(description: &[&str], definitions: &[Definition]) -> Value {
    let properties: Map<String, Value> =
        definitions.iter().map(|it| (it.name.to_owned(), it.schema())).collect();
    json!({"type": "object", "description": joined(description), "properties": properties})
}

/// The lines of a comment as one text.
fn joined(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join("\n")
}

/// Defines a struct of options, with the definition of each.
macro_rules! options {
    ($(#[doc = $about:literal])+ $type:ident {
        $($(#[doc = $doc:literal])+ $name:ident: $of:ty = $definition:expr,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default, serde::Deserialize)]
        pub struct $type {
            $($(#[doc = $doc])+ pub $name: Option<$of>,)+
            /// Draws the Swiss cross of a QR-bill in the middle. No option sets this, only the payload of a bill.
            #[serde(skip)]
            pub has_swiss_cross: bool,
        }

        impl $type {
            /// Every option.
            pub const DEFINITIONS: &'static [crate::definition::Definition] = &[$(
                $definition.described(stringify!($name), &[$($doc),+]),
            )+];

            /// All options as a JSON Schema.
            pub fn schema() -> serde_json::Value {
                crate::definition::schema_of(&[$($about),+], Self::DEFINITIONS)
            }
        }
    };
}

/// Defines an enum whose values have names.
macro_rules! names {
    ($(#[doc = $about:literal])+ $(#[derive($derive:ident)])? $type:ident {
        $($(#[$attribute:meta])+ $value:ident = $name:literal,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, serde::Deserialize, PartialEq, Eq, Hash)]
        $(#[derive($derive)])?
        pub enum $type {
            $($(#[$attribute])+ #[serde(rename = $name)] $value,)+
        }

        impl $type {
            /// All values, in the order of their definition.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$value),+];
            /// The names of all values, in the same order.
            pub const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];
            /// The names with the description of the enum.
            pub(crate) const NAMED: crate::definition::Named = crate::definition::Named {
                description: &[$($about),+],
                names: &Self::NAMES,
            };

            /// The value with this name, which must be in the usual case.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|it| it.as_str() == name)
            }

            /// The name of the value.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($type::$value => $name,)+
                }
            }
        }
    };
}

pub(crate) use {names, options};
