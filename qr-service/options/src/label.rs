//! Commands for label printers, with modules of whole dots: ZPL II and EPL2.

use qr_core::Modules;

use crate::fault::{Code, Fault};
use crate::options::{Format, MAX_SIZE_PX};
use crate::place::Length;

/// The most bytes of a graphic field that every ZPL printer accepts. Larger pictures take several fields.
const MAX_FIELD: usize = 99_999;

/// The size of a symbol on a label printer.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub struct Dots {
    /// Dots per inch of the printer.
    pub dpi: u32,
    /// The most millimetres of the symbol with its quiet zone.
    pub width: Length,
    /// Dots per module instead.
    pub scale: Option<u32>,
}

impl Dots {
    /// Dots per module of a symbol that is `modules` wide with its quiet zone.
    pub fn per_module(self, modules: u32) -> u32 {
        let dots = self.width.0 / 25.4 * f64::from(self.dpi);
        self.scale.unwrap_or((dots / f64::from(modules)) as u32)
    }

    fn checked(self, modules: u32) -> Result<usize, Fault> {
        let mm = |dots: u32| f64::from(dots * modules) / f64::from(self.dpi) * 25.4;
        let (dots, most) = (self.per_module(modules), MAX_SIZE_PX / modules);
        let fault = |detail: String| {
            Fault::new(if self.scale.is_some() { "scale" } else { "width_mm" }, Code::Size, detail)
        };
        match dots {
            0 => {
                let detail = format!("a module would be less than a dot of {} dpi", self.dpi);
                Err(fault(detail).at_least((mm(1) * 10.0).ceil() / 10.0))
            }
            dots if dots > most => {
                let detail =
                    format!("it would be {} dots wide, above {MAX_SIZE_PX}", dots * modules);
                let limit = mm(most).floor();
                Err(fault(detail).at_most(if self.scale.is_some() {
                    f64::from(most)
                } else {
                    limit
                }))
            }
            dots => Ok(dots as usize),
        }
    }
}

/// Writes a label with the symbol and its quiet zone at the upper left, in ZPL or else in EPL.
///
/// # Errors
/// If a module would be less than a dot, or the picture too wide.
pub(crate) fn write_label(
    modules: Modules<'_>,
    margin: u32,
    dots: Dots,
    format: Format,
) -> Result<Vec<u8>, Fault> {
    let dots = dots.checked(modules.width() as u32 + 2 * margin)?;
    let margin = margin as usize;
    let (width, height) = (modules.width() + 2 * margin, modules.height() + 2 * margin);
    let row_bytes = (width * dots).div_ceil(8);
    // Eight dots in a byte, the first in the highest bit; 1 is black.
    let row = |y: usize| {
        let mut row = vec![0_u8; row_bytes];
        for dot in 0..width * dots {
            let x = (dot / dots).wrapping_sub(margin);
            row[dot / 8] |= u8::from(modules.is_dark(x, y.wrapping_sub(margin))) << (7 - dot % 8);
        }
        row
    };
    let rows: Vec<Vec<u8>> = (0..height).map(row).collect();
    let rows: Vec<&[u8]> = rows.iter().flat_map(|row| std::iter::repeat_n(&**row, dots)).collect();
    Ok(if format == Format::Zpl { zpl(&rows, row_bytes) } else { epl(&rows, row_bytes) })
}

/// Hexadecimal digits, where a comma stands for zeros up to the end of a row and a colon for the row above.
fn zpl(rows: &[&[u8]], row_bytes: usize) -> Vec<u8> {
    let mut label = "^XA\n".to_owned();
    let most = MAX_FIELD / row_bytes;
    for (index, field) in rows.chunks(most).enumerate() {
        let (top, bytes) = (index * most, field.len() * row_bytes);
        label += &format!("^FO0,{top}^GFA,{bytes},{bytes},{row_bytes},");
        for (y, row) in field.iter().enumerate() {
            if y > 0 && field[y - 1] == *row {
                label.push(':');
                continue;
            }
            let end = row.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            row[..end].iter().for_each(|byte| label += &format!("{byte:02X}"));
            label += if end < row_bytes { "," } else { "" };
        }
        label += "^FS\n";
    }
    (label + "^XZ\n").into_bytes()
}

/// Bytes in which 0 is black.
fn epl(rows: &[&[u8]], row_bytes: usize) -> Vec<u8> {
    let mut label = format!("\nN\nGW0,0,{row_bytes},{},", rows.len()).into_bytes();
    rows.iter().for_each(|row| label.extend(row.iter().map(|byte| !byte)));
    label.extend_from_slice(b"\nP1\n");
    label
}
