//! Finds and decodes symbols in a picture: with `qr-core` if it can read the whole picture, else with rxing.
//!
//! rxing's reader does not return the version, so its steps are called here one by one. A photo is read at several
//! sizes, because blur and noise vanish in smaller ones, and each size also with dark and light exchanged.

mod binary;
mod drawn;
mod finder;
mod fourth;
#[cfg(test)]
mod tests;
mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rxing::common::cpp_essentials::{ConcentricPattern, DecoderResult};
use rxing::common::{BitMatrix, DetectorRXingResult};
use rxing::qrcode::cpp_port::decoder::Decode;
use rxing::qrcode::cpp_port::detector::{
    FinderPatternSet, GenerateFinderPatternSets, SampleMQR, SampleQR, SampleRMQR,
};
use rxing::qrcode::detector::QRCodeDetectorResult;
use rxing::{Point, point};

use self::binary::binarized;
pub(crate) use self::drawn::read_only;
use crate::v1::options::Kind;

/// The most finder patterns that are tried at one size, and the most sets of three. Noise has thousands of them.
const MAX_PATTERNS: usize = 2048;
const MAX_SETS: usize = 8192;
/// The most sets that are tried again with other guesses of the fourth corner.
const MAX_SETS_AGAIN: usize = 256;

/// Up to this many finder patterns, every set of three is tried, because rxing leaves out sets of symbols that are seen
/// from the side.
const MAX_ALL_SETS: usize = 5;

/// Longest time for one picture, because hostile ones are full of finder patterns. A debug build is many times slower.
pub(crate) const MAX_TIME: Duration =
    Duration::from_secs(if cfg!(debug_assertions) { 8 } else { 2 });

/// Pictures smaller than this are not halved again.
const MIN_HALVED_PX: u32 = 200;

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
    /// The symbology identifier of ISO/IEC 15424, such as `]Q1`, or `]Q3` for GS1.
    pub(crate) symbology: String,
    /// The message's bytes.
    pub(crate) bytes: Vec<u8>,
    /// The message, decoded by its ECI, or else by the most likely encoding.
    pub(crate) text: String,
    /// The encoding that was guessed, if the symbol does not declare it.
    pub(crate) guess: Option<&'static str>,
    /// Index, from 0, and count in structured append.
    pub(crate) part: Option<(i32, i32)>,
    /// The XOR of the whole message's bytes, with structured append.
    pub(crate) parity: Option<u8>,
    /// The corners in pixels: the symbol's own top left, top right, bottom right and bottom left, however it is turned.
    pub(crate) corners: [(f64, f64); 4],
    /// The number of the version that rxing gives it, and its modules as they were read.
    pub(crate) number: u32,
    pub(crate) modules: BitMatrix,
}

/// What a decoder has read of a symbol, as far as it does not depend on where it is.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) version: String,
    pub(crate) bytes: Vec<u8>,
    /// Index, from 0, and count in structured append, and the XOR of the whole message's bytes.
    pub(crate) part: Option<(i32, i32)>,
    pub(crate) parity: Option<u8>,
}

impl From<Found> for Seen {
    fn from(found: Found) -> Self {
        let Found { version, bytes, part, parity, .. } = found;
        Seen { version, bytes, part, parity }
    }
}

/// The symbols read from a picture.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) found: Vec<Found>,
    /// Whether the picture may have more symbols, because a limit or the time ran out.
    pub(crate) is_truncated: bool,
}

/// Reads up to `most` symbols of these kinds, dark on light, in a single pass like a simple reader.
pub(crate) fn read(picture: &GreyImage, kinds: &[Kind], most: usize) -> Vec<Found> {
    let mut search = Search::new(kinds, most);
    search.pass(binary::by_means(picture).as_ref());
    search.reading.found
}

/// Reads up to `most` symbols of these kinds from a picture of a program, a camera or a scanner.
pub(crate) fn read_picture(picture: &GreyImage, kinds: &[Kind], most: usize) -> Reading {
    match drawn::read(picture, kinds).filter(|found| found.len() <= most) {
        Some(found) => Reading { found, is_truncated: false },
        None => read_photo(picture, kinds, most),
    }
}

/// As [`read_picture`], with corners that follow a symbol that is distorted.
pub(crate) fn read_photo(picture: &GreyImage, kinds: &[Kind], most: usize) -> Reading {
    let mut search = Search::new(kinds, most);
    let mut smaller: Option<GreyImage> = None;
    loop {
        let layer = smaller.as_ref().unwrap_or(picture);
        if search.is_over() {
            break;
        }
        let mut bits = binarized(layer);
        search.pass(bits.as_ref());
        bits.iter_mut().for_each(BitMatrix::flip_self);
        search.pass(bits.as_ref());
        if layer.width.max(layer.height) < MIN_HALVED_PX || layer.width.min(layer.height) < 2 {
            break;
        }
        smaller = Some(halved(layer));
        search.scale *= 2.0;
    }
    if search.reading.found.is_empty() && !search.is_over() {
        // Some small symbols with round shapes can only be read by these thresholds.
        search.scale = 1.0;
        search.pass(binary::by_means(picture).as_ref());
    }
    search.reading
}

/// The picture at half its size: each pixel is the mean of four.
fn halved(picture: &GreyImage) -> GreyImage {
    let row_bytes = picture.width as usize;
    let mut grey = Vec::with_capacity(picture.grey.len() / 4);
    for rows in picture.grey.chunks_exact(2 * row_bytes) {
        let (upper, lower) = rows.split_at(row_bytes);
        let squares = upper.chunks_exact(2).zip(lower.chunks_exact(2));
        grey.extend(squares.map(|(upper, lower)| {
            let sum: u16 = [upper[0], upper[1], lower[0], lower[1]].map(u16::from).iter().sum();
            ((sum + 2) / 4) as u8
        }));
    }
    GreyImage { width: picture.width / 2, height: picture.height / 2, grey }
}

/// A way to read the modules of the symbol that a set of three finder patterns belongs to.
type Sample = fn(&BitMatrix, &FinderPatternSet) -> rxing::common::Result<QRCodeDetectorResult>;

struct Search<'a> {
    kinds: &'a [Kind],
    most: usize,
    begun: Instant,
    /// Width of a pixel of this pass, in pixels of the picture.
    scale: f64,
    reading: Reading,
}

impl<'a> Search<'a> {
    fn new(kinds: &'a [Kind], most: usize) -> Self {
        Search { kinds, most, begun: Instant::now(), scale: 1.0, reading: Reading::default() }
    }

    /// Whether the time is over; the reading is then incomplete.
    fn is_over(&mut self) -> bool {
        let is_over = self.begun.elapsed() > MAX_TIME;
        self.reading.is_truncated |= is_over;
        is_over
    }

    /// Reads symbols dark on light. rxing may panic on unexpected input; symbols found before the panic are kept.
    fn pass(&mut self, bits: Option<&BitMatrix>) {
        let Some(bits) = bits else { return };
        if catch_unwind(AssertUnwindSafe(|| self.try_all(bits))).is_err() {
            tracing::warn!(width = bits.width(), height = bits.height(), "the decoder panicked");
        }
    }

    fn try_all(&mut self, bits: &BitMatrix) {
        let (mut patterns, is_cut) =
            finder::finder_patterns(bits, || self.begun.elapsed() > MAX_TIME);
        self.reading.is_truncated |= is_cut;
        // Leave out patterns of symbols that another size has shown already.
        patterns.retain(|pattern| {
            let at = corner(pattern.p, self.scale);
            !self.reading.found.iter().any(|found| is_inside(at, &found.corners))
        });
        // The largest are the least likely to be noise.
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.size));
        self.reading.is_truncated |= patterns.len() > MAX_PATTERNS;
        patterns.truncate(MAX_PATTERNS);
        // Patterns of symbols that were read in this pass.
        let mut used: Vec<ConcentricPattern> = Vec::new();
        if self.kinds.contains(&Kind::Qr) {
            let mut sets = GenerateFinderPatternSets(&mut patterns);
            if patterns.len() <= MAX_ALL_SETS {
                sets.extend(fourth::all_sets(&patterns));
            }
            self.reading.is_truncated |= sets.len() > MAX_SETS;
            let ways = [
                (SampleQR as Sample, MAX_SETS),
                (fourth::by_lines, MAX_SETS_AGAIN),
                (fourth::by_sides, MAX_SETS_AGAIN),
            ];
            for (sample, most) in ways {
                for set in sets.iter().take(most) {
                    let three = [set.bl, set.tl, set.tr];
                    if self.try_once(Kind::Qr, &three, &used, || sample(bits, set)) {
                        used.extend(three);
                    }
                }
            }
        }
        for &pattern in &patterns {
            for kind in [Kind::Micro, Kind::Rmqr] {
                let sample = if kind == Kind::Micro { SampleMQR } else { SampleRMQR };
                if self.kinds.contains(&kind)
                    && self.try_once(kind, &[pattern], &used, || sample(bits, pattern))
                {
                    used.push(pattern);
                }
            }
        }
    }

    /// Tries to decode the symbol of these finder patterns, unless one of them belongs to a symbol that was read.
    fn try_once<D: DetectorRXingResult>(
        &mut self,
        kind: Kind,
        patterns: &[ConcentricPattern],
        used: &[ConcentricPattern],
        sample: impl FnOnce() -> rxing::common::Result<D>,
    ) -> bool {
        if patterns.iter().any(|pattern| used.contains(pattern)) {
            return false;
        }
        if self.is_over() || self.reading.found.len() >= self.most {
            self.reading.is_truncated = true;
            return false;
        }
        let Ok(sampled) = sample() else { return false };
        let Ok(decoded) = Decode(sampled.getBits()) else { return false };
        if !decoded.isValid() {
            return false;
        }
        // rxing lists the corners by rows. A symbol that is seen from behind is decoded with rows and columns exchanged.
        let order = if decoded.isMirrored() { [0, 2, 3, 1] } else { [0, 1, 3, 2] };
        let (bits, points) = (sampled.getBits(), sampled.getPoints());
        let modules = if decoded.isMirrored() { transposed(bits) } else { bits.clone() };
        // rxing adds a half, to round.
        let at = |index: usize| corner(points[index] - point(0.5, 0.5), self.scale);
        self.reading.found.push(found(kind, modules, order.map(at), &decoded));
        true
    }
}

/// Whether a point lies within these corners.
fn is_inside(point: (f64, f64), corners: &[(f64, f64); 4]) -> bool {
    let sides = corners.iter().zip(corners.iter().cycle().skip(1));
    let mut turns = sides.map(|(from, to)| {
        (to.0 - from.0) * (point.1 - from.1) - (to.1 - from.1) * (point.0 - from.0) > 0.0
    });
    let first = turns.next();
    turns.all(|turn| Some(turn) == first)
}

/// Converts a point of rxing to pixels of the picture.
fn corner(point: Point, scale: f64) -> (f64, f64) {
    (f64::from(point.x) * scale, f64::from(point.y) * scale)
}

/// The symbol of these modules, whose corners are in pixels of the picture.
fn found(
    kind: Kind,
    modules: BitMatrix,
    corners: [(f64, f64); 4],
    decoded: &DecoderResult<bool>,
) -> Found {
    let append = decoded.structuredAppend();
    let part = (append.count > 1 || append.index > 0).then_some((append.index, append.count));
    let (text, guess) = text::of(decoded);
    Found {
        kind,
        version: version_of(kind, modules.width(), modules.height()),
        level: decoded.ecLevel().to_owned(),
        symbology: decoded.symbologyIdentifier(),
        bytes: decoded.content().bytes().to_vec(),
        text,
        guess,
        part,
        parity: part.and_then(|_| append.id.parse().ok()),
        corners,
        number: decoded.versionNumber(),
        modules,
    }
}

/// A version as the standards name it.
fn version_of(kind: Kind, width: u32, height: u32) -> String {
    match kind {
        Kind::Qr => ((width - 17) / 4).to_string(),
        Kind::Micro => format!("M{}", (width - 9) / 2),
        Kind::Rmqr => format!("R{height}x{width}"),
    }
}

fn transposed(bits: &BitMatrix) -> BitMatrix {
    let columns = (0..bits.width()).map(|x| (0..bits.height()).map(|y| bits.get(x, y)).collect());
    BitMatrix::parse_bools(&columns.collect::<Vec<Vec<bool>>>())
}
