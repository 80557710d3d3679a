//! Text to PNG in one call.

use crate::encode::encode;
use crate::error::Error;
use crate::level::Level;
use crate::png::write_png;
use crate::raster::Raster;

/// Writes the PNG of `text` to `out`, replacing its content and reusing its capacity.
///
/// The service calls `generate(text, Level::L, &Raster::SERVICE, out)`, which succeeds for every text
/// of up to 512 bytes.
#[doc = example!(
    let mut png = b"what was there".to_vec();
    generate("https://example.com/", Level::L, &Raster::SERVICE, &mut png)?;
    assert!(png.starts_with(b"\x89PNG"));
)]
///
/// # Errors
/// [`Error::TooLong`] if version 40 does not hold the text, [`Error::SizeTooSmall`] or [`Error::SizeTooLarge`] if
/// the picture cannot have this size. `out` is then empty.
pub fn generate(text: &str, level: Level, raster: &Raster, out: &mut Vec<u8>) -> Result<(), Error> {
    out.clear();
    // By reference, because a symbol is large and moving it takes time.
    match &encode(text, level) {
        Ok(symbol) => write_png(symbol, raster, out),
        Err(error) => Err(*error),
    }
}
