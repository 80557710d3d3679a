//! The two sides that are compared.

use strum::{IntoStaticStr, VariantArray};

#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Side {
    /// Takes over.
    New,
    /// Is replaced, and is therefore the reference.
    Old,
}
