//! Finds finder patterns as rxing does when it tries harder, in every third row, but only as long as there is time.
//!
//! Each candidate is compared with all patterns found before, so the time grows with the square of their number, and
//! a hostile picture has a hundred thousand.

use rxing::common::BitMatrix;
use rxing::common::cpp_essentials::{
    ConcentricPattern, FindLeftGuardBy, FixedPattern, GetPatternRowTP, IsPattern,
    LocateConcentricPattern, PatternRow, PatternView,
};
use rxing::point;

/// The most patterns that are looked for.
const MAX_FOUND: usize = 16_384;
const PATTERN: FixedPattern<5, 7> = FixedPattern::new([1, 1, 3, 1, 1]);

/// The finder patterns, and whether there may be more, because they are too many or the time `is_over`.
pub(super) fn finder_patterns(
    bits: &BitMatrix,
    is_over: impl Fn() -> bool,
) -> (Vec<ConcentricPattern>, bool) {
    let mut found: Vec<ConcentricPattern> = Vec::new();
    let mut row = PatternRow::default();
    for y in (2..bits.height()).step_by(3) {
        if found.len() > MAX_FOUND || is_over() {
            return (found, true);
        }
        GetPatternRowTP(bits, y, &mut row, false);
        let mut rest = PatternView::new(&row);
        while let Ok(view) = FindLeftGuardBy::<5, _>(rest, 5, is_finder)
            && view.isValid()
        {
            let before = view.pixelsInFront() + view[0] + view[1];
            let middle = point(f32::from(before) + f32::from(view[2]) / 2.0, y as f32 + 0.5);
            let is_inside =
                |old: &ConcentricPattern| middle.distance(old.p) < old.size as f32 / 2.0;
            if !found.iter().any(is_inside) {
                // Three times the width is enough for symbols that are seen from the side.
                let range = i32::from(view.iter().sum::<u16>()) * 3;
                found.extend(LocateConcentricPattern::<true, 5, 7>(
                    bits,
                    &PATTERN.into(),
                    middle,
                    range,
                ));
            }
            rest = view;
            rest.skipPair();
            rest.skipPair();
            rest.extend();
        }
    }
    (found, false)
}

fn is_finder(view: &PatternView<'_>, space: Option<f32>) -> bool {
    // A test that is fast, before the one that is exact.
    let widths: [u16; 5] = std::array::from_fn(|index| view[index]);
    widths[2] >= 3
        && widths[2] >= 2 * widths[0].max(widths[4])
        && widths[2] >= widths[1].max(widths[3])
        && IsPattern::<true, 5, 7, false>(view, &PATTERN, space, 0.1, 0.0, 0.0) != 0.0
}
