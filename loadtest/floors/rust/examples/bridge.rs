//! hyper behind a C interface. For each request it calls the other language for the answer, on the thread that read the
//! request.
//!
//! `bridge.h` beside the program in Go declares the same functions.

#![allow(unsafe_code, reason = "it takes pointers from the other language")]

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

/// Bytes that belong to the other language, valid during a call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    start: *const u8,
    length: usize,
}

impl Text {
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

unsafe extern "C" {
    /// Answers one request by a single call of [`bridge_answer`] with the same `answer`. `head` has a line for the
    /// method and target, and one per header.
    safe fn bridge_handle(head: Text, answer: *mut c_void);
}

/// Sets the answer to the request that `bridge_handle` was called for. Leaves out invalid headers.
///
/// # Safety
/// `answer` must be the pointer that `bridge_handle` got, and `bridge_handle` must not have returned; the texts must be
/// valid during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bridge_answer(
    answer: *mut c_void,
    status: u16,
    headers: Text,
    body: Text,
) {
    // SAFETY: `handle` passes a pointer to its own answer, which lives until `bridge_handle` returns.
    let answer = unsafe { &mut *answer.cast::<Response<Full<Bytes>>>() };
    // SAFETY: the caller's promise.
    let (headers, body) = unsafe { (headers.bytes(), body.bytes()) };
    *answer.body_mut() = Full::new(Bytes::copy_from_slice(body));
    *answer.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for line in headers.split(|byte| *byte == b'\n') {
        if let Some(colon) = line.windows(2).position(|two| two == b": ")
            && let Ok(name) = HeaderName::from_bytes(&line[..colon])
            && let Ok(value) = HeaderValue::from_bytes(&line[colon + 2..])
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
    let mut head = format!("{} {target}\n", request.method()).into_bytes();
    for (name, value) in request.headers() {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\n"] {
            head.extend_from_slice(part);
        }
    }
    let mut answer = Response::new(Full::default());
    bridge_handle(Text { start: head.as_ptr(), length: head.len() }, (&raw mut answer).cast());
    Ok(answer)
}
