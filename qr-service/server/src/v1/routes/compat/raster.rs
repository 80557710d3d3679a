//! Raster pictures with sizes that `/v1/qr` does not offer: rectangles, and margins in pixels.

use image::codecs::gif::GifEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, GenericImageView, ImageFormat, Rgb};
use qr_core::{Color, Modules, Raster};

use crate::v1::options::Compression;
use crate::v1::picture::over_white;
use crate::v1::plan::Colors;
use crate::v1::symbol::AnySymbol;

/// From this quality on, the artefacts of a JPEG are invisible.
const JPEG_QUALITY: u8 = 92;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PixelFormat {
    Png,
    Gif,
    Jpeg,
}

impl PixelFormat {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            PixelFormat::Png => "image/png",
            PixelFormat::Gif => "image/gif",
            PixelFormat::Jpeg => "image/jpeg",
        }
    }
}

/// The size of a picture and the place of the symbol in it, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Pixels a side of a module.
    pub(super) scale: u32,
    pub(super) left: u32,
    pub(super) top: u32,
}

impl Placement {
    /// A symbol of `modules` a side in the middle of a picture.
    pub(super) fn centred((width, height): (u32, u32), scale: u32, modules: u32) -> Self {
        let middle = |side: u32| (side - modules * scale) / 2;
        Placement { width, height, scale, left: middle(width), top: middle(height) }
    }
}

/// Draws a symbol. Fails if an encoder fails, which is a defect.
pub(super) fn draw(
    symbol: &AnySymbol,
    place: Placement,
    colors: Colors,
    format: PixelFormat,
) -> Result<Vec<u8>, String> {
    let modules = symbol.modules();
    let canvas = Canvas { modules, place, dark: rgb(colors.dark), light: rgb(colors.light) };
    let mut out = Vec::with_capacity(4096);
    match format {
        PixelFormat::Png => match of_core(modules, place) {
            Some(raster) => {
                let written = symbol.write_png(&raster, colors, Compression::Fast, &mut out);
                written.map_err(|error| error.to_string())?;
            }
            None => canvas.write_png(colors, &mut out).map_err(|error| error.to_string())?,
        },
        PixelFormat::Gif => {
            return draw(symbol, place, colors, PixelFormat::Png)
                .and_then(|it| converted(it, format));
        }
        PixelFormat::Jpeg => {
            let mut encoder = JpegEncoder::new_with_quality(&mut out, JPEG_QUALITY);
            encoder.encode_image(&canvas).map_err(|error| error.to_string())?;
        }
    }
    Ok(out)
}

/// Converts a PNG to another format, over white. Fails if an encoder fails, which is a defect.
pub(super) fn converted(png: Vec<u8>, format: PixelFormat) -> Result<Vec<u8>, String> {
    if format == PixelFormat::Png {
        return Ok(png);
    }
    let read = image::load_from_memory_with_format(&png, ImageFormat::Png);
    let image = read.map_err(|error| error.to_string())?.into_rgba8();
    let (width, height) = image.dimensions();
    let color = |[red, green, blue, alpha]: [u8; 4]| rgb(Color { red, green, blue, alpha }).0;
    let pixels: Vec<u8> = image.pixels().flat_map(|pixel| color(pixel.0)).collect();
    encoded(&pixels, (width, height), format)
}

/// Encodes pixels of three bytes as a JPEG or GIF.
fn encoded(
    pixels: &[u8],
    (width, height): (u32, u32),
    format: PixelFormat,
) -> Result<Vec<u8>, String> {
    let (mut out, color) = (Vec::with_capacity(4096), ExtendedColorType::Rgb8);
    let written = match format {
        PixelFormat::Jpeg => JpegEncoder::new_with_quality(&mut out, JPEG_QUALITY)
            .encode(pixels, width, height, color),
        _ => GifEncoder::new(&mut out).encode(pixels, width, height, color),
    };
    written.map(|()| out).map_err(|error| error.to_string())
}

fn rgb(color: Color) -> Rgb<u8> {
    let color = over_white(color);
    Rgb([color.red, color.green, color.blue])
}

/// The same picture as a [`Raster`], because `qr_core`'s writer takes less time and makes fewer bytes; `None` if
/// a [`Raster`] cannot describe it.
fn of_core(modules: Modules<'_>, place: Placement) -> Option<Raster> {
    let width = modules.width() as u32;
    if place.width != place.height || place.left != place.top {
        return None;
    }
    let margin_modules = place.left / place.scale;
    let is_same = place.width / (width + 2 * margin_modules) == place.scale
        && place.left == (place.width - width * place.scale) / 2;
    is_same.then_some(Raster::new(place.width).margin_modules(margin_modules))
}

/// A picture whose pixels are computed when they are read, so they take no memory.
struct Canvas<'a> {
    modules: Modules<'a>,
    place: Placement,
    dark: Rgb<u8>,
    light: Rgb<u8>,
}

impl Canvas<'_> {
    fn is_dark(&self, x: u32, y: u32) -> bool {
        let Placement { left, top, scale, .. } = self.place;
        match (x.checked_sub(left), y.checked_sub(top)) {
            (Some(x), Some(y)) => self.modules.is_dark((x / scale) as usize, (y / scale) as usize),
            _ => false,
        }
    }

    /// Writes a PNG with a palette of two colours, one bit per pixel.
    fn write_png(&self, colors: Colors, out: &mut Vec<u8>) -> Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(out, self.place.width, self.place.height);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::One);
        let palette = [colors.light, colors.dark];
        encoder.set_palette(palette.map(|it| [it.red, it.green, it.blue]).concat());
        if palette.iter().any(|color| color.alpha < 255) {
            encoder.set_trns(palette.map(|color| color.alpha).to_vec());
        }
        let row_bytes = (self.place.width as usize).div_ceil(8);
        let mut bits = vec![0_u8; row_bytes * self.place.height as usize];
        for (y, row) in bits.chunks_mut(row_bytes).enumerate() {
            for x in (0..self.place.width).filter(|x| self.is_dark(*x, y as u32)) {
                row[(x / 8) as usize] |= 0x80 >> (x % 8);
            }
        }
        encoder.write_header()?.write_image_data(&bits)
    }
}

impl GenericImageView for Canvas<'_> {
    type Pixel = Rgb<u8>;

    fn dimensions(&self) -> (u32, u32) {
        (self.place.width, self.place.height)
    }

    fn get_pixel(&self, x: u32, y: u32) -> Rgb<u8> {
        if self.is_dark(x, y) { self.dark } else { self.light }
    }
}

/// The picture of an error: a cross, which no reader takes for a code.
pub(super) const CROSS: &[u8] = include_bytes!("cross.png");
