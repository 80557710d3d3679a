//! How often each field of a route's answers differs: between the sides, and between two answers of the old side. A
//! field that differs among the old side's own answers is noise (as in Twitter's Diffy); a rule of the judge can leave
//! it out.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::judge::Differences;
use serde::Serialize;

/// The most fields of a route that are counted by name. The keys of an object may be ids, so their number is unlimited.
const MAX_FIELDS: usize = 200;

/// The judged pairs of a route, and the fields in which they differ.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Fields {
    /// Pairs of both sides.
    pub(crate) pairs: u64,
    /// Pairs of the old side with itself.
    pub(crate) noise_pairs: u64,
    /// Pairs in which a field differed, by its name.
    fields: BTreeMap<String, Counts>,
    /// Pairs that differ in fields beyond [`MAX_FIELDS`].
    others: Counts,
}

/// Pairs in which a field differed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    pub(crate) between_sides: u64,
    pub(crate) of_old_itself: u64,
}

impl Counts {
    fn add(&mut self, is_noise: bool) {
        match is_noise {
            true => self.of_old_itself += 1,
            false => self.between_sides += 1,
        }
    }
}

impl Fields {
    /// Counts a judged pair; `is_noise` if both answers are the old side's.
    pub(crate) fn add(&mut self, is_noise: bool, differences: Option<&Differences>) {
        match is_noise {
            true => self.noise_pairs += 1,
            false => self.pairs += 1,
        }
        let names = differences.map(|found| found.fields().keys()).into_iter().flatten();
        let mut has_others = false;
        for name in names {
            if let Some(counts) = self.fields.get_mut(name) {
                counts.add(is_noise);
            } else if self.fields.len() < MAX_FIELDS {
                self.fields.entry(name.clone()).or_default().add(is_noise);
            } else {
                has_others = true;
            }
        }
        if has_others {
            self.others.add(is_noise);
        }
    }

    /// The fields in which the old side differs from itself, with their counts.
    pub(crate) fn noisy(&self) -> impl Iterator<Item = (&String, Counts)> {
        self.fields.iter().map(|(name, counts)| (name, *counts)).filter(|it| it.1.of_old_itself > 0)
    }
}

/// The fields of all routes, by the route's name.
#[derive(Debug, Default)]
pub(crate) struct AllFields(Mutex<BTreeMap<String, Fields>>);

impl AllFields {
    pub(crate) fn add(&self, route: &str, is_noise: bool, differences: Option<&Differences>) {
        let mut routes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        routes.entry(route.to_owned()).or_default().add(is_noise, differences);
    }

    pub(crate) fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let routes = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        serde_json::to_vec_pretty(&routes)
    }
}
