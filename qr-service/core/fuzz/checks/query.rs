//! Checks the query parser against a plainly written version of the contract's rules.
//!
//! Percent-encoding is that of application/x-www-form-urlencoded (WHATWG URL, section 5.1), except that a `%`
//! without two hexadecimal digits is an error.

use contract::query::{MAX_TEXT_BYTES, QueryError, parse_text};

/// Panics unless both give the same result.
pub(crate) fn check(query: &[u8]) {
    let mut buffer = [0; MAX_TEXT_BYTES];
    let found = parse_text(query, &mut buffer).map(str::to_owned);
    assert_eq!(found, plainly(query), "{:?}", String::from_utf8_lossy(query));
}

fn plainly(query: &[u8]) -> Result<String, QueryError> {
    let mut values = Vec::new();
    for pair in query.split(|byte| *byte == b'&') {
        let mut parts = pair.splitn(2, |byte| *byte == b'=');
        let name = parts.next().unwrap_or_default();
        if decode(name).as_deref() == Some(b"text") {
            values.push(parts.next().unwrap_or_default());
        }
    }
    if values.iter().all(|value| value.is_empty()) {
        return Err(QueryError::Missing);
    }
    let [value] = values[..] else { return Err(QueryError::Repeated) };
    let text = decode(value).and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.ok_or(QueryError::NotUtf8)?;
    if text.len() > MAX_TEXT_BYTES { Err(QueryError::TooLong) } else { Ok(text) }
}

fn decode(raw: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < raw.len() {
        match raw[at] {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = std::str::from_utf8(raw.get(at + 1..at + 3)?).ok()?;
                if digits.starts_with('+') {
                    return None; // from_str_radix takes a sign
                }
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                at += 2;
            }
            byte => bytes.push(byte),
        }
        at += 1;
    }
    Some(bytes)
}
