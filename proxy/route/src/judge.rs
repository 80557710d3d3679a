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

use std::fmt;

use schemars::{JsonSchema, Schema};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;

use crate::units::Time;

/// Which judge compares the bodies: its name, or a table with its settings.
// Of variants without braces, serde would ignore settings that they do not have.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(remote = "Self", tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(transform = or_name)]
pub enum JudgeSettings {
    /// Byte by byte.
    Bytes {},
    /// As UTF-8 text, ignoring the kind of line ends and spaces at the end of lines.
    Text(TextSettings),
    /// As JSON values.
    Json(JsonSettings),
    /// As pictures of the QR symbol that the request asked for.
    Qr {},
    /// As the pixels of PNG files.
    Image(ImageSettings),
    /// By a program of the user.
    Exec(ExecSettings),
    /// Not at all, since the route's requests belong together. The scenarios of `carve contract --relay` compare the
    /// two sides.
    Session {},
}

impl Default for JudgeSettings {
    fn default() -> Self {
        JudgeSettings::Bytes {}
    }
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
        JudgeSettings::deserialize(MapDeserializer::new(std::iter::once(("kind", name))))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<JudgeSettings, A::Error> {
        JudgeSettings::deserialize(MapAccessDeserializer::new(table))
    }
}

/// A judge that needs no settings may be its name.
fn or_name(schema: &mut Schema) {
    let names = ["bytes", "text", "json", "qr", "image", "session"];
    let table = json!({ "oneOf": schema.remove("oneOf") });
    schema.insert("anyOf".to_owned(), json!([{ "enum": names }, table]));
}
