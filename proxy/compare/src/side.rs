//! The two sides that are compared.

use strum::{IntoStaticStr, VariantArray};

#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Side {
    /// The side that takes over.
    New,
    /// The side to be replaced, which is the reference.
    Old,
}
