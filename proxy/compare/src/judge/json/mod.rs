//! The judge `json`: compares two JSON values.
//!
//! - The order of an object's members does not count; the order of an array's items does.
//! - Numbers are compared by [`number::is_same`].
//! - Some readers use the first value of a repeated key, others the last. So all values of a key are compared in order,
//!   and a difference at a repeated key mentions the repetition.
//! - Nothing at or below an ignored path is compared, not even whether it exists. So `/items/*` also
//!   ignores the number of items.
//! - A body that is not JSON, or nested deeper than 128 levels, is `undecodable`.

mod number;
mod pointer;
mod tree;

use std::collections::BTreeSet;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::judge::difference::{DifferenceList, Kind, shortened};
use pointer::{IgnoredPaths, Pointer, escaped};
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

    pub(crate) fn compare(&self, old: &[u8], new: &[u8], found: &mut DifferenceList) {
        let both = found.both(Tree::parse(old), Tree::parse(new));
        let Some((old, new)) = both else { return };
        let ignored = IgnoredPaths::at_top(&self.ignore);
        self.compare_trees(&old, &new, &ignored, &mut Way { steps: Vec::new(), found });
    }

    /// Compares members in the order of their keys, and items in order.
    fn compare_trees<'a>(
        &self,
        old: &'a Tree<'_>,
        new: &'a Tree<'_>,
        ignored: &IgnoredPaths<'_>,
        way: &mut Way<'a, '_>,
    ) {
        match (&old.node, &new.node) {
            (Node::Array(olds), Node::Array(news)) => {
                for index in 0..olds.len().max(news.len()) {
                    let Some(ignored) = ignored.below(&index.to_string()) else { continue };
                    way.steps.push(Step::Index(index));
                    self.compare_each(olds.get(index), news.get(index), &ignored, way);
                    way.steps.pop();
                }
            }
            (Node::Object(olds), Node::Object(news)) => {
                let keys: BTreeSet<&String> = olds.keys().chain(news.keys()).collect();
                for key in keys {
                    let Some(ignored) = ignored.below(key) else { continue };
                    let values =
                        |members: Option<&'a Vec<_>>| members.map_or(&[][..], Vec::as_slice);
                    let (olds, news) = (values(olds.get(key)), values(news.get(key)));
                    way.steps.push(Step::Key { key, times: (olds.len(), news.len()) });
                    for index in 0..olds.len().max(news.len()) {
                        self.compare_each(olds.get(index), news.get(index), &ignored, way);
                    }
                    way.steps.pop();
                }
            }
            (Node::Null, Node::Null) => {}
            (Node::Bool(old), Node::Bool(new)) if old == new => {}
            (Node::String(old), Node::String(new)) if old == new => {}
            (Node::Number(old), Node::Number(new)) if number::is_same(old, new, self.tolerance) => {
            }
            _ => way.differs(Some(old), Some(new)),
        }
    }

    /// As [`Rules::compare_trees`], for values that one side may lack.
    fn compare_each<'a>(
        &self,
        old: Option<&'a Tree<'_>>,
        new: Option<&'a Tree<'_>>,
        ignored: &IgnoredPaths<'_>,
        way: &mut Way<'a, '_>,
    ) {
        match (old, new) {
            (Some(old), Some(new)) => self.compare_trees(old, new, ignored, way),
            _ => way.differs(old, new),
        }
    }
}

/// The path from the top to the compared values, and the differences so far.
struct Way<'a, 'f> {
    steps: Vec<Step<'a>>,
    found: &'f mut DifferenceList,
}

enum Step<'a> {
    Index(usize),
    Key {
        key: &'a str,
        /// How often the old and the new object have the key.
        times: (usize, usize),
    },
}

impl Way<'_, '_> {
    fn differs(&mut self, old: Option<&Tree<'_>>, new: Option<&Tree<'_>>) {
        let Way { steps, found } = self;
        found.add(&Kind::Json, &pointer(steps, |_| "*".to_owned()), || {
            let shown = |tree: Option<&Tree<'_>>| match tree {
                Some(tree) => shortened(tree.raw),
                None => "absent".to_owned(),
            };
            let repeated = steps.iter().find_map(|step| match step {
                Step::Key { times: (old, new), .. } if *old.max(new) > 1 => {
                    Some(format!("; the key occurs {old} and {new} times"))
                }
                _ => None,
            });
            let place = pointer(steps, |index| index.to_string());
            let at = if place.is_empty() { "the whole value" } else { &place };
            let note = repeated.unwrap_or_default();
            let detail = format!("{at}: old {}, new {}{note}", shown(old), shown(new));
            (place, detail)
        });
    }
}

/// The steps as a JSON Pointer.
fn pointer(steps: &[Step<'_>], index: impl Fn(usize) -> String) -> String {
    let segment = |step: &Step<'_>| match step {
        Step::Index(at) => format!("/{}", index(*at)),
        Step::Key { key, .. } => format!("/{}", shortened(&escaped(key))),
    };
    steps.iter().map(segment).collect()
}

/// The type of the value and its number of items or members, or why it cannot be read.
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
