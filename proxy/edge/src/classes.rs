//! What a route's clients got, by class: the method, the status and the media type. The shadow counts what it compared
//! by the same classes.

use crate::line::{Code, Line};

/// The most classes of a route. Further ones are not counted.
const MOST: usize = 40;

/// The classes of a route, and how many answers of each there were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes(Vec<Class>);

type Class = (Box<[u8]>, u16, Box<[u8]>, u64);

impl Classes {
    /// Counts a side's answer, but no failure, and no 304, for which the shadow does not ask.
    pub(crate) fn count(&mut self, line: &Line<'_>) {
        let Line { method, status, media_type, .. } = *line;
        let code = Code::of(status);
        if !matches!(code, Code::Success | Code::Redirection | Code::ClientError)
            || status == 304
            || !line.tries.was_asked
        {
            return;
        }
        let is_it = |(a, b, c, _): &Class| (&**a, *b, &**c) == (method, status, media_type);
        if let Some(at) = self.0.iter().position(is_it) {
            self.0[at].3 += 1;
        } else if self.0.len() < MOST {
            self.0.push((method.into(), status, media_type.into(), 1));
        }
    }

    /// The classes by name.
    pub(crate) fn all(&self) -> impl Iterator<Item = (String, u64)> {
        self.0.iter().map(|(method, status, media_type, count)| {
            let [method, media_type] = [method, media_type].map(|it| String::from_utf8_lossy(it));
            (service_kit::metrics::class(&method, *status, &media_type), *count)
        })
    }
}
