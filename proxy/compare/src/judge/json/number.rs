//! Compares numbers as they are written in JSON.

/// The number in decimal: whether it is negative, its digits without zeros at either end, and the power of ten that they
/// are times. Zero has no digits, the power 0 and no sign. Reads JSON's grammar. `None` if the exponent does not fit.
fn decimal(text: &str) -> Option<(bool, String, i64)> {
    let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let written = format!("{whole}{fraction}");
    let digits = written.trim_end_matches('0');
    let dropped = written.len() - digits.len();
    let digits = digits.trim_start_matches('0').to_owned();
    if digits.is_empty() {
        return Some((false, digits, 0));
    }
    Some((is_negative, digits, i64::from(exponent) - fraction.len() as i64 + dropped as i64))
}

/// Whether two numbers are the same. Equal values are the same, however they are written (`1`, `1.0`, `10e-1`). Two
/// integers with different values differ, even beyond 2^53. Other numbers are compared as doubles: they are the same if
/// `|a - b| <= tolerance * max(1, |a|, |b|)`.
pub(super) fn is_same(a: &str, b: &str, tolerance: f64) -> bool {
    if a == b {
        return true;
    }
    if let (Some(a), Some(b)) = (decimal(a), decimal(b)) {
        let are_integers = a.2 >= 0 && b.2 >= 0;
        if a == b || are_integers {
            return a == b;
        }
    }
    match (a.parse::<f64>(), b.parse::<f64>()) {
        // Infinite values always differ: their difference is infinite or NaN.
        (Ok(a), Ok(b)) if a.is_finite() && b.is_finite() => {
            a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
        }
        _ => false,
    }
}
