//! The judge `json`: two JSON values.
//!
//! - The order of an object's members means nothing; the order of an array's items does.
//! - Numbers are compared as [`number::is_same`] says.
//! - Readers disagree on a repeated key: some take the first value, some the last. So all values of a
//!   key are compared, in order, and a difference at a repeated key says so.
//! - Nothing at or below an ignored path is compared, not even whether it exists. So `/items/*` also
//!   ignores how many items there are.
//! - A body that is not JSON, or nested deeper than 128 levels, is `undecodable`.

mod number;
mod pointer;
mod tree;

use std::collections::BTreeSet;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::judge::shorten::shortened;
use crate::judge::verdict::{Kind, Verdict};
use pointer::{Ignored, Pointer, escaped};
use route::JsonSettings;
use tree::{Node, Tree};

pub(crate) const KINDS: [Kind; 2] = [Kind::Undecodable, Kind::Json];

/// How two values are compared.
#[derive(Debug)]
pub(crate) struct Rules {
    ignore: Vec<Pointer>,
    tolerance: f64,
}

impl Rules {
    pub(crate) fn new(settings: &JsonSettings) -> anyhow::Result<Self> {
        let tolerance = settings.tolerance;
        ensure!(
            (0.0..1.0).contains(&tolerance),
            "tolerance = {tolerance} is not from 0 to below 1"
        );
        let ignore = settings.ignore.iter().map(|path| Pointer::parse(path));
        Ok(Rules { ignore: ignore.collect::<anyhow::Result<_>>()?, tolerance })
    }

    pub(crate) fn compare(&self, old: &[u8], new: &[u8]) -> Verdict {
        let (old, new) = match (Tree::parse(old), Tree::parse(new)) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(why), _) => return Verdict::different(Kind::Undecodable, format!("old: {why}")),
            (_, Err(why)) => return Verdict::different(Kind::Undecodable, format!("new: {why}")),
        };
        let ignored = Ignored::at_top(&self.ignore);
        match self.difference(&old, &new, &ignored) {
            None => Verdict::Same,
            Some(found) => Verdict::different(Kind::Json, found.into_detail()),
        }
    }

    /// The first difference: members in the order of their keys, items in order.
    fn difference(
        &self,
        old: &Tree<'_>,
        new: &Tree<'_>,
        ignored: &Ignored<'_>,
    ) -> Option<Difference> {
        match (&old.node, &new.node) {
            (Node::Array(olds), Node::Array(news)) => {
                (0..olds.len().max(news.len())).find_map(|index| {
                    let key = index.to_string();
                    let ignored = ignored.below(&key)?;
                    let found = self.difference_of(olds.get(index), news.get(index), &ignored)?;
                    Some(found.below(&key))
                })
            }
            (Node::Object(olds), Node::Object(news)) => {
                let keys: BTreeSet<&String> = olds.keys().chain(news.keys()).collect();
                keys.into_iter().find_map(|key| {
                    let ignored = ignored.below(key)?;
                    let values = |members: Option<_>| members.map_or(&[][..], Vec::as_slice);
                    let (olds, news) = (values(olds.get(key)), values(news.get(key)));
                    let found = (0..olds.len().max(news.len())).find_map(|index| {
                        self.difference_of(olds.get(index), news.get(index), &ignored)
                    })?;
                    Some(found.repeated(olds.len(), news.len()).below(key))
                })
            }
            (old_node, new_node) => {
                (!self.is_same(old_node, new_node)).then(|| Difference::of(Some(old), Some(new)))
            }
        }
    }

    /// As [`Rules::difference`], for values that one side may lack.
    fn difference_of(
        &self,
        old: Option<&Tree<'_>>,
        new: Option<&Tree<'_>>,
        ignored: &Ignored<'_>,
    ) -> Option<Difference> {
        match (old, new) {
            (Some(old), Some(new)) => self.difference(old, new, ignored),
            _ => Some(Difference::of(old, new)),
        }
    }

    /// Whether two values are the same, if they are not both arrays or both objects.
    fn is_same(&self, old: &Node<'_>, new: &Node<'_>) -> bool {
        match (old, new) {
            (Node::Null, Node::Null) => true,
            (Node::Bool(old), Node::Bool(new)) => old == new,
            (Node::String(old), Node::String(new)) => old == new,
            (Node::Number(old), Node::Number(new)) => number::is_same(old, new, self.tolerance),
            _ => false,
        }
    }
}

/// Where two values differ, and how they are written there.
struct Difference {
    /// The keys from the innermost to the top.
    keys: Vec<String>,
    old: String,
    new: String,
    /// `Some` if a key on the way is repeated.
    note: Option<String>,
}

impl Difference {
    fn of(old: Option<&Tree<'_>>, new: Option<&Tree<'_>>) -> Self {
        let shown = |tree: Option<&Tree<'_>>| match tree {
            Some(tree) => shortened(tree.raw),
            None => "absent".to_owned(),
        };
        Difference { keys: Vec::new(), old: shown(old), new: shown(new), note: None }
    }

    fn below(mut self, key: &str) -> Self {
        self.keys.push(escaped(key));
        self
    }

    /// Notes that a key has this many values, if a side repeats it.
    fn repeated(mut self, old: usize, new: usize) -> Self {
        if old.max(new) > 1 {
            self.note = Some(format!("; the key is there {old} and {new} times"));
        }
        self
    }

    fn into_detail(self) -> String {
        let Difference { keys, old, new, note } = self;
        let path: String = keys.iter().rev().map(|key| format!("/{}", shortened(key))).collect();
        let place = if path.is_empty() { "the whole value" } else { &path };
        format!("{place}: old {old}, new {new}{}", note.unwrap_or_default())
    }
}

/// The type of the value and how many items or members it has, or why it cannot be read.
pub(crate) fn describe(body: &[u8]) -> Value {
    match Tree::parse(body).map(|tree| tree.node) {
        Ok(Node::Null) => json!({ "type": "null" }),
        Ok(Node::Bool(_)) => json!({ "type": "boolean" }),
        Ok(Node::Number(_)) => json!({ "type": "number" }),
        Ok(Node::String(_)) => json!({ "type": "string" }),
        Ok(Node::Array(items)) => json!({ "type": "array", "items": items.len() }),
        Ok(Node::Object(members)) => json!({ "type": "object", "members": members.len() }),
        Err(why) => json!({ "undecodable": why }),
    }
}
