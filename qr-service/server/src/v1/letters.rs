//! Draws a caption as pixels below a PNG.

use std::io::{Cursor, Write};

use ab_glyph::{Font, FontRef, Glyph, PxScale, PxScaleFont, ScaleFont, point};
use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Transformations};
use qr_core::Color;

use crate::v1::artwork::over;
use crate::v1::caption::wrapped;
use crate::v1::fault::{Code, Fault};

/// A CSS pixel in points.
const POINTS: f32 = 0.75;
/// As multiples of the font size: the height of a line, and the free space above the first line, below the last one and
/// at the sides.
const LINE: f32 = 1.25;
const FREE: f32 = 0.5;

/// Words to draw below a picture.
pub(crate) struct Letters {
    words: String,
    color: Color,
    font: PxScaleFont<FontRef<'static>>,
    size_px: f32,
}

impl Letters {
    /// A caption with a font size in CSS pixels. Fails if the font lacks one of its characters.
    pub(crate) fn new(words: &str, size_px: f32, color: Color) -> Result<Self, Fault> {
        let font = FontRef::try_from_slice(epaint_default_fonts::UBUNTU_LIGHT);
        let font = font.map_err(|error| failed(&error))?;
        let is_unknown = |c: &char| !c.is_whitespace() && font.glyph_id(*c).0 == 0;
        if let Some(unknown) = words.chars().find(is_unknown) {
            let detail = format!("the font has no U+{:04X}", u32::from(unknown));
            return Err(Fault::new("caption", Code::NotAllowed, detail));
        }
        let scale = font.pt_to_px_scale(size_px * POINTS).unwrap_or(PxScale::from(size_px));
        Ok(Letters { words: words.to_owned(), color, font: font.into_scaled(scale), size_px })
    }

    /// A caption in one line below a picture of this width. The font size is a sixteenth of the width, or smaller if
    /// the caption is long. Fails as [`Letters::new`] does.
    pub(crate) fn line(words: &str, width_px: f32, color: Color) -> Result<Self, Fault> {
        let in_sizes = Letters::new(words, 1.0, color)?.width(words) + 2.0 * FREE;
        Letters::new(words, (width_px / 16.0).min(0.98 * width_px / in_sizes), color)
    }

    /// Adds the caption to a PNG, `quiet_px` below the picture. `behind` is the colour of a pixel behind it, given its
    /// column, its row below the picture, and the number of these rows. Fails if a word is wider than the picture, or
    /// the caption is higher than the picture is wide.
    pub(crate) fn below(
        &self,
        png: &[u8],
        behind: impl Fn(usize, usize, usize) -> Color,
        quiet_px: u32,
    ) -> Result<Vec<u8>, Fault> {
        let mut decoder = Decoder::new(Cursor::new(png));
        decoder.set_transformations(Transformations::EXPAND | Transformations::ALPHA);
        let mut reader = decoder.read_info().map_err(|error| failed(&error))?;
        let (width, height) = reader.info().size();
        let strip = self.strip(width, quiet_px)?;
        let mut file = Vec::with_capacity(png.len() + 4096);
        let mut encoder = Encoder::new(&mut file, width, height + strip.height());
        encoder.set_color(ColorType::Rgba);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::Balanced);
        let mut writer = encoder.write_header().map_err(|error| failed(&error))?;
        // Row by row, because the largest picture as a whole would take 36 MB.
        let mut stream = writer.stream_writer().map_err(|error| failed(&error))?;
        let mut line = Vec::with_capacity(4 * width as usize);
        while let Some(row) = reader.next_row().map_err(|error| failed(&error))? {
            line.clear();
            if row.data().len() == 2 * width as usize {
                let greys = row.data().as_chunks().0.iter();
                line.extend(greys.flat_map(|&[grey, alpha]| [grey, grey, grey, alpha]));
            } else {
                line.extend_from_slice(row.data());
            }
            stream.write_all(&line).map_err(|error| failed(&error))?;
        }
        for (y, row) in strip.coverage.chunks(width as usize).enumerate() {
            line.clear();
            for (x, covered) in row.iter().enumerate() {
                let light = behind(x, y, strip.height() as usize);
                let alpha = ((u32::from(self.color.alpha) * u32::from(*covered) + 127) / 255) as u8;
                let Color { red, green, blue, alpha } = over(Color { alpha, ..self.color }, light);
                line.extend([red, green, blue, alpha]);
            }
            stream.write_all(&line).map_err(|error| failed(&error))?;
        }
        stream.finish().map_err(|error| failed(&error))?;
        drop(writer);
        Ok(file)
    }

    /// The pixels below a picture of this width.
    fn strip(&self, width: u32, quiet_px: u32) -> Result<Strip, Fault> {
        let free = FREE * self.size_px;
        let lines = self.lines(width as f32 - 2.0 * free)?;
        let above = quiet_px as f32 + free;
        let height = (above + LINE * self.size_px * lines.len() as f32 + free).ceil();
        if height > width as f32 {
            let detail = "it would be higher than the picture; use a smaller captionFontSize";
            return Err(Fault::new("caption", Code::TooLong, detail));
        }
        let width = width as usize;
        let mut strip = Strip { width, coverage: vec![0; width * height as usize] };
        for (i, words) in lines.iter().enumerate() {
            let left = (width as f32 - self.width(words)) / 2.0;
            let middle = above + LINE * self.size_px * (i as f32 + 0.5);
            let base = middle + (self.font.ascent() + self.font.descent()) / 2.0;
            self.glyphs(words, |mut glyph, x| {
                glyph.position = point(left + x, base);
                strip.draw(&self.font, glyph);
            });
        }
        Ok(strip)
    }

    /// Breaks the words into lines of at most `room` pixels. Fails if a word is wider.
    fn lines(&self, room: f32) -> Result<Vec<String>, Fault> {
        let of = |words: &str| wrapped(words.split_whitespace(), |line| self.width(line) <= room);
        let lines: Vec<String> = self.words.lines().flat_map(of).collect();
        let Some(word) = lines.iter().find(|line| self.width(line) > room) else {
            return Ok(lines);
        };
        let detail = format!(
            "{word:?} needs {:.0} pixels of {:.0}; use a larger size or a smaller captionFontSize",
            self.width(word),
            room.max(0.0)
        );
        Err(Fault::new("caption", Code::TooLong, detail))
    }

    /// Calls `each` with every glyph of a line and its distance from the start of the line; returns the line's width.
    fn glyphs(&self, line: &str, mut each: impl FnMut(Glyph, f32)) -> f32 {
        let (mut x, mut last) = (0.0, None);
        for c in line.chars() {
            let glyph = self.font.scaled_glyph(c);
            let id = glyph.id;
            x += last.map_or(0.0, |last| self.font.kern(last, id));
            each(glyph, x);
            x += self.font.h_advance(id);
            last = Some(id);
        }
        x
    }

    fn width(&self, line: &str) -> f32 {
        self.glyphs(line, |_, _| ())
    }
}

/// The fault of an error that only a defect of the service can cause.
fn failed(error: &dyn std::fmt::Display) -> Fault {
    Fault::new("caption", Code::NotAllowed, error.to_string())
}

/// Rows of pixels. Each value is how much of the pixel the words cover, from 0 to 255.
struct Strip {
    width: usize,
    coverage: Vec<u8>,
}

impl Strip {
    fn height(&self) -> u32 {
        (self.coverage.len() / self.width) as u32
    }

    fn draw(&mut self, font: &PxScaleFont<FontRef<'_>>, glyph: Glyph) {
        let Some(outline) = font.outline_glyph(glyph) else { return };
        let origin = outline.px_bounds().min;
        outline.draw(|x, y, covered| {
            let (x, y) = (origin.x + x as f32, origin.y + y as f32);
            if x >= 0.0 && y >= 0.0 && (x as usize) < self.width {
                let pixel = self.coverage.get_mut(y as usize * self.width + x as usize);
                let covered = (covered * 255.0).round() as u8;
                pixel.into_iter().for_each(|pixel| *pixel = pixel.saturating_add(covered));
            }
        });
    }
}
