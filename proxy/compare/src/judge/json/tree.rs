//! Reads JSON, and keeps the spelling of numbers and repeated keys, which `serde_json::Value` drops.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// How deep arrays and objects may be nested. Comparing recurses once for each level.
const MAX_DEPTH: usize = 128;

/// A value and its text.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) raw: &'a str,
    pub(super) node: Node<'a>,
}

#[derive(Debug)]
pub(super) enum Node<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    String(String),
    Array(Vec<Tree<'a>>),
    /// The values of each key in order: one, or more if the key is repeated.
    Object(BTreeMap<String, Vec<Tree<'a>>>),
}

impl<'a> Tree<'a> {
    /// Reads a body. The error says what is wrong, without quoting the body.
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, String> {
        // This pass checks the syntax and does not recurse, however deep the nesting is.
        let raw: &RawValue = serde_json::from_slice(body).map_err(|error| position(&error))?;
        Self::build(raw, MAX_DEPTH)
    }

    fn build(raw: &'a RawValue, depth: usize) -> Result<Self, String> {
        let raw = raw.get();
        let wrong = |error: serde_json::Error| position(&error);
        let deeper =
            || depth.checked_sub(1).ok_or(format!("nested deeper than {MAX_DEPTH} levels"));
        let node = match raw.as_bytes().first() {
            Some(b'n') => Node::Null,
            Some(b't') => Node::Bool(true),
            Some(b'f') => Node::Bool(false),
            Some(b'"') => Node::String(serde_json::from_str(raw).map_err(wrong)?),
            Some(b'[') => {
                let depth = deeper()?;
                let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(wrong)?;
                let items = items.into_iter().map(|item| Self::build(item, depth));
                Node::Array(items.collect::<Result<_, _>>()?)
            }
            Some(b'{') => {
                let depth = deeper()?;
                let mut reader = serde_json::Deserializer::from_str(raw);
                let members = reader.deserialize_map(Members).map_err(wrong)?;
                let mut object: BTreeMap<String, Vec<Tree<'a>>> = BTreeMap::new();
                for (key, value) in members {
                    object.entry(key).or_default().push(Self::build(value, depth)?);
                }
                Node::Object(object)
            }
            _ => Node::Number(raw),
        };
        Ok(Tree { raw, node })
    }
}

/// Describes an error and its position. The error's own message might quote the body.
fn position(error: &serde_json::Error) -> String {
    let what = if error.is_eof() { "ends too early" } else { "not JSON" };
    format!("{what}, line {}, column {}", error.line(), error.column())
}

/// Reads an object's members in order, repeated keys included.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}
