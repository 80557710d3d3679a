//! The first part of a `multipart/form-data` body (RFC 2046, section 5.1).

use bytes::{Buf, Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

/// Longest head of a part, with what comes before it.
const MAX_HEAD_BYTES: usize = 16 * 1024;
const MAX_HEADERS: usize = 32;
const FORM_DATA: &[u8] = b"multipart/form-data";

/// A body that cannot be read as multipart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Whether the body is multipart; if so, its boundary, or none if it is missing.
pub(crate) fn boundary(headers: &HeaderMap) -> Option<Result<Vec<u8>, Malformed>> {
    let value = headers.get(CONTENT_TYPE)?.as_bytes().trim_ascii_start();
    let (kind, parameters) = value.split_at_checked(FORM_DATA.len())?;
    if !kind.eq_ignore_ascii_case(FORM_DATA) {
        return None;
    }
    if parameters.trim_ascii_start().first().is_some_and(|&byte| byte != b';') {
        return None;
    }
    let boundary = parameters.split(|&byte| byte == b';').find_map(|parameter| {
        let (name, value) = parameter.trim_ascii().split_at_checked(9)?;
        name.eq_ignore_ascii_case(b"boundary=").then_some(value)
    });
    let boundary = boundary.map(|value| {
        value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
    });
    Some(boundary.filter(|value| !value.is_empty()).map(<[u8]>::to_vec).ok_or(Malformed))
}

/// Reads a body piece by piece.
pub(crate) struct FirstPart {
    delimiter: Vec<u8>,
    seen: BytesMut,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Bytes,
    Ended,
}

impl FirstPart {
    pub(crate) fn new(boundary: &[u8]) -> Self {
        // The first boundary may stand at the body's very beginning, without a line end before it.
        FirstPart {
            delimiter: [b"\r\n--", boundary].concat(),
            seen: BytesMut::from(&b"\r\n"[..]),
            state: State::Head,
        }
    }

    /// Takes a piece of the body.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        if self.state != State::Ended {
            self.seen.extend_from_slice(piece);
        }
    }

    /// The part's headers, once their end has been seen.
    pub(crate) fn head(&mut self) -> Result<Option<HeaderMap>, Malformed> {
        let opening = [&self.delimiter[..], b"\r\n"].concat();
        // A part may have no headers; the line end of its boundary begins the empty line then.
        let head = find(&self.seen, &opening).map(|start| start + opening.len() - 2);
        let end = head.and_then(|head| Some((head, head + find(&self.seen[head..], b"\r\n\r\n")?)));
        let Some((head, end)) = end else {
            return if self.seen.len() > MAX_HEAD_BYTES { Err(Malformed) } else { Ok(None) };
        };
        let headers = parse(&self.seen[head + 2..end + 4])?;
        self.seen.advance(end + 4);
        self.state = State::Bytes;
        Ok(Some(headers))
    }

    /// The part's bytes that are sure by now. `None` once the part has ended.
    pub(crate) fn bytes(&mut self) -> Option<Bytes> {
        if self.state == State::Ended {
            return None;
        }
        if let Some(end) = find(&self.seen, &self.delimiter) {
            self.state = State::Ended;
            let bytes = self.seen.split_to(end).freeze();
            self.seen = BytesMut::new();
            return Some(bytes);
        }
        // The delimiter may begin in the last bytes.
        let sure = self.seen.len().saturating_sub(self.delimiter.len() - 1);
        Some(self.seen.split_to(sure).freeze())
    }

    /// Whether the part's end has been seen.
    pub(crate) fn is_ended(&self) -> bool {
        self.state == State::Ended
    }
}

fn parse(head: &[u8]) -> Result<HeaderMap, Malformed> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let parsed = httparse::parse_headers(head, &mut fields).map_err(|_| Malformed)?;
    let httparse::Status::Complete((_, fields)) = parsed else { return Err(Malformed) };
    let mut headers = HeaderMap::new();
    for field in fields {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| Malformed)?;
        headers.append(name, HeaderValue::from_bytes(field.value).map_err(|_| Malformed)?);
    }
    Ok(headers)
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    let (&first, rest) = pattern.split_first()?;
    let mut from = 0;
    loop {
        let at = from + text[from..].iter().position(|&byte| byte == first)?;
        if text[at + 1..].starts_with(rest) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(body: &[u8], sizes: &[usize]) -> Result<(HeaderMap, Vec<u8>, bool), Malformed> {
        let mut part = FirstPart::new(b"xyz");
        let (mut headers, mut bytes, mut rest) = (None, Vec::new(), body);
        for &size in sizes.iter().cycle() {
            let (piece, after) = rest.split_at(size.min(rest.len()));
            rest = after;
            part.push(piece);
            if headers.is_none() {
                headers = part.head()?;
            }
            if headers.is_some() {
                bytes.extend(part.bytes().unwrap_or_default());
            }
            if rest.is_empty() {
                break;
            }
        }
        Ok((headers.ok_or(Malformed)?, bytes, part.is_ended()))
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_come_through(
            bytes in prop::collection::vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), Just(b'x'), any::<u8>()], 0..300),
            sizes in prop::collection::vec(1_usize..40, 1..20),
            preamble in prop::bool::ANY,
        ) {
            prop_assume!(find(&bytes, b"\r\n--xyz").is_none());
            let before: &[u8] = if preamble { b"preamble\r\n" } else { b"" };
            let body = [before, b"--xyz\r\nContent-Type: text/html\r\n\r\n", &bytes, b"\r\n--xyz\r\n\r\nother\r\n--xyz--\r\n"].concat();
            let (headers, got, ended) = read(&body, &sizes).unwrap();
            prop_assert_eq!(&headers["content-type"], "text/html");
            prop_assert_eq!(got, bytes);
            prop_assert!(ended);
        }
    }

    #[test]
    fn a_part_may_have_no_headers() {
        let (headers, bytes, ended) = read(b"--xyz\r\n\r\nabc\r\n--xyz--", &[3]).unwrap();
        assert_eq!((headers.len(), &bytes[..], ended), (0, &b"abc"[..], true));
    }

    #[test]
    fn a_body_without_a_part_is_malformed() {
        assert_eq!(read(&[b'a'; 20_000], &[1000]), Err(Malformed));
        assert_eq!(read(b"--xyz--\r\n", &[100]), Err(Malformed));
        assert_eq!(read(b"--xyz\r\nno header\r\n\r\n", &[100]), Err(Malformed));
    }
}
