//! `qr-core` as a native addon of Node.js; `index.d.ts` is its documentation.
//!
//! `request` reads arguments strictly; `failure` makes errors like those of Node's own functions.

mod failure;
mod request;

use std::panic::catch_unwind;

use napi::bindgen_prelude::{AsyncTask, BufferSlice, JsObjectValue, Object, Unknown};
use napi::{Env, ScopedTask};
use napi_derive::napi;
use qr_options::fault::Fault;
use qr_options::{Drawn, draw_json, draw_query};

use crate::mistake::Mistake;
use crate::request::Request;
use failure::Failure;

/// Draws the PNG of `text` on the calling thread. Throws the JavaScript error that `failure` makes, or the one that a
/// getter of `options` threw.
#[napi]
pub fn generate<'env>(
    env: &'env Env,
    text: Unknown<'env>,
    options: Unknown<'env>,
) -> napi::Result<BufferSlice<'env>> {
    to_buffer(env, Request::read(&text, &options).and_then(|request| draw(&request)))
}

/// Reads the arguments, then draws the PNG of `text` on a thread of libuv's pool. Throws as [`generate`] does.
/// Invalid arguments throw here; `index.js` turns that into a rejection.
#[napi]
pub fn generate_async(
    env: &Env,
    text: Unknown<'_>,
    options: Unknown<'_>,
) -> napi::Result<AsyncTask<Drawing>> {
    let request = Request::read(&text, &options).map_err(|failure| failure.into_error(env))?;
    Ok(AsyncTask::new(Drawing(request)))
}

/// Draws with every option, which `index.js` passes as a query or as JSON. Returns an object with `bytes` and
/// `mediaType`, or with the error's `message` and its `faults` as JSON. Fails if the library panics.
#[napi]
pub fn draw_options(env: &Env, options: String, is_query: bool) -> napi::Result<Object<'_>> {
    answer_of(env, draw_with(&options, is_query))
}

/// Like [`draw_options`], but on a thread of libuv's pool.
#[napi]
pub fn draw_options_async(options: String, is_query: bool) -> AsyncTask<DrawingOptions> {
    AsyncTask::new(DrawingOptions(options, is_query))
}

type Outcome = Result<Result<Drawn, Vec<Fault>>, Mistake>;

fn draw_with(options: &str, is_query: bool) -> Outcome {
    catch_unwind(|| if is_query { draw_query(options) } else { draw_json(options) })
        .map_err(|_| Mistake::Internal)
}

fn answer_of(env: &Env, drawn: Outcome) -> napi::Result<Object<'_>> {
    let drawn = drawn.map_err(|mistake| Failure::from(mistake).into_error(env))?;
    let mut answer = Object::new(env)?;
    match drawn {
        Ok(drawn) => {
            answer.set_named_property("bytes", BufferSlice::copy_from(env, drawn.bytes)?)?;
            answer.set_named_property("mediaType", drawn.format.content_type())?;
        }
        Err(faults) => {
            let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
            // Strings and numbers always serialise.
            let json = serde_json::to_string(&faults).unwrap_or_default();
            answer.set_named_property("message", lines.join("; "))?;
            answer.set_named_property("faults", json)?;
        }
    }
    Ok(answer)
}

/// Options to draw on another thread: a query or JSON, and whether it is a query.
pub struct DrawingOptions(String, bool);

impl<'env> ScopedTask<'env> for DrawingOptions {
    type Output = Outcome;
    type JsValue = Object<'env>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(draw_with(&self.0, self.1))
    }

    fn resolve(&mut self, env: &'env Env, drawn: Self::Output) -> napi::Result<Self::JsValue> {
        answer_of(env, drawn)
    }
}

/// A picture to draw on another thread.
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

/// Draws on any thread. A panic becomes a failure, because on a thread of libuv it would end the process.
fn draw(request: &Request) -> Result<Vec<u8>, Failure> {
    Ok(catch_unwind(|| request.draw()).unwrap_or(Err(Mistake::Internal))?)
}

/// Copies the picture to memory that V8 owns. Handing over the vector would be no faster, and V8
/// would free it only when the event loop turns, so a loop of synchronous calls would grow without
/// bound.
fn to_buffer<'env>(
    env: &'env Env,
    made: Result<Vec<u8>, Failure>,
) -> napi::Result<BufferSlice<'env>> {
    BufferSlice::copy_from(env, made.map_err(|failure| failure.into_error(env))?)
}
