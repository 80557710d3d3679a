//! rxing: fast. Its reader returns neither the version nor whether FNC1 was used, so this calls its steps one by one.

use std::panic::catch_unwind;

use rxing::common::{AIFlag, BitMatrix, DetectorRXingResult, HybridBinarizer};
use rxing::qrcode::cpp_port::decoder::Decode;
use rxing::qrcode::cpp_port::detector::{
    FindFinderPatterns, FinderPatternSet, GenerateFinderPatternSets, SampleQR,
};
use rxing::{Binarizer, Luma8Source};

use super::{Decoded, Pixels};

/// The most finder patterns that are tried. A picture of noise has thousands, and their combinations grow with the
/// third power.
const MAX_PATTERNS: usize = 30;

/// Decodes the symbol in a picture by rxing alone; the first of several that can be read. Also `None` for FNC1 and
/// structured append, which rqrr refuses too: readers show another text than the symbol's bytes.
pub fn decode_pixels_by_rxing(pixels: &Pixels) -> Option<Decoded> {
    // The bytes come from outside, and rxing may panic on unexpected ones.
    catch_unwind(|| detect_and_decode(pixels)).ok().flatten()
}

fn detect_and_decode(pixels: &Pixels) -> Option<Decoded> {
    let (width, height) = (u32::try_from(pixels.width).ok()?, u32::try_from(pixels.height).ok()?);
    let source = Luma8Source::new_with_slice(&pixels.grey, width, height).ok()?;
    let binarizer = HybridBinarizer::new(source);
    let bits = binarizer.get_black_matrix().ok()?;
    let mut patterns = FindFinderPatterns(bits, true, 0);
    // The largest are the least likely to be noise.
    patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.size));
    patterns.truncate(MAX_PATTERNS);
    GenerateFinderPatternSets(&mut patterns).iter().find_map(|set| decode_set(bits, set))
}

/// Decodes the symbol with these three finder patterns.
fn decode_set(bits: &BitMatrix, set: &FinderPatternSet) -> Option<Decoded> {
    let sampled = SampleQR(bits, set).ok()?;
    let decoded = Decode(sampled.getBits()).ok().filter(|decoded| decoded.isValid())?;
    let content = decoded.content();
    let is_part = decoded.structuredAppend().count > 0;
    if is_part || content.symbology.aiFlag != AIFlag::None {
        return None;
    }
    Some(Decoded {
        bytes: content.bytes().to_vec(),
        version: u8::try_from(decoded.versionNumber()).ok()?,
        level: decoded.ecLevel().chars().next()?,
    })
}
