//! Setters for public structs, so that new fields do not break callers.

/// Defines a method for each field that returns the struct with a new value of it. The field's doc comment describes
/// the value.
macro_rules! setters {
    ($($field:ident: $type:ty = $example:literal,)+) => {$(
        #[doc = concat!("Sets [`", stringify!($field), "`](#structfield.", stringify!($field), ").")]
        ///
        /// ```
        /// use qr_core::*;
        ///
        #[doc = concat!("let _changed = ", $example, ";")]
        /// ```
        #[must_use]
        pub fn $field(mut self, $field: $type) -> Self {
            self.$field = $field.into();
            self
        }
    )+};
}
