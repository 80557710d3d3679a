//! The judge `bytes`: bodies are equal byte by byte.

use crate::judge::difference::{DifferenceList, Kind};
use crate::judge::long::Digest;

pub(crate) const KINDS: [Kind; 1] = [Kind::Body];

pub(crate) fn compare(old: &[u8], new: &[u8], found: &mut DifferenceList) {
    if old == new {
        return;
    }
    let common = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    found.add(&Kind::Body, "", || {
        let (old, new) = (old.len(), new.len());
        let detail =
            format!("old {old} bytes, new {new} bytes, the first difference at offset {common}");
        (format!("offset {common}"), detail)
    });
}

/// As [`compare`], for bodies that were not kept. The place of a difference is then a whole block.
pub(crate) fn compare_digests(old: &Digest, new: &Digest, found: &mut DifferenceList) {
    let Some(block) = old.first_difference(new) else { return };
    found.add(&Kind::Body, "", || {
        let (old, new) = (old.bytes(), new.bytes());
        let place = format!("offset {} to {}", block.start, block.end - 1);
        let detail = format!("old {old} bytes, new {new} bytes, the first difference at {place}");
        (place, detail)
    });
}
