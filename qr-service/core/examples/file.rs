//! Writes the QR code of a text to a file, in the format of the file's extension:
//!
//!     cargo run --example file --features formats -- https://example.com/ code.svg

use std::error::Error;
use std::{env, fs};

use qr_core::{
    Color, Level, Print, PrintColor, Raster, Svg, encode, to_eps, to_pdf, to_png, to_svg,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [text, path] = &arguments[..] else { return Err("give a text and a file".into()) };
    let symbol = encode(text, Level::M)?;
    // The same blue for screens in RGB and for print in CMYK.
    let svg = Svg::default().dark(Color::rgb(0, 51, 102));
    let print = Print::default().width_mm(30.0).dark(PrintColor::Cmyk([100, 70, 0, 30]));
    let file = match path.rsplit('.').next() {
        Some("png") => to_png(&symbol, &Raster::new(300))?,
        Some("svg") => to_svg(&symbol, &svg).into_bytes(),
        Some("pdf") => to_pdf(&symbol, &print)?,
        Some("eps") => to_eps(&symbol, &print)?.into_bytes(),
        _ => return Err("the file ends with .png, .svg, .pdf or .eps".into()),
    };
    Ok(fs::write(path, file)?)
}
