//! Tests `/v1/` of the running service, over real sockets.

#![cfg(feature = "api")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod artwork;
mod batch;
mod bindings;
mod bodies;
mod decode;
mod description;
mod formats;
mod grade;
mod label_printers;
mod labels;
mod looks;
mod payloads;
mod print;
mod random;
mod recipes;
mod requests;
mod support;
mod symbols;
mod uploads;

/// Only `make test-all` runs these: floods, bombs and slow readers, with memory and time measured.
mod nightly {
    mod hostile;
    mod memory;
}
