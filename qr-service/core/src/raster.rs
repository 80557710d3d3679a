//! Size and position of the modules in the picture, and lines of pixels.

use crate::error::Error;
use crate::modules::Modules;
use crate::symbol::ROW_WORDS;

/// Size and margin of a picture.
#[doc = example!(
    let raster = Raster::new(300);
    let mut png = Vec::new();
    write_png(&encode("text", Level::M)?, &raster, &mut png)?;
    assert_eq!(png[16..20], 300_u32.to_be_bytes());
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Raster {
    /// Width of the picture in pixels, and its height if the symbol is square.
    pub size_px: u32,
    /// Minimum width of the quiet zone on each side, in modules; the standard requires 4.
    pub margin_modules: u32,
}

/// Where a [`Raster`] puts a symbol of a given size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Pixels a side of the picture.
    pub(crate) size_px: usize,
    /// Pixels a side of a module.
    pub(crate) scale_px: usize,
    /// Light pixels to the left of the symbol and above it; an odd spare pixel goes right and below.
    pub(crate) offset_px: usize,
    /// Pixels a side of the symbol.
    pub(crate) symbol_px: usize,
}

impl Raster {
    /// The picture of the service's `GET /qrcode`: 200 px, a quiet zone of at least 4 modules.
    #[doc = example!(assert_eq!(Raster::SERVICE.size_px, 200))]
    pub const SERVICE: Raster = Raster::new(200);

    /// Maximum size of a picture, in pixels a side: 32 MB of pixels at one bit each.
    #[doc = example!(
        let raster = Raster::new(Raster::MAX_SIZE_PX + 1);
        assert!(write_png(&encode("text", Level::M)?, &raster, &mut Vec::new()).is_err());
    )]
    pub const MAX_SIZE_PX: u32 = 16384;

    /// A picture of this width, with the standard's quiet zone of 4 modules.
    #[doc = example!(assert_eq!(Raster::new(200), Raster::SERVICE))]
    pub const fn new(size_px: u32) -> Self {
        Raster { size_px, margin_modules: 4 }
    }

    setters! {
        margin_modules: u32 = "Raster::new(300).margin_modules(2)",
    }

    /// The picture with `scale_px` pixels per module and no spare pixels.
    #[doc = example!(symbol:
        assert_eq!(Raster::of_scale(&symbol, 10, 4).size_px, 10 * (21 + 2 * 4));
    )]
    pub fn of_scale<'a>(
        modules: impl Into<Modules<'a>>,
        scale_px: u32,
        margin_modules: u32,
    ) -> Self {
        let modules =
            (modules.into().width() as u32).saturating_add(margin_modules.saturating_mul(2));
        Raster { size_px: modules.saturating_mul(scale_px), margin_modules }
    }

    /// Centres the symbol, with the largest whole number of pixels per module that fits.
    pub(crate) fn layout(&self, modules: usize) -> Result<Layout, Error> {
        if self.size_px > Self::MAX_SIZE_PX {
            let (size_px, most_px) = (self.size_px, Self::MAX_SIZE_PX);
            return Err(Error::SizeTooLarge { size_px, most_px });
        }
        let least = modules as u64 + 2 * u64::from(self.margin_modules);
        let scale_px = (u64::from(self.size_px) / least) as usize;
        if scale_px == 0 {
            return Err(Error::SizeTooSmall { least_px: u32::try_from(least).unwrap_or(u32::MAX) });
        }
        Ok(Layout::centred(self.size_px as usize, scale_px, modules))
    }
}

impl Layout {
    /// A symbol of `modules` modules a side in the middle of the picture.
    pub(crate) const fn centred(size_px: usize, scale_px: usize, modules: usize) -> Self {
        let symbol_px = modules * scale_px;
        Layout { size_px, scale_px, offset_px: (size_px - symbol_px) / 2, symbol_px }
    }

    /// Height of the picture of a symbol with `rows` rows: the margin is the same on all sides.
    #[cfg(any(feature = "pbm", feature = "png-color"))]
    pub(crate) fn height_px(&self, rows: usize) -> usize {
        rows * self.scale_px + self.size_px - self.symbol_px
    }

    /// Bytes of a line with its filter type.
    pub(crate) const fn line_len(&self) -> usize {
        1 + self.size_px.div_ceil(8)
    }

    /// Numbers of equal bytes at the beginning, with the filter type, and at the end of the lines of two rows.
    #[inline(always)]
    pub(crate) fn equal_bytes(&self, a: &[u64; ROW_WORDS], b: &[u64; ROW_WORDS]) -> (usize, usize) {
        let differing = [a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2]];
        let first = match differing {
            [0, 0, 0] => return (self.line_len(), self.line_len()),
            [0, 0, word] => 128 + word.trailing_zeros(),
            [0, word, _] => 64 + word.trailing_zeros(),
            [word, ..] => word.trailing_zeros(),
        } as usize;
        let after = match differing {
            [word, 0, 0] => 64 - word.leading_zeros(),
            [_, word, 0] => 128 - word.leading_zeros(),
            [.., word] => 192 - word.leading_zeros(),
        } as usize;
        let last_px = self.offset_px + after * self.scale_px - 1;
        (1 + (self.offset_px + first * self.scale_px) / 8, self.line_len() - 2 - last_px / 8)
    }
}

/// Scales from 1 to this are drawn from the table below. Larger ones are rare and drawn module by module.
const TABLED_SCALES: usize = 7;

/// Pixels of 8 modules by scale and modules: light is 1, the leftmost pixel is the most significant bit.
static PIXELS: [[u64; 256]; TABLED_SCALES] = {
    let mut table = [[0; 256]; TABLED_SCALES];
    let mut scale = 1;
    while scale <= TABLED_SCALES {
        let mut modules = 0;
        while modules < 256 {
            let mut k = 0;
            while k < 8 {
                if modules >> k & 1 == 0 {
                    table[scale - 1][modules] |= (!0 << (64 - scale)) >> (k * scale);
                }
                k += 1;
            }
            modules += 1;
        }
        scale += 1;
    }
    table
};

/// One byte of pixels for each of 8 modules, all at once; the first module is the least significant byte.
fn bytes_of(modules: u8) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // Module k becomes bit k of byte k, and then all bits of that byte.
    let apart = (u64::from(modules) * EACH) & 0x8040_2010_0804_0201;
    let carried = apart + 0x0040_6070_787c_7e7f;
    !((carried >> 7 & EACH) * 0xff)
}

/// A line of pixels as PNG stores it: filter type 0, then the pixels, the leftmost in the most significant
/// bit, light 1. `S` must exceed the line's bytes by at least 14, because 8 modules are drawn at a time. The
/// bytes after the line are always light.
pub(crate) struct Line<const S: usize> {
    bytes: [u8; S],
    len: usize,
}

impl<const S: usize> Line<S> {
    /// A line of light pixels.
    pub(crate) fn light(layout: &Layout) -> Self {
        let mut bytes = [0xff; S];
        bytes[0] = 0;
        Line { bytes, len: layout.line_len() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The line and the rest of its buffer.
    pub(crate) fn buffer(&self) -> &[u8; S] {
        &self.bytes
    }

    /// Draws `size` modules of a row of a symbol over the former content.
    #[inline(never)]
    pub(crate) fn draw(&mut self, row: &[u64; ROW_WORDS], size: usize, layout: &Layout) {
        match PIXELS.get(layout.scale_px - 1) {
            Some(pixels) => self.draw_tabled(row, size, layout, pixels),
            None if layout.scale_px == 8 => self.draw_bytes(row, size, layout),
            None => self.draw_modules(row, size, layout),
        }
    }

    /// Eight modules of `s` pixels fill `s` bytes, so each group of eight begins at the same bit.
    #[inline(always)]
    fn draw_tabled(
        &mut self,
        row: &[u64; ROW_WORDS],
        size: usize,
        layout: &Layout,
        pixels: &[u64; 256],
    ) {
        let shift = layout.offset_px % 8;
        let mut at = 1 + layout.offset_px / 8;
        // The pixels that do not fill a byte yet, in the most significant bits.
        let mut left = !(!0 >> shift);
        let mut todo = size.div_ceil(8);
        for word in row {
            let mut modules = *word;
            let groups = todo.min(8);
            todo -= groups;
            for _ in 0..groups {
                let drawn = left | pixels[(modules & 0xff) as usize] >> shift;
                self.bytes[at..at + 8].copy_from_slice(&drawn.to_be_bytes());
                left = drawn << (8 * layout.scale_px);
                at += layout.scale_px;
                modules >>= 8;
            }
        }
        self.bytes[at..at + 8].copy_from_slice(&(left | !0 >> shift).to_be_bytes());
    }

    /// Draws modules of 8 pixels.
    #[inline(never)]
    fn draw_bytes(&mut self, row: &[u64; ROW_WORDS], size: usize, layout: &Layout) {
        let shift = layout.offset_px % 8;
        let groups = row.iter().flat_map(|word| word.to_le_bytes()).take(size / 8 + 1);
        let bytes = self.bytes[1 + layout.offset_px / 8..].chunks_mut(8);
        let mut left = u64::MAX;
        for (bytes, modules) in bytes.zip(groups) {
            let pixels = bytes_of(modules).swap_bytes();
            // The pixels of two groups side by side, those before the shift first.
            let drawn = ((u128::from(left) << 64 | u128::from(pixels)) >> shift) as u64;
            bytes.copy_from_slice(&drawn.to_be_bytes()[..bytes.len()]);
            left = pixels;
        }
    }

    /// Draws runs of dark modules at any scale.
    #[inline(never)]
    fn draw_modules(&mut self, row: &[u64; ROW_WORDS], size: usize, layout: &Layout) {
        self.bytes[1..self.len].fill(0xff);
        let is_dark = |x: usize| x < size && row[x / 64] >> (x % 64) & 1 == 1;
        let mut x = 0;
        while x < size {
            let start = x;
            while is_dark(x) {
                x += 1;
            }
            let px = |x: usize| 8 + layout.offset_px + x * layout.scale_px;
            if start < x {
                self.clear(px(start), px(x));
            }
            x += 1;
        }
    }

    /// Darkens the pixels from `start` to before `end`, at least one. Pixels are counted from the filter type's
    /// first bit.
    fn clear(&mut self, start: usize, end: usize) {
        let (first, last) = (start / 8, (end - 1) / 8);
        let (head, tail) = (0xff_u8 >> (start % 8), !(0x7f_u8 >> ((end - 1) % 8)));
        if first == last {
            self.bytes[first] &= !(head & tail);
            return;
        }
        self.bytes[first] &= !head;
        self.bytes[first + 1..last].fill(0);
        self.bytes[last] &= !tail;
    }
}
