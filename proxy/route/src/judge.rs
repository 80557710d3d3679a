//! The judge of a route file.
//!
//! A judge without settings is written as a name, one with settings as a table with the name as `kind`:
//!
//! ```toml
//! judge = "json"
//! judge = { kind = "json", ignore = ["/generated_at", "/items/*/id"], tolerance = 1e-9 }
//! ```
//!
//! This module checks names and types. The crate `compare` has the judges, and checks the values.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::units::Time;

/// Which judge compares the bodies, with its settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum JudgeSettings {
    /// Byte by byte.
    #[default]
    Bytes,
    /// As UTF-8 text, ignoring the kind of line ends and spaces at the end of lines.
    Text(TextSettings),
    /// As JSON values.
    Json(JsonSettings),
    /// As pictures of the QR symbol that the request asked for.
    Qr,
    /// As the pixels of PNG files.
    Image(ImageSettings),
    /// By a program of the user.
    Exec(ExecSettings),
    /// Not at all, since the route's requests belong together. The scenarios of `carve contract --relay` compare the
    /// two sides.
    Session,
}

/// Settings of the judge `text`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TextSettings {
    /// Regular expressions (of Rust's crate `regex`) for parts that are not compared, such as `nonce="[^"]*"`. Both
    /// texts must have a match there. Line ends are LF.
    pub ignore: Vec<String>,
}

/// Settings of the judge `json`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JsonSettings {
    /// JSON Pointers (RFC 6901) to values that are not compared, such as `/items/*/id`. The segment `*` stands for any
    /// one segment.
    pub ignore: Vec<String>,
    /// How much two numbers may differ, from 0 to below 1: `|a - b| <= tolerance * max(1, |a|, |b|)`. Two integers are
    /// always compared exactly.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub tolerance: f64,
}

/// Settings of the judge `image`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ImageSettings {
    /// How much each of a pixel's red, green, blue and alpha may differ, from 0 to 254.
    #[schemars(range(max = 254))]
    pub tolerance: u8,
    /// The share of pixels that may differ by more than `tolerance`, from 0 to below 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
}

/// Settings of the judge `exec`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecSettings {
    /// The program and its arguments. They are not passed through a shell.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// How long the program may take for one pair of answers.
    #[serde(default = "one_second")]
    pub timeout: Time,
    /// How long the program may take from its start to its hello.
    #[serde(default = "five_seconds")]
    pub start_timeout: Time,
    /// The memory that each process of the program may allocate, in MiB. Linux only.
    #[schemars(range(min = 1))]
    pub max_memory_mib: Option<u32>,
}

impl ExecSettings {
    /// Settings for `command` with the default limits.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        ExecSettings {
            command: command.into_iter().map(Into::into).collect(),
            timeout: one_second(),
            start_timeout: five_seconds(),
            max_memory_mib: None,
        }
    }
}

fn one_second() -> Time {
    Time::seconds(1)
}

fn five_seconds() -> Time {
    Time::seconds(5)
}

/// [`JudgeSettings`] as a table.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Table {
    Bytes(NoSettings),
    Text(TextSettings),
    Json(JsonSettings),
    Qr(NoSettings),
    Image(ImageSettings),
    Exec(ExecSettings),
    Session(NoSettings),
}

/// Refuses every setting. A unit variant of [`Table`] would ignore them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoSettings {}

impl From<Table> for JudgeSettings {
    fn from(table: Table) -> Self {
        match table {
            Table::Bytes(NoSettings {}) => JudgeSettings::Bytes,
            Table::Text(settings) => JudgeSettings::Text(settings),
            Table::Json(settings) => JudgeSettings::Json(settings),
            Table::Qr(NoSettings {}) => JudgeSettings::Qr,
            Table::Image(settings) => JudgeSettings::Image(settings),
            Table::Exec(settings) => JudgeSettings::Exec(settings),
            Table::Session(NoSettings {}) => JudgeSettings::Session,
        }
    }
}

impl<'de> Deserialize<'de> for JudgeSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable)
    }
}

struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = JudgeSettings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a judge, or a table with the name as `kind`")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<JudgeSettings, E> {
        let table = MapDeserializer::new(std::iter::once(("kind", name)));
        Table::deserialize(table).map(Into::into)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<JudgeSettings, A::Error> {
        Table::deserialize(MapAccessDeserializer::new(table)).map(Into::into)
    }
}

impl JsonSchema for JudgeSettings {
    fn schema_name() -> Cow<'static, str> {
        "JudgeSettings".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<Table>();
        json_schema!({
            "description": "Which judge compares the bodies: its name, or a table with its settings.",
            "anyOf": [{ "enum": ["bytes", "text", "json", "qr", "image", "session"] }, table],
        })
    }
}
