//! Many bytes that can be checked without keeping them.

/// The bytes of a flood from a place on, pseudo-random and the same each time: the high bytes of multiples of the
/// golden ratio's fraction.
pub(super) fn flood_from(place: u64) -> impl Iterator<Item = u8> {
    (place..).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
}
