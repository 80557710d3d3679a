//! What a route's clients got, by class: the method, the path's template, the names of query parameters, whether there
//! are credentials, the status and the media type. The shadow counts what it compared by the same classes. The size is
//! no part of them: clients get answers compressed as they ask, and the shadow as it asks.

use std::collections::BTreeMap;

use service_kit::metrics::{class, shape};

use crate::line::{Code, Line};

/// The most classes of a route. Further ones are not counted.
const MOST: usize = 100;

/// The classes of a route, and how many answers of each there were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes(Vec<Class>);

#[derive(Clone, Debug)]
struct Class {
    /// Method, path, names and media type.
    texts: [Box<[u8]>; 4],
    status: u16,
    count: u64,
}

impl Classes {
    /// Counts a side's answer, but no failure, and no 304, for which the shadow does not ask.
    pub(crate) fn count(&mut self, line: &Line<'_>) {
        let Line { method, path, names, status, media_type, .. } = *line;
        let code = Code::of(status);
        if !matches!(code, Code::Success | Code::Redirection | Code::ClientError)
            || status == 304
            || !line.tries.was_asked
        {
            return;
        }
        let texts = [method, path, names, media_type];
        let is_it = |it: &&mut Class| {
            it.status == status && it.texts.iter().zip(texts).all(|(one, other)| **one == *other)
        };
        if let Some(class) = self.0.iter_mut().find(is_it) {
            class.count += 1;
        } else if self.0.len() < MOST {
            self.0.push(Class { texts: texts.map(Into::into), status, count: 1 });
        }
    }

    /// The classes by name.
    pub(crate) fn all(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for Class { texts, status, count } in &self.0 {
            let [method, path, names, media_type] =
                texts.each_ref().map(|it| String::from_utf8_lossy(it));
            // Parameters come in any order.
            *all.entry(class(&shape(&method, &path, &names), *status, &media_type)).or_default() +=
                count;
        }
        all
    }
}
