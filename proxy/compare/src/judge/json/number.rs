//! Compares numbers as they are written in JSON.

/// The number in decimal: `digits` times ten to the power of `exponent`, and a sign.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    /// 0 for zero.
    exponent: i64,
}

impl Decimal {
    /// Reads a number in JSON's grammar. `None` if the exponent does not fit.
    fn parse(text: &str) -> Option<Self> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
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
            return Some(Decimal { negative: false, digits, exponent: 0 });
        }
        let exponent = i64::from(exponent) - fraction.len() as i64 + dropped as i64;
        Some(Decimal { negative, digits, exponent })
    }

    fn is_integer(&self) -> bool {
        self.exponent >= 0
    }
}

/// Whether two numbers are the same. Equal values are the same, however they are written (`1`, `1.0`, `10e-1`). Two
/// integers with different values differ, even beyond 2^53. Other numbers are compared as doubles: they are the same if
/// `|a - b| <= tolerance * max(1, |a|, |b|)`.
pub(super) fn is_same(a: &str, b: &str, tolerance: f64) -> bool {
    if a == b {
        return true;
    }
    let (decimal_a, decimal_b) = (Decimal::parse(a), Decimal::parse(b));
    if let (Some(a), Some(b)) = (&decimal_a, &decimal_b) {
        if a == b {
            return true;
        }
        if a.is_integer() && b.is_integer() {
            return false;
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
