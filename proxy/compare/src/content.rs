//! The body of an answer: limited in length, decoded, and kept only if it is short or the judge needs it.

use std::io::ErrorKind::FileTooLarge;
use std::io::{self, Read, Write};
use std::time::Duration;

use crate::judge::Digest;
use brotli_decompressor::Decompressor;
use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use ruzstd::decoding::StreamingDecoder;

/// The longest body that is kept even if the judge does not need it, so that a difference can be located exactly.
const KEPT_BYTES: u64 = 1 << 20;
/// The largest zstd window that recipients must support (RFC 9659).
const MAX_WINDOW_BYTES: u64 = 8 << 20;
const BROTLI_BUFFER_BYTES: usize = 4096;

/// The limits of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Longest wait for the whole answer.
    pub(crate) timeout: Duration,
    /// The longest body, both as received and decoded.
    pub(crate) max_bytes: u64,
    /// Whether the judge needs the body itself.
    pub(crate) needs_bodies: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Kept(Bytes),
    /// The digest of a body that was too long to keep.
    Digested(Digest),
}

impl Content {
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Content::Kept(body) => body.len() as u64,
            Content::Digested(digest) => digest.bytes(),
        }
    }

    pub(crate) fn digest(&self) -> Digest {
        match self {
            Content::Kept(body) => Digest::of(body),
            Content::Digested(digest) => digest.clone(),
        }
    }
}

/// Takes a body piece by piece.
#[derive(Debug)]
pub(crate) struct Collector {
    kept: Vec<u8>,
    /// The digest of a body that is too long to keep.
    digest: Option<Digest>,
    max_bytes: u64,
    kept_bytes: u64,
}

impl Collector {
    /// A collector for a body as it is received. Keeps an encoded body as a whole, so that it can be decoded.
    pub(crate) fn receiving(limits: &Limits, headers: &HeaderMap) -> Self {
        match headers.contains_key(CONTENT_ENCODING) {
            true => Collector::new(limits.max_bytes, limits.max_bytes),
            false => Collector::of(limits),
        }
    }

    fn of(limits: &Limits) -> Self {
        let kept = if limits.needs_bodies { limits.max_bytes } else { KEPT_BYTES };
        Collector::new(limits.max_bytes, kept)
    }

    fn new(max_bytes: u64, kept_bytes: u64) -> Self {
        Collector { kept: Vec::new(), digest: None, max_bytes, kept_bytes }
    }

    /// Fails with [`FileTooLarge`] if the body is longer than [`Limits::max_bytes`].
    pub(crate) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = (self.kept.len() + bytes.len()) as u64;
        if self.digest.is_none() && length <= self.kept_bytes.min(self.max_bytes) {
            self.kept.extend_from_slice(bytes);
            return Ok(());
        }
        let kept = std::mem::take(&mut self.kept);
        let digest = self.digest.get_or_insert_with(|| Digest::of(&kept));
        digest.push(bytes);
        if digest.bytes() > self.max_bytes { Err(FileTooLarge.into()) } else { Ok(()) }
    }

    pub(crate) fn finish(self) -> Content {
        self.digest.map_or_else(|| Content::Kept(self.kept.into()), Content::Digested)
    }
}

impl Write for Collector {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decodes a body by its Content-Encoding (RFC 9110, 8.4), last coding first, up to the first unknown one. Fails if the
/// body is broken, with the coding and the decoder's error, or with [`FileTooLarge`] if it is longer than the limit when
/// decoded.
pub(crate) fn decoded(
    headers: &HeaderMap,
    content: Content,
    limits: &Limits,
) -> io::Result<Content> {
    let mut content = content;
    let codings: Vec<String> = headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .flat_map(|value| value.to_str().unwrap_or_default().split(','))
        .map(|coding| coding.trim().to_ascii_lowercase())
        .filter(|coding| !coding.is_empty() && coding != "identity")
        .collect();
    for (left, coding) in codings.iter().enumerate().rev() {
        // Answers to HEAD, and 204 and 304, have no body.
        let Content::Kept(encoded) = &content else { break };
        if encoded.is_empty() {
            break;
        }
        let mut collector = match left {
            0 => Collector::of(limits),
            _ => Collector::new(limits.max_bytes, limits.max_bytes),
        };
        match decode(coding, encoded, &mut collector) {
            None => break,
            Some(Ok(())) => content = collector.finish(),
            Some(Err(error)) if error.kind() == FileTooLarge => return Err(error),
            Some(Err(error)) => return Err(io::Error::other(format!("{coding}: {error}"))),
        }
    }
    Ok(content)
}

/// Decodes a body by one coding; `None` if it is not known.
fn decode(coding: &str, encoded: &[u8], to: &mut Collector) -> Option<io::Result<()>> {
    Some(match coding {
        "gzip" | "x-gzip" => copied(&mut MultiGzDecoder::new(encoded), to),
        // Some servers omit the zlib header that RFC 9110 requires.
        "deflate" if has_zlib_header(encoded) => copied(&mut ZlibDecoder::new(encoded), to),
        "deflate" => copied(&mut DeflateDecoder::new(encoded), to),
        "br" => copied(&mut Decompressor::new(encoded, BROTLI_BUFFER_BYTES), to),
        "zstd" => zstd(encoded, to),
        _ => return None,
    })
}

fn copied(from: &mut dyn Read, to: &mut Collector) -> io::Result<()> {
    io::copy(from, to).map(|_| ())
}

/// Whether the bytes begin with a zlib header (RFC 1950, 2.2).
fn has_zlib_header(encoded: &[u8]) -> bool {
    let [method, flags, ..] = encoded else { return false };
    method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]) % 31 == 0
}

/// Decodes one zstd frame after the other (RFC 8878, 3).
fn zstd(mut encoded: &[u8], to: &mut Collector) -> io::Result<()> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    while !encoded.is_empty() {
        let window = window_bytes(encoded);
        if window > MAX_WINDOW_BYTES {
            return Err(invalid(format!("a window of {window} bytes")));
        }
        let mut decoder =
            StreamingDecoder::new(encoded).map_err(|error| invalid(error.to_string()))?;
        // The decoder keeps a single-segment frame in memory as a whole, so its size is checked first.
        if decoder.decoder.content_size() > to.max_bytes {
            return Err(FileTooLarge.into());
        }
        io::copy(&mut decoder, to)?;
        encoded = decoder.into_inner();
    }
    Ok(())
}

/// The window size in a frame's header (RFC 8878, 3.1.1.1.2); 0 if there is none.
fn window_bytes(frame: &[u8]) -> u64 {
    const SINGLE_SEGMENT: u8 = 0x20;
    let [_, _, _, _, descriptor, window, ..] = frame else { return 0 };
    if descriptor & SINGLE_SEGMENT != 0 {
        return 0;
    }
    let base = 1_u64 << (10 + (window >> 3));
    base + base / 8 * u64::from(window & 7)
}
