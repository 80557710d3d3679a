//! The types and macros that define parameters: options, and what the service takes besides.

use serde_json::{Map, Value, json};

/// One parameter: its name, description, type and limits.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The name in queries and JSON.
    pub name: &'static str,
    /// The description, by lines.
    pub description: &'static [&'static str],
    pub(crate) of: Of,
    /// Whether it must be given.
    pub is_required: bool,
    /// The formats, and the kinds of symbol, that have the option; empty if all have it.
    pub formats: &'static [&'static str],
    /// See `formats`.
    pub kinds: &'static [&'static str],
    default: Option<&'static str>,
    example: Option<&'static str>,
    format: Option<&'static str>,
    /// A regular expression for the values that the type's own code accepts, as far as one can describe them.
    pub pattern: Option<&'static str>,
}

/// A type with its limits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    Boolean,
    Integer(u32, Option<u32>),
    Number(f64, f64),
    /// A text with a minimum and a maximum number of characters.
    Text(u32, u32),
    AnyText,
    Names(Named),
}

/// The names of an enum's values, and the description of the enum, by lines.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The description.
    pub description: &'static [&'static str],
    /// The names.
    pub names: &'static [&'static str],
}

const fn of(of: Of) -> Definition {
    Definition {
        name: "",
        description: &[],
        of,
        is_required: false,
        formats: &[],
        kinds: &[],
        default: None,
        example: None,
        format: None,
        pattern: None,
    }
}

/// A boolean, by default false.
pub const fn boolean() -> Definition {
    of(Of::Boolean).default("false")
}

/// A whole number.
pub const fn integer(low: u32, high: u32) -> Definition {
    of(Of::Integer(low, Some(high)))
}

/// A whole number that only its type limits.
pub const fn any_integer() -> Definition {
    of(Of::Integer(0, None))
}

/// A number.
pub const fn number(low: f64, high: f64) -> Definition {
    of(Of::Number(low, high))
}

/// A text of `low` to `high` characters.
pub const fn text(low: u32, high: u32) -> Definition {
    of(Of::Text(low, high))
}

/// A text whose length its own type limits.
pub const fn any_text() -> Definition {
    of(Of::AnyText)
}

/// One of several names.
pub const fn one_of(named: Named) -> Definition {
    of(Of::Names(named))
}

impl Definition {
    /// The definition of the parameter with this name, for [`parameters`](crate::parameters!).
    #[doc(hidden)]
    pub const fn of<T: Given>(
        self,
        name: &'static str,
        description: &'static [&'static str],
    ) -> Self {
        Definition { name, description, is_required: T::IS_REQUIRED, ..self }
    }

    /// Adds the default, for people who read the schema.
    pub const fn default(self, text: &'static str) -> Self {
        Definition { default: Some(text), ..self }
    }

    /// Limits the option to these formats.
    pub const fn formats(self, formats: &'static [&'static str]) -> Self {
        Definition { formats, ..self }
    }

    /// Limits the option to these kinds of symbol.
    pub const fn kinds(self, kinds: &'static [&'static str]) -> Self {
        Definition { kinds, ..self }
    }

    /// Adds an example.
    pub const fn example(self, text: &'static str) -> Self {
        Definition { example: Some(text), ..self }
    }

    /// Adds the name of the values' format.
    pub const fn format(self, name: &'static str) -> Self {
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
    pub const fn pattern(self, expression: &'static str) -> Self {
        Definition { pattern: Some(expression), ..self }
    }

    /// The parameter in JSON Schema, as OpenAPI 3.1 uses it. In JSON, one that is not required may be null, which means
    /// that it is not given.
    pub fn schema(&self, is_json: bool) -> Value {
        let may_be_null = is_json && !self.is_required;
        let or_null = |of: &str| if may_be_null { json!([of, "null"]) } else { json!(of) };
        let mut schema = match self.of {
            Of::Boolean => json!({"type": or_null("boolean")}),
            Of::Integer(low, high) => {
                json!({"type": or_null("integer"), "format": "int32", "minimum": low, "maximum": high})
            }
            Of::Number(low, high) => {
                json!({"type": or_null("number"), "format": "double", "minimum": low, "maximum": high})
            }
            Of::Text(low, high) => {
                let least = (low > 0).then_some(low);
                json!({"type": or_null("string"), "minLength": least, "maxLength": high})
            }
            Of::AnyText => json!({"type": or_null("string")}),
            Of::Names(Named { description, names }) => {
                let description = joined(description);
                // The case of all names is ignored. The schema lists both cases of single letters, but of longer
                // names only the usual one.
                let letters = names.iter().filter(|name| name.len() == 1);
                let lower = letters.map(|name| name.to_lowercase());
                let all: Vec<String> = names.iter().map(|it| it.to_string()).chain(lower).collect();
                let of = json!({"type": "string", "description": description, "enum": all});
                if may_be_null { json!({"oneOf": [{"type": "null"}, of]}) } else { of }
            }
        };
        if let Some(schema) = schema.as_object_mut() {
            schema.retain(|_, limit| !limit.is_null());
        }
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
        for (name, limit) in [("x-formats", self.formats), ("x-kinds", self.kinds)] {
            if !limit.is_empty() {
                schema[name] = json!(limit);
            }
        }
        schema
    }
}

/// Whether a field must be given, and whether it is. The type of one that need not is an `Option`.
pub trait Given {
    /// Whether it must be given.
    const IS_REQUIRED: bool = true;

    /// Whether it is given.
    fn is_given(&self) -> bool {
        true
    }
}

impl<T> Given for Option<T> {
    const IS_REQUIRED: bool = false;

    fn is_given(&self) -> bool {
        self.is_some()
    }
}
impl Given for String {}
impl Given for f64 {}

/// A struct of parameters, defined by [`parameters`](crate::parameters!).
pub trait Parameters {
    /// The description of the struct, by lines.
    const ABOUT: &'static [&'static str];
    /// Every parameter.
    const DEFINITIONS: &'static [Definition];

    /// For each of them, whether it is given.
    fn are_given(&self) -> Vec<bool>;

    /// The parameters that are given.
    fn given(&self) -> impl Iterator<Item = &'static Definition> {
        let all = Self::DEFINITIONS.iter().zip(self.are_given());
        all.filter(|(_, is_given)| *is_given).map(|(definition, _)| definition)
    }

    /// All parameters as a JSON Schema.
    fn schema() -> Value {
        let of = |it: &Definition| (it.name.to_owned(), it.schema(true));
        let properties: Map<String, Value> = Self::DEFINITIONS.iter().map(of).collect();
        let mut schema =
            json!({"type": "object", "description": joined(Self::ABOUT), "properties": properties});
        let required = Self::DEFINITIONS.iter().filter(|it| it.is_required).map(|it| it.name);
        let required: Vec<&str> = required.collect();
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    }
}

/// The lines of a comment as one text.
fn joined(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join("\n")
}

/// Defines a struct of parameters, with the definition of each: [`Parameters`]. Fields after a `+` are no parameters.
#[macro_export]
macro_rules! parameters {
    ($(#[doc = $about:literal])+ #[derive($($derive:path),+)] $vis:vis $type:ident {
        $($(#[doc = $doc:literal])+ $name:ident: $of:ty = $definition:expr,)+
    } $(+ { $($more:tt)+ })?) => {
        $(#[doc = $about])+
        #[derive($($derive),+)]
        $vis struct $type {
            $($(#[doc = $doc])+ $vis $name: $of,)+
            $($($more)+)?
        }

        impl $crate::definition::Parameters for $type {
            const ABOUT: &'static [&'static str] = &[$($about),+];
            const DEFINITIONS: &'static [$crate::Definition] = &[$(
                $definition.of::<$of>(stringify!($name), &[$($doc),+]),
            )+];

            fn are_given(&self) -> Vec<bool> {
                vec![$($crate::definition::Given::is_given(&self.$name)),+]
            }
        }
    };
}

/// Defines an enum whose values have names.
#[macro_export]
macro_rules! names {
    ($(#[doc = $about:literal])+ $(#[derive($derive:ident)])? $vis:vis $type:ident {
        $($(#[$attribute:meta])* $value:ident = $name:literal,)+
    }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, serde::Deserialize, PartialEq, Eq, Hash)]
        $(#[derive($derive)])?
        $vis enum $type {
            $($(#[$attribute])* #[serde(rename = $name)] $value,)+
        }

        #[allow(dead_code, reason = "not every enum needs all of it")]
        impl $type {
            /// All values, in the order of their definition.
            $vis const ALL: [$type; [$($name),+].len()] = [$($type::$value),+];
            /// The names of all values, in the same order.
            $vis const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];
            /// The names with the description of the enum.
            $vis const NAMED: $crate::definition::Named = $crate::definition::Named {
                description: &[$($about),+],
                names: &Self::NAMES,
            };

            /// The value with this name, which must be in the usual case.
            $vis fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|it| it.as_str() == name)
            }

            /// The name of the value.
            $vis fn as_str(self) -> &'static str {
                match self {
                    $($type::$value => $name,)+
                }
            }
        }
    };
}
