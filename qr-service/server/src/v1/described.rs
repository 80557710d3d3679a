//! The headers that describe a symbol.

use std::fmt::Display;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::v1::plan::Plan;
use crate::v1::symbol::Encoded;

/// The headers that describe a symbol, in a map with room for the other headers of the answer.
pub(crate) fn describe(plan: &Plan, encoded: &Encoded) -> HeaderMap {
    let (symbol, mut headers) = (&encoded.symbol, HeaderMap::with_capacity(24));
    let mut put = |name, value: &dyn Display| {
        // Numbers and names have only characters that are valid in a header.
        let value = HeaderValue::from_maybe_shared(Bytes::from(value.to_string()));
        headers.extend(value.ok().map(|value| (HeaderName::from_static(name), value)));
    };
    put("x-qr-kind", &plan.symbol.kind().as_str());
    put("x-qr-version", &symbol.version());
    if let Some(level) = symbol.level() {
        put("x-qr-level", &level);
    }
    if let Some(mask) = symbol.mask() {
        put("x-qr-mask", &mask);
    }
    let modules = symbol.modules();
    put("x-qr-modules", &format_args!("{}x{}", modules.width(), modules.height()));
    put("x-qr-parts", &encoded.parts);
    match encoded.unused_correction() {
        Some(1.0) => put("x-qr-unused-correction", &1),
        Some(unused) => put("x-qr-unused-correction", &format_args!("{unused:.2}")),
        None => {}
    }
    headers
}
