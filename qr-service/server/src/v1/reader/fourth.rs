//! Guesses of a symbol's fourth corner, which has no finder pattern.
//!
//! rxing finds it by the alignment pattern, or else by one of these two guesses. If rxing's guess was wrong, the other
//! one still reads small symbols.

use rxing::common::cpp_essentials::{ConcentricPattern, DMRegressionLine, RegressionLineTrait};
use rxing::common::{
    BitMatrix, DefaultGridSampler, GridSampler, Quadrilateral, Result, SamplerControl,
};
use rxing::qrcode::cpp_port::detector::{EstimateModuleSize, FinderPatternSet, Mod2Pix, TraceLine};
use rxing::qrcode::detector::QRCodeDetectorResult;
use rxing::{Exceptions, Point, point_i};

/// Larger symbols, from version 7 on, have many alignment patterns, and rxing samples between these.
const MAX_DIMENSION: i32 = 41;

/// Every set of three finder patterns, in rxing's orientation.
pub(super) fn all_sets(patterns: &[ConcentricPattern]) -> Vec<FinderPatternSet> {
    let mut sets = Vec::new();
    for &tl in patterns {
        for &tr in patterns {
            let turned =
                patterns.iter().filter(|bl| ConcentricPattern::cross(tr - tl, **bl - tl) > 0.0);
            sets.extend(turned.map(|bl| FinderPatternSet { bl: *bl, tl, tr }));
        }
    }
    sets
}

/// Reads the modules with the fourth corner where the inner edges of the finder patterns meet.
pub(super) fn by_lines(bits: &BitMatrix, set: &FinderPatternSet) -> Result<QRCodeDetectorResult> {
    let meet = |edge: i32| {
        let below = TraceLine(bits, set.bl.p, set.tl.p, edge);
        let beside = TraceLine(bits, set.tr.p, set.tl.p, edge);
        let are_lines = below.isValid() && beside.isValid();
        let meet = are_lines.then(|| DMRegressionLine::intersect(&below, &beside)).flatten();
        meet.ok_or(Exceptions::NOT_FOUND)
    };
    sample(bits, set, (meet(2)? + meet(3)?) / 2.0, point_i(3, 3))
}

/// Reads the modules with the fourth corner opposite to the first one, as if the symbol were seen straight on.
pub(super) fn by_sides(bits: &BitMatrix, set: &FinderPatternSet) -> Result<QRCodeDetectorResult> {
    sample(bits, set, set.tr.p - set.tl.p + set.bl.p, point_i(0, 0))
}

/// Reads the modules. The fourth point lies `inside` modules further inwards than the centre of a finder pattern would.
fn sample(
    bits: &BitMatrix,
    set: &FinderPatternSet,
    fourth: Point,
    inside: Point,
) -> Result<QRCodeDetectorResult> {
    let sides = [set.tr, set.bl].into_iter().filter_map(|other| dimension_of(bits, set.tl, other));
    let (_, dimension) =
        sides.min_by(|one, two| one.0.total_cmp(&two.0)).ok_or(Exceptions::NOT_FOUND)?;
    if dimension > MAX_DIMENSION {
        return Err(Exceptions::NOT_FOUND);
    }
    let corners = Quadrilateral::from([set.tl.p, set.tr.p, fourth, set.bl.p]);
    let all = SamplerControl {
        p0: point_i(0, 0),
        p1: point_i(dimension, dimension),
        transform: Mod2Pix(dimension, inside, corners)?,
    };
    let side = dimension as u32;
    let (modules, points) = DefaultGridSampler.sample_grid(bits, side, side, &[all])?;
    Ok(QRCodeDetectorResult::new(modules, points.to_vec()))
}

/// The number of modules on the side between two finder patterns, after the distance of the measurement from it, in
/// versions.
fn dimension_of(
    bits: &BitMatrix,
    from: ConcentricPattern,
    to: ConcentricPattern,
) -> Option<(f64, i32)> {
    let sizes = [EstimateModuleSize(bits, from, to), EstimateModuleSize(bits, to, from)];
    let module = (sizes[0] + sizes[1]) / 2.0;
    let versions = (f64::from(from.distance(to)) / module + 7.0 - 17.0) / 4.0;
    let is_measured = sizes.iter().all(|size| *size > 0.0) && versions > 0.5;
    is_measured.then(|| ((versions - versions.round()).abs(), 17 + 4 * versions.round() as i32))
}
