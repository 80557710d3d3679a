//! Draws pictures with `qr-core` alone, so that the tests can compare them with the addon's.
//!
//! Each line of standard input is `SIZE MARGIN LEVEL TEXT`, the text as hexadecimal UTF-8. Each
//! line of standard output is a PNG, also hexadecimal.

use std::error::Error;
use std::fmt::Write as _;
use std::io::stdin;

use qr_core::{Raster, generate};

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
    let text = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16));
    let text = String::from_utf8(text.collect::<Result<_, _>>()?)?;
    let raster = Raster::new(size.parse()?).margin_modules(margin.parse()?);
    let mut png = Vec::new();
    generate(&text, level.parse()?, &raster, &mut png)?;
    Ok(png.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}
