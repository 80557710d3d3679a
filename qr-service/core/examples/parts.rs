//! Divides a text that is too long for one code into several codes that scanners put together again (structured
//! append). Writes them as part-1.png, part-2.png and so on:
//!
//!     cargo run --example parts -- "$(cat letter.txt)"

use std::error::Error;
use std::{env, fs};

use qr_core::{Encoder, Level, Raster, to_png};

fn main() -> Result<(), Box<dyn Error>> {
    let text = env::args().nth(1).ok_or("give a text")?;
    // Phones still read version 15 from a sheet of paper.
    let symbols = Encoder::new(Level::M).versions(1..=15).encode_append(&text)?;
    for (index, symbol) in symbols.iter().enumerate() {
        let png = to_png(symbol, &Raster::of_scale(symbol, 6, 4))?;
        fs::write(format!("part-{}.png", index + 1), png)?;
    }
    Ok(())
}
