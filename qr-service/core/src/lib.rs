//! Encodes text or bytes as a QR symbol and draws the symbol as PNG, SVG, PDF, EPS, PBM or text.
//!
//! [`generate`] makes a PNG in one call. Its stages can be called separately: [`encode`] turns
//! the text into a [`Symbol`] (ISO/IEC 18004), a [`Raster`] sets the size of the picture and the
//! quiet zone, and [`write_png`] writes the file (RFC 2083). [`Encoder`] encodes with options. Further
//! formats and Kanji mode are features.
//!
//! Functions that write a format append to the caller's buffer, and leave it unchanged if they fail; [`generate`]
//! replaces the content. Most `write_*` functions have a `to_*` variant that returns the output. [`Error`] is the only
//! error type. `size_px` is a picture's width in pixels with the quiet zone, `width_mm` its width in print.
//!
//! No I/O, no logging, no global state, no `unsafe`.

#[cfg(all(doctest, feature = "formats"))]
#[doc = include_str!("../README.md")]
mod readme {}

#[macro_use]
mod setters;

mod bits;
mod codewords;
#[cfg(any(feature = "png-color", feature = "svg"))]
mod color;
mod damage;
mod encode;
mod encoder;
mod error;
mod generate;
#[cfg(any(feature = "eps", feature = "pdf", feature = "svg"))]
mod helvetica;
mod level;
mod matrix;
#[cfg(feature = "micro")]
mod micro;
mod modes;
mod modules;
#[cfg(feature = "pbm")]
mod pbm;
mod png;
mod raster;
#[cfg(feature = "read")]
mod read;
mod reed_solomon;
mod returning;
#[cfg(feature = "rmqr")]
mod rmqr;
mod segment;
mod symbol;
#[cfg(feature = "text")]
mod text;
#[cfg(any(feature = "eps", feature = "pdf", feature = "svg"))]
mod vector;
mod version;

/// The version of the bytes that [`generate`] and [`write_png`] write. While it stays the same, the same text, level
/// and raster give the same bytes, so caches and entity tags can rely on it. `tests/output.rs` fails if the bytes
/// change and the version does not.
///
/// ```
/// let entity_tag = format!("\"{}-{}\"", qr_core::OUTPUT_VERSION, "hash of text, level and raster");
/// assert!(entity_tag.len() > 2);
/// ```
pub const OUTPUT_VERSION: u32 = 1;

#[cfg(any(feature = "png-color", feature = "svg"))]
pub use color::Color;
pub use damage::BlockDamage;
pub use encode::encode;
#[cfg(feature = "micro")]
pub use encoder::MicroEncoder;
#[cfg(feature = "read")]
pub use encoder::Part;
#[cfg(feature = "rmqr")]
pub use encoder::RmqrEncoder;
pub use encoder::{Data, Encoder, Fnc1};
pub use error::Error;
pub use generate::generate;
#[cfg(any(feature = "eps", feature = "pdf", feature = "svg"))]
pub use helvetica::Helvetica;
pub use level::Level;
#[cfg(feature = "micro")]
pub use micro::MicroSymbol;
pub use modes::{ECI_UTF_8, Modes};
pub use modules::{Modules, Row};
#[cfg(feature = "pbm")]
pub use pbm::write_pbm;
#[cfg(feature = "zopfli")]
pub use png::write_smallest_png;
#[cfg(feature = "png-color")]
pub use png::{Palette, write_palette_png};
pub use png::{to_png, write_png};
pub use raster::Raster;
#[cfg(feature = "read")]
pub use read::{Content, ReadSymbol, SymbolKind, read};
#[allow(unused_imports, unreachable_pub, reason = "empty without a feature")]
pub use returning::*;
#[cfg(feature = "rmqr")]
pub use rmqr::RmqrSymbol;
pub use symbol::Symbol;
#[cfg(feature = "text")]
pub use text::{Ink, TextStyle, write_ascii, write_half_blocks};
#[cfg(feature = "eps")]
pub use vector::write_eps;
#[cfg(any(feature = "eps", feature = "pdf"))]
pub use vector::{Overlay, Print, PrintColor, Step};
#[cfg(feature = "svg")]
pub use vector::{Svg, write_svg};
#[cfg(feature = "pdf")]
pub use vector::{write_pdf, write_pdf_path};
pub use version::{MAX_SYMBOLS, MAX_TEXT_BYTES};
