//! The pictures that `qr-core` itself makes, for the tests to compare with the addon's.
//!
//! A line of standard input is `SIZE MARGIN LEVEL TEXT`, the text as hexadecimal UTF-8; a line of
//! standard output is the PNG, as hexadecimal too.

use std::error::Error;
use std::fmt::Write as _;
use std::io::stdin;

use qr_core::{Level, Raster, encode, write_png};

fn main() -> Result<(), Box<dyn Error>> {
    for line in stdin().lines() {
        println!("{}", draw(&line?)?);
    }
    Ok(())
}

fn draw(line: &str) -> Result<String, Box<dyn Error>> {
    let parts: Vec<&str> = line.split(' ').collect();
    let [size, margin, level, text] = parts[..] else {
        return Err(format!("not a request: {line:?}").into());
    };
    let level = match level {
        "L" => Level::L,
        "M" => Level::M,
        "Q" => Level::Q,
        "H" => Level::H,
        _ => return Err(format!("not a level: {level:?}").into()),
    };
    let text = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16));
    let text = String::from_utf8(text.collect::<Result<_, _>>()?)?;
    let raster = Raster { size_px: size.parse()?, margin_modules: margin.parse()? };
    let mut png = Vec::new();
    write_png(&encode(&text, level)?, &raster, &mut png)?;
    Ok(png.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}
