//! Text to symbol.

use crate::codewords::{interleave, write_codewords};
use crate::error::Error;
use crate::level::Level;
use crate::matrix::{self, APART, Sizes, Word};
use crate::segment::{
    CONTINUES, Choices, RANGES, Segmentation, is_best_as_bytes, least_bits, segment,
};
use crate::symbol::{MAX_SIZE, Matrix, ROW_WORDS, Symbol};
use crate::version::{MAX_TEXT_BYTES, blocks, data_codewords, size_of};

/// The error for a text that no version holds. Kept out of line, so that texts that fit do not pay for it.
#[cold]
#[inline(never)]
fn too_long(text: &[u8], level: Level) -> Error {
    let range = RANGES.len() - 1;
    let available_bits = 8 * data_codewords(RANGES[range].1, level) as u64;
    Error::TooLong { needed_bits: least_bits(text, range), available_bits, smallest_version: None }
}

/// Draws a message with buffers for all versions up to `$version`, in lines of `$word`, and `$more` lines.
macro_rules! draw_up_to {
    ($version:literal, $word:ty, $message:expr, $more:expr) => {{
        const S: Sizes = Sizes::up_to($version, <$word as Word>::BITS as u32);
        $message.draw::<$word, { S.words }, { S.lines + $more }, { S.codewords + 2 * $more }>()
    }};
}

/// Encodes `text` (ISO/IEC 18004) in the smallest version that holds it at `level`. Does not raise the
/// level if there is room. Uses numeric, alphanumeric and byte segments (UTF-8, no ECI) and the
/// mask with the lowest penalty. An empty text gives a symbol without segments.
///
/// ```
/// use qr_core::{Error, Level, encode};
///
/// let symbol = encode("https://example.com/", Level::M)?;
/// assert_eq!((symbol.version(), symbol.size()), (2, 25));
///
/// let Err(Error::TooLong { needed_bits, available_bits, .. }) =
///     encode(&"a".repeat(2954), Level::L)
/// else {
///     panic!("version 40 has no room for it");
/// };
/// assert_eq!((needed_bits, available_bits), (23652, 23648));
/// # Ok::<(), qr_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::TooLong`] if version 40 does not hold the text.
pub fn encode(text: &str, level: Level) -> Result<Symbol, Error> {
    let text = text.as_bytes();
    let fits =
        |range: usize, bits: u32| bits as usize <= 8 * data_codewords(RANGES[range].1, level);
    // Clearing both buffers takes a tenth of the time of a small symbol, so only the one in use is cleared.
    let (mut short, mut long): ([u8; 512], [u8; MAX_TEXT_BYTES]);
    let choices: Option<&mut Choices> = if is_best_as_bytes(text) {
        None
    } else if text.len() <= 512 {
        short = [CONTINUES; 512];
        Some(&mut short)
    } else {
        long = [CONTINUES; MAX_TEXT_BYTES];
        Some(&mut long)
    };
    let Some((range, split)) = segment(text, choices, fits) else {
        return Err(too_long(text, level));
    };
    let (low, high) = RANGES[range];
    let version =
        (low..high).find(|&v| split.bits as usize <= 8 * data_codewords(v, level)).unwrap_or(high);
    let message = Message { text, split: &split, range, version, level };
    // Lines of these versions take one `u32`, or one, two or three `u64`.
    Ok(match version {
        1..=3 => draw_up_to!(3, u32, message, 0),
        4..=11 => draw_up_to!(11, u64, message, 0),
        12..=15 => draw_up_to!(15, u64, message, 0),
        16..=27 => draw_up_to!(27, u64, message, 0),
        _ => draw_up_to!(40, u64, message, 0),
    })
}

/// A text, its split, and the version and level that hold it.
struct Message<'a> {
    text: &'a [u8],
    split: &'a Segmentation<'a>,
    range: usize,
    version: u8,
    level: Level,
}

impl Message<'_> {
    /// Draws the symbol with buffers of these [`Sizes`].
    fn draw<T: Word, const WORDS: usize, const LINES: usize, const CODEWORDS: usize>(
        &self,
    ) -> Symbol {
        let mut codewords = [0; CODEWORDS];
        write_codewords(
            self.text,
            self.split,
            self.range,
            (self.version, self.level),
            &mut codewords,
        );
        draw_codewords::<T, WORDS, LINES, CODEWORDS>(self.version, self.level, &codewords, None)
    }
}

/// Draws the symbol of these codewords with `mask`, or with the mask of the lowest penalty if it is `None`.
// Inlined, so that the compiler removes the option from `encode`.
#[inline(always)]
fn draw_codewords<T: Word, const WORDS: usize, const LINES: usize, const CODEWORDS: usize>(
    version: u8,
    level: Level,
    codewords: &[u8; CODEWORDS],
    mask: Option<u8>,
) -> Symbol {
    let (lines, mask) = matrix::draw::<T, WORDS, LINES, CODEWORDS>(version, level, codewords, mask);
    let size = size_of(version);
    let beyond = !(!0 << (size % 64));
    let matrix = if WORDS * T::BITS <= 64 {
        let row = |y: usize| if y < size { lines[y][0].to_u64() & beyond } else { 0 };
        Matrix::OneWord(std::array::from_fn(row))
    } else {
        let mut rows = [[0; ROW_WORDS]; MAX_SIZE];
        for (row, line) in rows.iter_mut().zip(&lines).take(size) {
            for (word, part) in row.iter_mut().zip(line) {
                *word = part.to_u64();
            }
            row[size / 64] &= beyond;
        }
        Matrix::ThreeWords(rows)
    };
    Symbol { version, level, mask, matrix }
}

/// The data codewords of a symbol. Their number must be exactly what the version holds at the level.
pub(crate) struct DataCodewords<'a> {
    pub(crate) version: u8,
    pub(crate) level: Level,
    /// 0 to 7; `None` chooses the mask with the lowest penalty.
    pub(crate) mask: Option<u8>,
    pub(crate) data: &'a [u8],
}

impl DataCodewords<'_> {
    /// Adds error correction and draws the symbol.
    pub(crate) fn to_symbol(&self) -> Symbol {
        match self.version {
            1..=3 => draw_up_to!(3, u32, self, APART),
            4..=11 => draw_up_to!(11, u64, self, APART),
            12..=27 => draw_up_to!(27, u64, self, APART),
            _ => draw_up_to!(40, u64, self, APART),
        }
    }

    /// Draws the symbol with buffers of these [`Sizes`].
    #[inline(never)]
    fn draw<T: Word, const WORDS: usize, const LINES: usize, const CODEWORDS: usize>(
        &self,
    ) -> Symbol {
        let mut codewords = [0; CODEWORDS];
        interleave(self.data, blocks(self.version, self.level), &mut codewords);
        let (version, level) = (self.version, self.level);
        draw_codewords::<T, WORDS, LINES, CODEWORDS>(version, level, &codewords, self.mask)
    }
}
