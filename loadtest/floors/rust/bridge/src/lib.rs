//! hyper behind a C interface: it asks the other language for the answer of each request, on the thread that read it.
//!
//! `bridge.h` beside the program in Go declares the same types.

use std::convert::Infallible;
use std::ffi::{CStr, c_char, c_int, c_void};

use anyhow::Context;
use floors_rust::{http, listener};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

/// Bytes of the other side, valid during a call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    start: *const u8,
    length: usize,
}

impl Text {
    fn new(text: &[u8]) -> Self {
        Text { start: text.as_ptr(), length: text.len() }
    }

    /// # Safety
    /// `start` must point to `length` bytes that outlive the result, unless `length` is 0.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

/// A header's name and value.
#[repr(C)]
pub struct Header {
    name: Text,
    value: Text,
}

/// The head of a request.
#[repr(C)]
pub struct Head {
    method: Text,
    target: Text,
    headers: *const Header,
    count: usize,
}

unsafe extern "C" {
    /// Answers a request by one call of [`bridge_answer`] with the same `answer`.
    safe fn bridge_handle(head: *const Head, answer: *mut c_void);
}

/// Gives the answer to the request that `bridge_handle` was called for. Headers that are not valid are left out.
///
/// # Safety
/// `answer` must be what `bridge_handle` got, before it returns; the texts must be valid during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bridge_answer(
    answer: *mut c_void,
    status: u16,
    headers: *const Header,
    count: usize,
    body: Text,
) {
    // SAFETY: `handle` passes a pointer to its own answer, which lives until `bridge_handle` returns.
    let answer = unsafe { &mut *answer.cast::<Response<Full<Bytes>>>() };
    // SAFETY: the caller's promise.
    *answer.body_mut() = Full::new(Bytes::copy_from_slice(unsafe { body.bytes() }));
    *answer.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // SAFETY: the caller's promise.
    let headers =
        if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(headers, count) } };
    for Header { name, value } in headers {
        // SAFETY: the caller's promise.
        let (name, value) = unsafe { (name.bytes(), value.bytes()) };
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            answer.headers_mut().append(name, value);
        }
    }
}

/// Serves until the process ends. Returns 1 after it has printed an error.
///
/// # Safety
/// `address` must be a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bridge_serve(address: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let address = unsafe { CStr::from_ptr(address) };
    if let Err(error) = run(address) {
        eprintln!("{error:#}");
    }
    1
}

#[tokio::main]
async fn run(address: &CStr) -> anyhow::Result<()> {
    let listener = listener(address.to_str()?.parse().context("address")?)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(http().serve_connection(TokioIo::new(stream), service_fn(handle)));
    }
}

async fn handle(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let target = request.uri().path_and_query().map_or("*", |target| target.as_str());
    let headers: Vec<Header> = (request.headers().iter())
        .map(|(name, value)| Header {
            name: Text::new(name.as_str().as_bytes()),
            value: Text::new(value.as_bytes()),
        })
        .collect();
    let head = Head {
        method: Text::new(request.method().as_str().as_bytes()),
        target: Text::new(target.as_bytes()),
        headers: headers.as_ptr(),
        count: headers.len(),
    };
    let mut answer = Response::new(Full::default());
    bridge_handle(&raw const head, (&raw mut answer).cast());
    Ok(answer)
}
