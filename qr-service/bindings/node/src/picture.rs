//! From a request to bytes, on any thread.

use std::panic::catch_unwind;

use qr_javascript::{Mistake, Request};

use crate::failure::Failure;

/// Makes the PNG.
///
/// A panic must not leave libuv's thread, which would end the process: it becomes a failure.
pub(crate) fn draw(request: &Request) -> Result<Vec<u8>, Failure> {
    Ok(catch_unwind(|| request.draw()).unwrap_or(Err(Mistake::Internal))?)
}
