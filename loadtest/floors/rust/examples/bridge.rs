//! hyper behind a C interface: another language answers the requests. Its functions are described in `bridge.h`, beside
//! the program in Go.

#![allow(unsafe_code, reason = "it gets pointers from the other language")]

use std::convert::Infallible;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::slice;

use anyhow::Context;
use floors_rust::{Answer, listener, serve};
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};

/// Bytes that are valid during the call that gets them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    start: *const u8,
    length: usize,
}

impl Text {
    fn new(bytes: &[u8]) -> Self {
        Text { start: bytes.as_ptr(), length: bytes.len() }
    }

    /// # Safety
    /// `start` points to `length` bytes that outlive the result, unless `length` is 0.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        match self.length {
            0 => &[],
            // SAFETY: the caller's promise.
            length => unsafe { slice::from_raw_parts(self.start, length) },
        }
    }
}

unsafe extern "C" {
    /// Answers a request by the functions below, and keeps no pointer. `head` has `length` texts: the method, the
    /// target, and each header's name and value.
    fn bridge_handle(head: *const Text, length: usize, answer: *mut c_void);
}

/// Adds a header, unless it is invalid.
///
/// # Safety
/// `answer` is the pointer of a call of [`bridge_handle`] that has not returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bridge_header(answer: *mut c_void, name: Text, value: Text) {
    // SAFETY: `handle` passes its own answer. The texts are valid during this call.
    let (answer, name, value) =
        unsafe { (&mut *answer.cast::<Response<Vec<u8>>>(), name.bytes(), value.bytes()) };
    if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
        answer.headers_mut().append(name, value);
    }
}

/// Sets the status, and appends to the body.
///
/// # Safety
/// As for [`bridge_header`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bridge_write(answer: *mut c_void, status: u16, body: Text) {
    // SAFETY: as in `bridge_header`.
    let (answer, body) = unsafe { (&mut *answer.cast::<Response<Vec<u8>>>(), body.bytes()) };
    *answer.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.body_mut().extend_from_slice(body);
}

/// Serves. Only returns, with 1, after it has printed an error.
///
/// # Safety
/// `address` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bridge_serve(address: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let Err(error) = run(unsafe { CStr::from_ptr(address) });
    eprintln!("{error:#}");
    1
}

#[tokio::main]
async fn run(address: &CStr) -> anyhow::Result<Infallible> {
    let addr = address.to_str()?.parse().context("ADDRESS")?;
    Ok(serve(listener(addr)?, handle).await?)
}

/// Calls the other language on this thread.
async fn handle(request: Request<Incoming>) -> Answer {
    let target = request.uri().path_and_query().map_or("*", |target| target.as_str());
    let mut head =
        vec![Text::new(request.method().as_str().as_bytes()), Text::new(target.as_bytes())];
    for (name, value) in request.headers() {
        head.extend([name.as_str().as_bytes(), value.as_bytes()].map(Text::new));
    }
    let mut answer = Response::new(Vec::new());
    // SAFETY: all that the pointers lead to outlives the call.
    unsafe { bridge_handle(head.as_ptr(), head.len(), (&raw mut answer).cast()) };
    Ok(answer.map(Into::into))
}
