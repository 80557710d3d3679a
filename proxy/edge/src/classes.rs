//! What a route's clients got, by class: the method, the status and the media type. The shadow counts what it compared
//! by the same classes.

use crate::line::{Code, Line};

/// The most classes of a route. Further ones count together.
const MOST: usize = 40;
const OTHERS: &str = "others";

/// The classes of a route and their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes(Vec<Class>);

#[derive(Clone, Debug)]
struct Class {
    method: Box<[u8]>,
    status: u16,
    media_type: Box<[u8]>,
    count: u64,
}

impl Classes {
    /// Counts a side's answer, but no failure, and no 304, for which the shadow does not ask.
    pub(crate) fn count(&mut self, line: &Line<'_>) {
        let is_one =
            matches!(Code::of(line.status), Code::Success | Code::Redirection | Code::ClientError);
        if !is_one || line.status == 304 || !line.tries.was_asked {
            return;
        }
        let Line { method, status, media_type, .. } = *line;
        let is_it = |it: &&mut Class| {
            (&*it.method, it.status, &*it.media_type) == (method, status, media_type)
        };
        if let Some(class) = self.0.iter_mut().find(is_it) {
            class.count += 1;
        } else if self.0.len() < MOST {
            let (method, media_type) = (method.into(), media_type.into());
            self.0.push(Class { method, status, media_type, count: 1 });
        } else {
            self.0[MOST - 1] = Class {
                method: OTHERS.as_bytes().into(),
                status: 0,
                media_type: Box::default(),
                count: self.0[MOST - 1].count + 1,
            };
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (String, u64)> {
        self.0.iter().map(|class| {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            let name = match class.status {
                0 => OTHERS.to_owned(),
                status => service_kit::metrics::class(
                    &text(&class.method),
                    status,
                    &text(&class.media_type),
                ),
            };
            (name, class.count)
        })
    }
}
