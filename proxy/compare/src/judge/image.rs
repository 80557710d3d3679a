//! The judge `image`: the pixels of two PNG files.
//!
//! Pixels are compared as 8-bit red, green, blue and alpha, whatever the files' colour types: grey and palettes become
//! RGBA, and only the upper 8 bits of 16-bit samples count. The colour of a fully transparent pixel is ignored. Colour
//! profiles and gamma are not applied, and only the default image of an animation is compared. JPEG and all other
//! formats are `undecodable`.

use std::io::Cursor;
use std::panic::catch_unwind;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::judge::difference::{DifferenceList, Kind};
use route::ImageSettings;

pub(crate) const KINDS: [Kind; 3] = [Kind::Undecodable, Kind::Size, Kind::Pixels];

/// The largest width and height. A picture of this size takes 64 MiB; nothing is allocated for a larger one.
const MAX_SIDE_PX: u32 = 4096;

/// How much two pictures may differ.
#[derive(Debug)]
pub(crate) struct Limits(ImageSettings);

struct Picture {
    width: u32,
    height: u32,
    /// Four bytes per pixel, row by row.
    rgba: Vec<u8>,
}

impl Limits {
    pub(crate) fn new(settings: &ImageSettings) -> anyhow::Result<Self> {
        let &ImageSettings { tolerance, share } = settings;
        ensure!(tolerance < 255, "tolerance = 255 would accept any pixel; at most 254 is allowed");
        ensure!((0.0..1.0).contains(&share), "share = {share} is not from 0 to below 1");
        Ok(Limits(settings.clone()))
    }

    pub(crate) fn compare(&self, old: &[u8], new: &[u8], found: &mut DifferenceList) {
        let Some((old, new)) = found.both(decode(old), decode(new)) else { return };
        if (old.width, old.height) != (new.width, new.height) {
            let shown = |picture: &Picture| format!("{} x {} px", picture.width, picture.height);
            let detail = format!("old {}, new {}", shown(&old), shown(&new));
            return found.whole(Kind::Size, detail);
        }
        self.compare_pixels(&old, &new, found);
    }

    fn compare_pixels(&self, old: &Picture, new: &Picture, found: &mut DifferenceList) {
        let Limits(ImageSettings { tolerance, share }) = self;
        let differs = |(old, new): (&[u8], &[u8])| {
            old.iter().zip(new).any(|(old, new)| old.abs_diff(*new) > *tolerance)
        };
        let pairs = old.rgba.chunks_exact(4).zip(new.rgba.chunks_exact(4));
        let total = pairs.len();
        let mut differing =
            pairs.enumerate().filter(|&(_, pair)| differs(pair)).map(|(index, _)| index);
        let Some(first) = differing.next() else { return };
        let count = 1 + differing.count();
        if count as f64 <= share * total as f64 {
            return;
        }
        let (width, at) = (old.width as usize, 4 * first..4 * first + 4);
        found.add(&Kind::Pixels, "", || {
            let place = format!("x {}, y {}", first % width, first / width);
            let detail = format!(
                "{count} of {total} pixels differ by more than {tolerance}, the first at {place}: old #{}, new #{}",
                hex::encode(&old.rgba[at.clone()]),
                hex::encode(&new.rgba[at])
            );
            (place, detail)
        });
    }
}

/// Width and height, or why the body cannot be read.
pub(crate) fn describe(body: &[u8]) -> Value {
    match decode(body) {
        Ok(picture) => json!({ "width": picture.width, "height": picture.height }),
        Err(why) => json!({ "undecodable": why }),
    }
}

fn decode(body: &[u8]) -> Result<Picture, String> {
    // The body is untrusted, and a panic of the decoder must not end the comparison.
    match catch_unwind(|| Picture::from_png(body)) {
        Ok(picture) => picture.map_err(|error| format!("{error:#}")),
        Err(_) => Err("the decoder panicked".to_owned()),
    }
}

impl Picture {
    fn from_png(body: &[u8]) -> anyhow::Result<Self> {
        if let Some(format) = other_format(body) {
            bail!("{format}, and only PNG is supported");
        }
        let mut decoder = png::Decoder::new(Cursor::new(body));
        decoder.set_transformations(
            png::Transformations::normalize_to_color8() | png::Transformations::ALPHA,
        );
        decoder.ignore_checksums(false);
        let mut reader = decoder.read_info().context("not a PNG")?;
        let (width, height) = reader.info().size();
        ensure!(
            width.max(height) <= MAX_SIDE_PX,
            "{width} x {height} px, larger than {MAX_SIDE_PX} x {MAX_SIDE_PX}"
        );
        let size = reader.output_buffer_size().context("the picture is too large")?;
        let mut buffer = vec![0; size];
        let frame = reader.next_frame(&mut buffer).context("a broken PNG")?;
        reader.finish().context("a broken PNG")?;
        buffer.truncate(frame.buffer_size());
        let mut rgba = match frame.color_type.samples() {
            4 => buffer,
            2 => buffer
                .chunks_exact(2)
                .flat_map(|pixel| {
                    let [grey, alpha] = [pixel[0], pixel[1]];
                    [grey, grey, grey, alpha]
                })
                .collect(),
            other => bail!("{other} samples per pixel"),
        };
        for invisible in rgba.chunks_exact_mut(4).filter(|pixel| pixel[3] == 0) {
            invisible.fill(0);
        }
        Ok(Picture { width, height, rgba })
    }
}

/// The name of a well-known format that is not PNG, from the first bytes.
fn other_format(body: &[u8]) -> Option<&'static str> {
    match body {
        [0xFF, 0xD8, 0xFF, ..] => Some("a JPEG"),
        [b'G', b'I', b'F', b'8', ..] => Some("a GIF"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("a WebP"),
        [_, _, _, _, b'f', b't', b'y', b'p', b'a', b'v', b'i', b'f', ..] => Some("an AVIF"),
        _ => None,
    }
}
