//! Macros for what documentation and public structs have in common.

/// An example in documentation, which `cargo test` runs: `example!(STATEMENT; ...)`. In `example!(symbol: ...)`, `symbol`
/// is that of a text.
macro_rules! example {
    (symbol: $($statement:stmt);+ $(;)?) => {
        example!(@ "let symbol = encode(\"text\", Level::M)?;\n", $($statement)+)
    };
    (@ $begin:literal, $($statement:stmt)+) => {
        concat!(
            "\n```\nuse qr_core::*;\n\n", $begin,
            $(stringify!($statement), ";\n",)+ "# Ok::<(), qr_core::Error>(())\n```"
        )
    };
    ($($statement:stmt);+ $(;)?) => { example!(@ "", $($statement)+) };
}

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
