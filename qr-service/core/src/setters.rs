//! Macros for what documentation and public structs have in common.

/// An example in documentation, which `cargo test` runs: `example!(STATEMENT; ...)`. In `example!(symbol: ...)`, `symbol`
/// is that of a text.
macro_rules! example {
    (symbol: $($statement:stmt);+ $(;)?) => {
        example!(@ "let symbol = encode(\"text\", Level::M)?;\n", $($statement)+)
    };
    // With the symbols that are read from a picture of the text, which has 4 pixels a module.
    (read: $($statement:stmt);+ $(;)?) => {
        example!(@ "let symbol = encode(\"text\", Level::M)?;\n\
            let module = |px: usize| (px / 4).wrapping_sub(4);\n\
            let is_dark = |at: usize| symbol.is_dark(module(at % 116), module(at / 116));\n\
            let grey = |at: usize| if is_dark(at) { 0 } else { 255 };\n\
            let grey: Vec<u8> = (0..116 * 116).map(grey).collect();\n\
            let symbols = read(&grey, 116).unwrap_or_default();\n", $($statement)+)
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
