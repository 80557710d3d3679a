//! The judge `bytes`: bodies are equal byte by byte.
//!
//! Of a body that is too long to keep, a digest of each block is kept instead, so that two bodies can still be compared
//! and a difference located.

use std::ops::Range;

use sha2::{Digest as _, Sha256};

use crate::judge::difference::{DifferenceList, Kind};

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

/// The size of a block in bytes. The digests of a body of 1 GiB take 512 KiB.
const BLOCK: usize = 64 << 10;

/// The digests of a body's blocks.
#[derive(Clone, Debug, Default)]
pub struct Digest {
    blocks: Vec<[u8; 32]>,
    /// The incomplete last block, and its length in bytes.
    current: (Sha256, usize),
    bytes: u64,
}

impl Digest {
    /// The digest of a whole body.
    pub fn of(body: &[u8]) -> Self {
        let mut digest = Digest::default();
        digest.push(body);
        digest
    }

    /// Adds the next bytes.
    pub fn push(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let (hasher, length) = &mut self.current;
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - *length));
            hasher.update(now);
            *length += now.len();
            if *length == BLOCK {
                self.blocks.push(hasher.finalize_reset().into());
                *length = 0;
            }
            bytes = later;
        }
    }

    /// The body's length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// One digest for the whole body: the digest of all blocks' digests.
    pub fn whole(&self) -> [u8; 32] {
        self.all().fold(Sha256::new(), Sha256::chain_update).finalize().into()
    }

    fn all(&self) -> impl Iterator<Item = [u8; 32]> + '_ {
        let (hasher, length) = &self.current;
        let last = (*length > 0).then(|| hasher.clone().finalize().into());
        self.blocks.iter().copied().chain(last)
    }

    /// The byte range of the first block in which two bodies differ; `None` if they are the same.
    pub(crate) fn first_difference(&self, other: &Digest) -> Option<Range<u64>> {
        let same = self.all().zip(other.all()).take_while(|(one, other)| one == other).count();
        if self.bytes == other.bytes && same == self.all().count() {
            return None;
        }
        let start = (same * BLOCK) as u64;
        let end = start + BLOCK as u64;
        Some(start..end.min(self.bytes.max(other.bytes)))
    }
}
