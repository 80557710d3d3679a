//! The paths that are not compared.

use anyhow::{bail, ensure};

/// The segments of a JSON Pointer (RFC 6901); `None` stands for any one segment, written `*`.
#[derive(Debug)]
pub(super) struct Pointer(Vec<Option<String>>);

impl Pointer {
    /// Reads one entry of `ignore`. Fails if it is not a JSON Pointer to a part of the body.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        ensure!(!text.is_empty(), "ignore has an empty path, which would ignore the whole body");
        let Some(rest) = text.strip_prefix('/') else {
            bail!("ignore has `{text}`, which does not begin with /");
        };
        let segment = |raw: &str| match raw {
            "*" => Ok(None),
            _ => match unescaped(raw) {
                None => bail!("ignore has `{text}`, where ~ is not followed by 0 or 1"),
                named => Ok(named),
            },
        };
        Ok(Pointer(rest.split('/').map(segment).collect::<anyhow::Result<_>>()?))
    }
}

fn unescaped(raw: &str) -> Option<String> {
    let is_valid = raw.split('~').skip(1).all(|part| part.starts_with(['0', '1']));
    // In this order, since ~01 is ~1 and not a slash (RFC 6901, section 4).
    is_valid.then(|| raw.replace("~1", "/").replace("~0", "~"))
}

/// A key or index as a segment of a pointer.
pub(super) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The rest of each pointer below the current value.
#[derive(Clone, Debug)]
pub(super) struct IgnoredPaths<'p>(Vec<&'p [Option<String>]>);

impl<'p> IgnoredPaths<'p> {
    /// All of `pointers`, for the top value.
    pub(super) fn at_top(pointers: &'p [Pointer]) -> Self {
        IgnoredPaths(pointers.iter().map(|pointer| pointer.0.as_slice()).collect())
    }

    /// The rest of each pointer below `key`; `None` if the value there is ignored.
    pub(super) fn below(&self, key: &str) -> Option<Self> {
        let mut left = Vec::new();
        for segments in &self.0 {
            match segments {
                [Some(name), ..] if name != key => {}
                [_] => return None,
                [_, rest @ ..] => left.push(rest),
                [] => {}
            }
        }
        Some(IgnoredPaths(left))
    }
}
