//! `qr-core` as a native addon of Node.js; `index.d.ts` is its documentation.
//!
//! Arguments are read strictly (`request`), the picture is made without JavaScript (`picture`), and
//! what goes wrong is thrown as Node's own functions throw it (`failure`).

mod failure;
mod picture;
mod request;

use napi::bindgen_prelude::{AsyncTask, BufferSlice, Unknown};
use napi::{Env, ScopedTask};
use napi_derive::napi;
use qr_javascript::Request;

use crate::failure::Failure;
use crate::picture::draw;

/// The PNG of `text`, made on the calling thread.
///
/// # Errors
/// The JavaScript error that `failure` makes, or the one that a getter of `options` threw.
#[napi]
pub fn generate<'env>(
    env: &'env Env,
    text: Unknown<'env>,
    options: Unknown<'env>,
) -> napi::Result<BufferSlice<'env>> {
    to_buffer(env, request::read(&text, &options).and_then(|request| draw(&request)))
}

/// The PNG of `text`, made on a thread of libuv's pool; the arguments are read before it returns.
///
/// # Errors
/// As [`generate`], thrown where the arguments are at fault: `index.js` makes a rejection of it.
#[napi]
pub fn generate_async(
    env: &Env,
    text: Unknown<'_>,
    options: Unknown<'_>,
) -> napi::Result<AsyncTask<Drawing>> {
    let request = request::read(&text, &options).map_err(|failure| failure.into_error(env))?;
    Ok(AsyncTask::new(Drawing(request)))
}

/// A picture to be made on another thread.
pub struct Drawing(Request);

impl<'env> ScopedTask<'env> for Drawing {
    type Output = Result<Vec<u8>, Failure>;
    type JsValue = BufferSlice<'env>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(draw(&self.0))
    }

    fn resolve(&mut self, env: &'env Env, made: Self::Output) -> napi::Result<Self::JsValue> {
        to_buffer(env, made)
    }
}

/// A copy that V8 owns. Handing over the vector would be no faster, and what is handed over is freed
/// only when the event loop turns: a loop of synchronous calls would grow without bound.
fn to_buffer<'env>(
    env: &'env Env,
    made: Result<Vec<u8>, Failure>,
) -> napi::Result<BufferSlice<'env>> {
    BufferSlice::copy_from(env, made.map_err(|failure| failure.into_error(env))?)
}
