//! Setters, so that structs can get more fields without breaking who makes them.

/// A method for each field that returns the struct with another value there; the field says what it is.
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
