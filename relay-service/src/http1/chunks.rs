//! The framing of a chunked body (RFC 9112, section 7.1), without its payload.
//!
//! What is malformed here is malformed in hyper; `tests.rs` compares the two.

/// Bytes of all chunk extensions of a body.
const MAX_EXTENSION_BYTES: u32 = 16 * 1024;
/// Bytes and lines of a trailer section, which is dropped.
const MAX_TRAILER_BYTES: usize = 16 * 1024;
const MAX_TRAILERS: usize = 100;

/// Framing that is not valid.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

/// Reads framing byte by byte, in any pieces.
#[derive(Debug)]
pub struct Chunks {
    state: State,
    /// Size of the chunk; then what is left of its payload.
    rest: u64,
    extension_bytes: u32,
    trailers: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    FirstDigit,
    Size,
    AfterSize,
    Extension,
    SizeLf,
    Payload,
    PayloadCr,
    PayloadLf,
    /// After the last chunk, or a line of the trailer section.
    LineStart,
    Trailer,
    TrailerLf,
    EndLf,
    End,
}

impl Default for Chunks {
    fn default() -> Self {
        Chunks { state: State::FirstDigit, rest: 0, extension_bytes: 0, trailers: Vec::new() }
    }
}

impl Chunks {
    /// Takes framing from the front of `bytes`, up to payload or the body's end. Returns how many bytes
    /// it took.
    ///
    /// # Errors
    /// If the framing is invalid, or its extensions or trailers are too long.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        for (at, &byte) in bytes.iter().enumerate() {
            if matches!(self.state, State::Payload | State::End) {
                return Ok(at);
            }
            self.state = self.step(byte)?;
        }
        Ok(bytes.len())
    }

    /// Bytes of payload that come next; 0 between chunks, and at the end.
    pub fn payload(&self) -> u64 {
        if self.state == State::Payload { self.rest } else { 0 }
    }

    /// So many bytes of payload have been taken; at most [`Chunks::payload`].
    pub fn took(&mut self, count: u64) {
        self.rest = self.rest.saturating_sub(count);
        if self.rest == 0 {
            self.state = State::PayloadCr;
        }
    }

    /// Whether the body has ended.
    pub fn is_ended(&self) -> bool {
        self.state == State::End
    }

    fn step(&mut self, byte: u8) -> Result<State, Malformed> {
        Ok(match (self.state, byte) {
            (State::FirstDigit | State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.add_digit(byte)?;
                State::Size
            }
            (State::Size | State::AfterSize, b' ' | b'\t') => State::AfterSize,
            (State::Size | State::AfterSize, b';') => State::Extension,
            (State::Size | State::AfterSize | State::Extension, b'\r') => State::SizeLf,
            (State::Extension, b'\n') => return Err(Malformed),
            (State::Extension, _) => {
                self.extension_bytes += 1;
                if self.extension_bytes >= MAX_EXTENSION_BYTES {
                    return Err(Malformed);
                }
                State::Extension
            }
            (State::SizeLf, b'\n') if self.rest > 0 => State::Payload,
            (State::SizeLf, b'\n') => State::LineStart,
            (State::PayloadCr, b'\r') => State::PayloadLf,
            (State::PayloadLf, b'\n') => State::FirstDigit,
            (State::LineStart, b'\r') if self.trailers.is_empty() => State::EndLf,
            (State::EndLf, b'\n') if self.trailers.is_empty() => State::End,
            (State::LineStart | State::Trailer | State::TrailerLf | State::EndLf, _) => {
                self.step_trailer(byte)?
            }
            _ => return Err(Malformed),
        })
    }

    fn step_trailer(&mut self, byte: u8) -> Result<State, Malformed> {
        self.trailers.push(byte);
        if self.trailers.len() >= MAX_TRAILER_BYTES {
            return Err(Malformed);
        }
        Ok(match (self.state, byte) {
            (State::LineStart, b'\r') => State::EndLf,
            (State::Trailer, b'\r') => State::TrailerLf,
            (State::LineStart | State::Trailer, _) => State::Trailer,
            (State::TrailerLf, b'\n') => State::LineStart,
            (State::EndLf, b'\n') => {
                let mut trailers = [httparse::EMPTY_HEADER; MAX_TRAILERS];
                let parsed = httparse::parse_headers(&self.trailers, &mut trailers);
                if !parsed.is_ok_and(|parsed| parsed.is_complete()) {
                    return Err(Malformed);
                }
                State::End
            }
            _ => return Err(Malformed),
        })
    }

    fn add_digit(&mut self, digit: u8) -> Result<(), Malformed> {
        let value = char::from(digit).to_digit(16).ok_or(Malformed)?;
        let size = self.rest.checked_mul(16).and_then(|size| size.checked_add(value.into()));
        self.rest = size.ok_or(Malformed)?;
        Ok(())
    }
}
