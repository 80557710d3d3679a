//! Names that clients may invent, up to a number of them for each route.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How often each name came.
#[derive(Debug)]
pub(crate) struct NameCounts {
    most: usize,
    routes: Mutex<HashMap<String, HashMap<String, u64>>>,
}

impl NameCounts {
    pub(crate) fn new(most: usize) -> Self {
        NameCounts { most, routes: Mutex::default() }
    }

    /// Counts a name of a route. Returns how often it came; `None` for a new one if there are too many.
    pub(crate) fn count(&self, route: &str, name: &str) -> Option<u64> {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let names = routes.entry(route.to_owned()).or_default();
        if names.len() >= self.most && !names.contains_key(name) {
            return None;
        }
        let count = names.entry(name.to_owned()).or_default();
        *count += 1;
        Some(*count)
    }
}
