//! From a request to bytes, on any thread.

use std::panic::catch_unwind;

use qr_core::{encode, write_png};

use crate::failure::Failure;
use crate::request::Request;

/// Room for most pictures of the default size, so that the vector grows at most once or twice.
const USUAL_BYTES: usize = 1024;

impl Request {
    /// Makes the PNG.
    ///
    /// A panic must not leave libuv's thread, which would end the process: it becomes a failure.
    pub(crate) fn draw(&self) -> Result<Vec<u8>, Failure> {
        catch_unwind(|| {
            let symbol = encode(&self.text, self.level)?;
            let mut png = Vec::with_capacity(USUAL_BYTES);
            write_png(&symbol, &self.raster, &mut png)?;
            Ok(png)
        })
        .unwrap_or(Err(Failure::Internal))
    }
}
