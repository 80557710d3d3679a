//! The two sides that are compared.

use service_kit::label_value;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    /// Takes over.
    New,
    /// Is replaced, and is therefore the reference.
    Old,
}

impl Side {
    pub(crate) const ALL: [Side; 2] = [Side::New, Side::Old];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Side::New => "new",
            Side::Old => "old",
        }
    }
}

label_value!(Side);
