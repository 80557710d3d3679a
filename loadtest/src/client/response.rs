//! Reads responses of HTTP/1.1 (RFC 9112, section 6.3).

/// A whole response.
#[derive(Debug)]
pub(crate) struct Response<'a> {
    pub(crate) status: u16,
    /// The body; with its framing if it is chunked.
    pub(crate) body: &'a [u8],
    /// Whether the connection may have another request.
    pub(super) keeps_alive: bool,
    head: &'a str,
}

impl<'a> Response<'a> {
    /// Reads the response in these bytes; `None` if it is incomplete. `ended` means that no more bytes will come. Fails
    /// if the bytes are not a response.
    pub(crate) fn read(bytes: &'a [u8], ended: bool) -> Result<Option<Self>, String> {
        let Some(head_ends) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let no_response = |what: &str| format!("the answer has no {what}");
        let head = std::str::from_utf8(&bytes[..head_ends]).map_err(|_| no_response("text"))?;
        let status = head.split(' ').nth(1).and_then(|status| status.get(..3)?.parse().ok());
        let status: u16 = status.ok_or_else(|| no_response("status"))?;
        let body = &bytes[head_ends + 4..];
        let mut response = Response { status, body, keeps_alive: true, head };
        let length = if matches!(status, 100..200 | 204 | 304) {
            Some(0)
        } else if response.header("transfer-encoding").eq_ignore_ascii_case("chunked") {
            let Some(length) = chunked(body)? else { return Ok(None) };
            Some(length)
        } else {
            match response.header("content-length") {
                "" => None,
                length => Some(length.parse().map_err(|_| no_response("valid length"))?),
            }
        };
        response.keeps_alive =
            length.is_some() && !response.header("connection").eq_ignore_ascii_case("close");
        match length {
            Some(length) if body.len() < length => return Ok(None),
            Some(length) => response.body = &body[..length],
            None if !ended => return Ok(None),
            None => {}
        }
        Ok(Some(response))
    }

    /// A header's value; empty if it is missing.
    pub(super) fn header(&self, name: &str) -> &'a str {
        let mut headers = self.head.split("\r\n").filter_map(|line| line.split_once(':'));
        let found = headers.find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.trim())
    }
}

/// The length of a chunked body with its framing, if it is whole.
fn chunked(body: &[u8]) -> Result<Option<usize>, String> {
    let mut at = 0;
    loop {
        let rest = body.get(at..).unwrap_or_default();
        let Some(line) = rest.windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
        let size = std::str::from_utf8(&rest[..line]).unwrap_or_default();
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| format!("a chunk of {size:?}"))?;
        // The size's line, the chunk, and the line end after it.
        at += line + 2 + size + 2;
        if size == 0 {
            return Ok((at <= body.len()).then_some(at));
        }
    }
}
