//! The `to_*` functions: they return the output that the `write_*` functions append.

/// Defines a `to_*` function for each `write_*` function, with the same errors.
macro_rules! returning {
    (@always, $out:ident, $written:expr) => {{
        $written;
        $out
    }};
    (@unless_failed, $out:ident, $written:expr) => {{
        $written?;
        Ok($out)
    }};
    ($($(#[$gate:meta])* $name:ident by $write:ident($($style:ident: $of:ty),+)
        -> $out:ident, $finish:ident -> $result:ty, $example:literal;)+) => {$(
        $(#[$gate])*
        #[doc = concat!("Returns what [`", stringify!($write), "`](crate::", stringify!($write), ") appends.")]
        ///
        /// ```
        /// use qr_core::*;
        ///
        /// let symbol = encode("https://example.com/", Level::M)?;
        #[doc = concat!("let picture = ", $example, ";")]
        /// assert!(!picture.is_empty());
        /// # Ok::<(), qr_core::Error>(())
        /// ```
        #[allow(clippy::missing_errors_doc, reason = "they are the writer's")]
        pub fn $name<'a>(modules: impl Into<crate::Modules<'a>>, $($style: $of),+) -> $result {
            let mut out = $out::new();
            returning!(@$finish, out, crate::$write(modules, $($style,)+ &mut out))
        }
    )+};
}

returning! {
    #[cfg(feature = "png-color")]
    to_palette_png by write_palette_png(raster: &crate::Raster, palette: &crate::Palette)
        -> Vec, unless_failed -> Result<Vec<u8>, crate::Error>,
        "to_palette_png(&symbol, &Raster::new(300), &Palette::new(Color::rgb(0, 51, 102), Color::WHITE))?";
    #[cfg(feature = "zopfli")]
    to_smallest_png by write_smallest_png(raster: &crate::Raster, palette: &crate::Palette)
        -> Vec, unless_failed -> Result<Vec<u8>, crate::Error>,
        "to_smallest_png(&symbol, &Raster::new(300), &Palette::new(Color::BLACK, Color::WHITE))?";
    #[cfg(feature = "pbm")]
    to_pbm by write_pbm(raster: &crate::Raster) -> Vec, unless_failed -> Result<Vec<u8>, crate::Error>,
        "to_pbm(&symbol, &Raster::new(300))?";
    #[cfg(feature = "svg")]
    to_svg by write_svg(svg: &crate::Svg<'_>) -> String, always -> String,
        "to_svg(&symbol, &Svg::default())";
    #[cfg(feature = "pdf")]
    to_pdf by write_pdf(print: &crate::Print<'_>) -> Vec, unless_failed -> Result<Vec<u8>, crate::Error>,
        "to_pdf(&symbol, &Print::default().width_mm(25.0))?";
    #[cfg(feature = "eps")]
    to_eps by write_eps(print: &crate::Print<'_>) -> String, unless_failed -> Result<String, crate::Error>,
        "to_eps(&symbol, &Print::default().width_mm(25.0))?";
    #[cfg(feature = "text")]
    to_half_blocks by write_half_blocks(style: &crate::TextStyle) -> String, always -> String,
        "to_half_blocks(&symbol, &TextStyle::default())";
    #[cfg(feature = "text")]
    to_ascii by write_ascii(style: &crate::TextStyle) -> String, always -> String,
        "to_ascii(&symbol, &TextStyle::default())";
}
