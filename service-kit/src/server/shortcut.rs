//! Answers to plain requests without hyper.
//!
//! For a small answer most of a request's cost is what surrounds it: hyper's and http's types for the request and
//! the answer, their reference counts, and buffers of each connection that have left the processor's cache when the
//! next request comes. A [`Shortcut`] sees the head as `httparse` has parsed it, which is hyper's parser too, and
//! writes the whole answer into one buffer. What is not plain, or what it declines, hyper reads from its first byte.
//!
//! `docs/adr/0017-cost-of-a-request.md` has the figures.

use std::cell::RefCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use httparse::{Header, Status};

/// More headers make a request one for hyper.
const MAX_HEADERS: usize = 32;
/// Headers about the connection or a body, but for `Connection: keep-alive`, and `Content-Length: 0`, which nginx
/// sends where a route has `body = "none"`.
const NOT_PLAIN: [&str; 5] =
    ["connection", "content-length", "expect", "transfer-encoding", "upgrade"];

/// Gets a request and when it began, writes the whole answer into the buffer, which is empty, and returns when it was
/// made; or returns `None`, and hyper and the routes get the request. An answer says nothing of its connection, which stays open. It
/// must be the routes' to the byte: clients cannot know who answers.
#[derive(Clone, Copy)]
pub struct Shortcut(pub &'static AnswerPlain);

/// The function of a [`Shortcut`].
pub type AnswerPlain = dyn Fn(&Plain<'_>, Instant, &mut Vec<u8>) -> Option<Instant> + Send + Sync;

impl fmt::Debug for Shortcut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shortcut")
    }
}

impl Shortcut {
    /// Answers the request at the beginning of `bytes`; returns the length of its head, and when the answer was made.
    /// `begin` is called once it is known to be plain, and returns the time.
    pub(super) fn answer(
        self,
        bytes: &[u8],
        answer: &mut Vec<u8>,
        begin: impl FnOnce() -> Instant,
    ) -> Option<(usize, Instant)> {
        let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let (request, length) = Plain::parse(bytes, &mut headers)?;
        let began = begin();
        answer.clear();
        (self.0)(&request, began, answer).map(|answered| (length, answered))
    }
}

/// A GET request over HTTP/1.1 without a body, which asks nothing of its connection.
#[derive(Debug)]
pub struct Plain<'a> {
    target: &'a str,
    headers: &'a [Header<'a>],
}

impl<'a> Plain<'a> {
    fn parse<'b: 'a>(
        bytes: &'b [u8],
        headers: &'a mut [MaybeUninit<Header<'b>>],
    ) -> Option<(Self, usize)> {
        // Other methods need no parser to be told.
        if !bytes.starts_with(b"GET /") {
            return None;
        }
        let mut request = httparse::Request::new(&mut []);
        let parsed = request.parse_with_uninit_headers(bytes, headers);
        let Ok(Status::Complete(length)) = parsed else { return None };
        let is_plain = request.version == Some(1) && request.headers.iter().all(is_plain);
        let target = request.path.filter(|_| is_plain)?;
        Some((Plain { target, headers: request.headers }, length))
    }

    /// Path and query, as they were sent.
    pub fn target(&self) -> &'a str {
        self.target
    }

    /// The values of the headers of this name, in their order.
    pub fn headers(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let is = |header: &&Header<'_>| header.name.eq_ignore_ascii_case(name);
        self.headers.iter().filter(is).map(|header| header.value)
    }

    /// The value of the first header of this name.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers(name).next()
    }
}

fn is_plain(header: &Header<'_>) -> bool {
    let is = |name: &&str| header.name.eq_ignore_ascii_case(name);
    !NOT_PLAIN.iter().any(is)
        || is(&"connection") && header.value.eq_ignore_ascii_case(b"keep-alive")
        || is(&"content-length") && header.value == b"0"
}

/// Ends an answer as hyper does: `Date`, an empty line and the body. `now` is the time of the answer; the date may
/// lag behind a clock that is set by a second.
pub fn end_answer(answer: &mut Vec<u8>, body: &[u8], now: Instant) {
    answer.extend_from_slice(b"date: ");
    DATE.with_borrow_mut(|date| answer.extend_from_slice(date.at(now)));
    answer.extend_from_slice(b"\r\n\r\n");
    answer.extend_from_slice(body);
}

/// As `write!` does in six times the instructions.
pub fn write_number(answer: &mut Vec<u8>, mut number: usize) {
    let mut digits = [b'0'; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] += (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    answer.extend_from_slice(&digits[first..]);
}

thread_local! {
    static DATE: RefCell<Date> = const { RefCell::new(Date { until: None, text: [0; 29] }) };
}

/// The value of `Date`, for as long as its second lasts.
struct Date {
    until: Option<Instant>,
    text: [u8; 29],
}

impl Date {
    fn at(&mut self, now: Instant) -> &[u8] {
        if self.until.is_none_or(|until| now >= until) {
            self.set(SystemTime::now(), now);
        }
        &self.text
    }

    #[cold]
    fn set(&mut self, time: SystemTime, now: Instant) {
        let into_second = time.duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        self.until = Some(now + Duration::from_secs(1) - Duration::from_nanos(into_second.into()));
        let text = httpdate::fmt_http_date(time);
        // RFC 9110 section 5.6.7: all dates have the same length.
        if let Ok(text) = text.as_bytes().try_into() {
            self.text = text;
        }
    }
}

#[cfg(test)]
mod tests {
    use httparse::EMPTY_HEADER;

    use super::*;

    fn parsed(head: &str) -> Option<(String, usize)> {
        let mut headers = [MaybeUninit::new(EMPTY_HEADER); MAX_HEADERS];
        let (request, length) = Plain::parse(head.as_bytes(), &mut headers)?;
        Some((request.target().to_owned(), length))
    }

    #[test]
    fn only_a_whole_request_that_asks_nothing_of_its_connection_is_plain() {
        for plain in [
            "GET /a?b HTTP/1.1\r\n\r\n",
            "GET /a?b HTTP/1.1\nhost: x\n\n",
            "GET /a?b HTTP/1.1\r\nhost: x\r\nConnection: Keep-Alive\r\n\r\n",
            // What nginx makes of it.
            "GET /a?b HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\n\
             X-Forwarded-Proto: http\r\nX-Request-Id: 26ba63d5b64bd307862f440833de0f75\r\n\
             Content-Length: 0\r\n\r\n",
        ] {
            let expected = Some(("/a?b".to_owned(), plain.len()));
            assert_eq!(parsed(plain), expected, "{plain}");
            assert_eq!(parsed(&format!("{plain}GET /c")), expected, "{plain}");
            assert_eq!(parsed(&plain[..plain.len() - 1]), None, "{plain}");
        }
        for other in [
            "HEAD / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nconnection: close\r\n\r\n",
            "GET / HTTP/1.1\r\nconnection: keep-alive, close\r\n\r\n",
            "GET / HTTP/1.1\r\nCONTENT-length: 1\r\n\r\n",
            "GET / HTTP/1.1\r\ncontent-length: +0\r\n\r\n",
            "GET / HTTP/1.1\r\ncontent-length: 0\r\ncontent-length: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\r\nexpect: 100-continue\r\n\r\n",
            "GET / HTTP/1.1\r\nupgrade: h2c\r\n\r\n",
            "GET / HTTP/1.1\r\na : b\r\n\r\n",
            "GET / HTTP/1.1\r\na: b\r\n c\r\n\r\n",
            &format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MAX_HEADERS + 1)),
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }

    #[test]
    fn a_header_is_found_by_its_name_and_the_first_counts() {
        let head = b"GET / HTTP/1.1\r\nX-A: 1\r\nx-a: 2\r\n\r\n";
        let mut headers = [MaybeUninit::new(EMPTY_HEADER); MAX_HEADERS];
        let (request, _) = Plain::parse(head, &mut headers).unwrap();
        assert_eq!(request.header("x-a"), Some(&b"1"[..]));
        assert_eq!(request.header("x"), None);
        assert_eq!(request.headers("x-a").collect::<Vec<_>>(), [b"1", b"2"]);
    }

    #[test]
    fn numbers_are_those_of_format() {
        for number in [0, 9, 10, 397, 1000, usize::MAX] {
            let mut digits = Vec::new();
            write_number(&mut digits, number);
            assert_eq!(digits, number.to_string().into_bytes());
        }
    }

    #[test]
    fn a_date_lasts_until_the_end_of_its_second() {
        let mut date = Date { until: None, text: [0; 29] };
        let now = Instant::now();
        date.set(UNIX_EPOCH + Duration::from_millis(784_111_777_250), now);
        assert_eq!(date.text, *b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date.at(now + Duration::from_millis(749)), b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert_ne!(date.at(now + Duration::from_millis(750)), b"Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
