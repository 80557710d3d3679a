//! Finds and decodes symbols in a picture, with rxing.
//!
//! rxing's reader does not tell the version, so its steps are called here one by one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rxing::common::cpp_essentials::{ConcentricPattern, DecoderResult};
use rxing::common::{BitMatrix, DetectorRXingResult, HybridBinarizer};
use rxing::qrcode::cpp_port::decoder::Decode;
use rxing::qrcode::cpp_port::detector::{
    FindFinderPatterns, FinderPatternSet, GenerateFinderPatternSets, SampleMQR, SampleQR,
    SampleRMQR,
};
use rxing::{Binarizer, Luma8Source, Point};

use crate::options::Kind;

/// The most finder patterns that are tried. A picture of noise has thousands, and their combinations grow
/// with the third power.
const MAX_PATTERNS: usize = 60;

/// Longest time for one picture. Hostile ones are full of finder patterns.
const MAX_TIME: Duration = Duration::from_secs(2);

/// Pixels in grey, row by row.
pub(crate) struct GreyImage {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) grey: Vec<u8>,
}

/// A symbol that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) kind: Kind,
    /// As the standards name it: `7`, `M3`, `R11x59`.
    pub(crate) version: String,
    /// L, M, Q or H; empty for Micro QR M1.
    pub(crate) level: String,
    /// The message's bytes.
    pub(crate) bytes: Vec<u8>,
    /// The message by its ECI, or else as it most likely was meant.
    pub(crate) text: String,
    /// Index and count of structured append, from 0.
    pub(crate) part: Option<(i32, i32)>,
    /// The XOR of the whole message's bytes, with structured append.
    pub(crate) parity: Option<u8>,
    /// The corners in pixels: top left, top right, bottom right, bottom left, as the symbol is turned.
    pub(crate) corners: Vec<(f64, f64)>,
}

/// Reads up to `most` symbols of the kinds.
///
/// rxing may panic on what it does not expect; that finds nothing.
pub(crate) fn read(picture: &GreyImage, kinds: &[Kind], most: usize) -> Vec<Found> {
    catch_unwind(AssertUnwindSafe(|| read_all(picture, kinds, most))).unwrap_or_else(|_| {
        tracing::warn!(width = picture.width, height = picture.height, "the decoder panicked");
        Vec::new()
    })
}

fn read_all(picture: &GreyImage, kinds: &[Kind], most: usize) -> Vec<Found> {
    let source = Luma8Source::new_with_slice(&picture.grey, picture.width, picture.height);
    let Ok(binarizer) = source.map(HybridBinarizer::new) else { return Vec::new() };
    let Ok(bits) = binarizer.get_black_matrix() else { return Vec::new() };
    let mut patterns = FindFinderPatterns(bits, true, 0);
    // The largest are the least likely to be noise.
    patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.size));
    patterns.truncate(MAX_PATTERNS);
    let begun = Instant::now();
    let mut reading = Reading { bits, used: Vec::new(), found: Vec::new(), most, begun };
    if kinds.contains(&Kind::Qr) {
        for set in GenerateFinderPatternSets(&mut patterns) {
            reading.try_set(&set);
        }
    }
    for &pattern in &patterns {
        if kinds.contains(&Kind::Micro) {
            reading.try_one(Kind::Micro, pattern, SampleMQR);
        }
        if kinds.contains(&Kind::Rmqr) {
            reading.try_one(Kind::Rmqr, pattern, SampleRMQR);
        }
    }
    reading.found
}

struct Reading<'a> {
    bits: &'a BitMatrix,
    /// Finder patterns of symbols that were read.
    used: Vec<ConcentricPattern>,
    found: Vec<Found>,
    most: usize,
    begun: Instant,
}

impl Reading<'_> {
    fn try_set(&mut self, set: &FinderPatternSet) {
        let patterns = [set.bl, set.tl, set.tr];
        if self.is_done() || patterns.iter().any(|pattern| self.used.contains(pattern)) {
            return;
        }
        if let Ok(sampled) = SampleQR(self.bits, set)
            && self.decode(Kind::Qr, &sampled)
        {
            self.used.extend(patterns);
        }
    }

    fn try_one<D: DetectorRXingResult>(
        &mut self,
        kind: Kind,
        pattern: ConcentricPattern,
        sample: impl Fn(&BitMatrix, ConcentricPattern) -> rxing::common::Result<D>,
    ) {
        if self.is_done() || self.used.contains(&pattern) {
            return;
        }
        if let Ok(sampled) = sample(self.bits, pattern)
            && self.decode(kind, &sampled)
        {
            self.used.push(pattern);
        }
    }

    fn is_done(&self) -> bool {
        self.found.len() >= self.most || self.begun.elapsed() > MAX_TIME
    }

    fn decode(&mut self, kind: Kind, sampled: &impl DetectorRXingResult) -> bool {
        let Ok(decoded) = Decode(sampled.getBits()) else { return false };
        let is_valid = decoded.isValid();
        if is_valid {
            self.found.push(found(kind, sampled.getBits(), &decoded, sampled.getPoints()));
        }
        is_valid
    }
}

fn found(kind: Kind, bits: &BitMatrix, decoded: &DecoderResult<bool>, corners: &[Point]) -> Found {
    let append = decoded.structuredAppend();
    let part = (append.count > 1 || append.index > 0).then_some((append.index, append.count));
    Found {
        kind,
        version: match kind {
            Kind::Qr => decoded.versionNumber().to_string(),
            Kind::Micro => format!("M{}", (bits.width() - 9) / 2),
            Kind::Rmqr => format!("R{}x{}", bits.height(), bits.width()),
        },
        level: decoded.ecLevel().to_owned(),
        bytes: decoded.content().bytes().to_vec(),
        text: decoded.text(),
        part,
        parity: part.and_then(|_| append.id.parse().ok()),
        corners: corners.iter().map(|point| (f64::from(point.x), f64::from(point.y))).collect(),
    }
}
