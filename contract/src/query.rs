//! Finds and decodes the `text` parameter of a raw query string, as the contract requires.
//!
//! It is stricter than general parsers: a bad escape is an error instead of literal text, and so is a
//! second `text`. It decodes into a buffer that the caller provides, and allocates only for a text
//! over the limit, to tell whether that is malformed too.

/// The longest text, in bytes of UTF-8 after decoding.
pub const MAX_TEXT_BYTES: usize = 512;

/// Why a query is refused, in the order in which the contract checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryError {
    /// No `text` parameter has a value.
    Missing,
    /// More than one `text` parameter.
    Repeated,
    /// A `%` without two hexadecimal digits, or bytes that are not UTF-8.
    NotUtf8,
    /// More than [`MAX_TEXT_BYTES`].
    TooLong,
}

/// Decodes the `text` parameter of `query`, which has no `?`, into `buffer`. Returns 1 to [`MAX_TEXT_BYTES`] bytes.
/// The error is the first [`QueryError`] that applies.
pub fn parse_text<'b>(
    query: &[u8],
    buffer: &'b mut [u8; MAX_TEXT_BYTES],
) -> Result<&'b str, QueryError> {
    let raw = find_text(query)?;
    let len = decode_into(raw, buffer)?;
    std::str::from_utf8(&buffer[..len]).map_err(|_| QueryError::NotUtf8)
}

/// Finds the raw value of the only `text` parameter.
fn find_text(query: &[u8]) -> Result<&[u8], QueryError> {
    // Fast path for nearly all queries: one parameter, and a name that needs no decoding.
    if let Some(value) =
        query.strip_prefix(b"text=").filter(|v| !v.is_empty() && !v.contains(&b'&'))
    {
        return Ok(value);
    }
    let (mut count, mut found) = (0, None);
    for pair in query.split(|&b| b == b'&') {
        let end = pair.iter().position(|&b| b == b'=').unwrap_or(pair.len());
        if is_text(&pair[..end]) {
            count += 1;
            let value = pair.get(end + 1..).unwrap_or_default();
            if !value.is_empty() {
                found = Some(value);
            }
        }
    }
    match (count, found) {
        (_, None) => Err(QueryError::Missing),
        (1, Some(value)) => Ok(value),
        _ => Err(QueryError::Repeated),
    }
}

/// Whether a raw parameter name decodes to `text`. A name with a bad escape does not.
fn is_text(name: &[u8]) -> bool {
    let mut rest = name;
    for &wanted in b"text" {
        match next_byte(&mut rest) {
            Some(Ok(byte)) if byte == wanted => {}
            _ => return false,
        }
    }
    rest.is_empty()
}

/// Decodes the next byte and removes it from `raw`.
fn next_byte(raw: &mut &[u8]) -> Option<Result<u8, QueryError>> {
    let (&first, rest) = raw.split_first()?;
    *raw = rest;
    Some(match first {
        b'+' => Ok(b' '),
        b'%' => match rest {
            [high, low, rest @ ..] => {
                *raw = rest;
                let (high, low) = (DIGITS[usize::from(*high)], DIGITS[usize::from(*low)]);
                if high | low > 15 { Err(QueryError::NotUtf8) } else { Ok(high << 4 | low) }
            }
            _ => Err(QueryError::NotUtf8),
        },
        byte => Ok(byte),
    })
}

/// The values of hexadecimal digits; 255 for all other bytes.
const DIGITS: [u8; 256] = {
    let mut digits = [255; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value];
        digits[digit as usize] = value as u8;
        digits[digit.to_ascii_uppercase() as usize] = value as u8;
        value += 1;
    }
    digits
};

/// Decodes `raw` into `buffer` and returns the length.
fn decode_into(raw: &[u8], buffer: &mut [u8; MAX_TEXT_BYTES]) -> Result<usize, QueryError> {
    let mut rest = raw;
    let mut len = 0;
    while let Some(byte) = next_byte(&mut rest) {
        let byte = byte?;
        if len == MAX_TEXT_BYTES {
            return Err(too_long_or_malformed(raw));
        }
        buffer[len] = byte;
        len += 1;
    }
    Ok(len)
}

/// The error for a text over the limit: [`QueryError::NotUtf8`] takes precedence, so the whole text is
/// decoded.
#[cold]
fn too_long_or_malformed(raw: &[u8]) -> QueryError {
    let mut rest = raw;
    let decoded: Result<Vec<u8>, _> = std::iter::from_fn(|| next_byte(&mut rest)).collect();
    match decoded.map(|bytes| std::str::from_utf8(&bytes).is_ok()) {
        Ok(true) => QueryError::TooLong,
        _ => QueryError::NotUtf8,
    }
}

#[cfg(test)]
mod tests;
