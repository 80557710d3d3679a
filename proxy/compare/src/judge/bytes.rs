//! The judge `bytes`: bodies are equal byte by byte.

use super::verdict::{Kind, Verdict};

pub(crate) const KINDS: [Kind; 1] = [Kind::Body];

pub(crate) fn compare(old: &[u8], new: &[u8]) -> Verdict {
    if old == new {
        return Verdict::Same;
    }
    let common = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let detail = format!(
        "old {} bytes, new {} bytes, the first difference at offset {common}",
        old.len(),
        new.len()
    );
    Verdict::different(Kind::Body, detail)
}
