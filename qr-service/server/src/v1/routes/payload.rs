//! `/v1/payload/KIND`: takes the fields of a payload and answers with its symbol.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::Method;
use qr_options::OPTIONS;

use super::{Shared, qr};
use crate::v1::fault::Refusal;
use crate::v1::options::{Format, Options};
use crate::v1::parameters::Schema;
use crate::v1::payload::KINDS;

/// Answers `/v1/payload/KIND`, with or without an extension. Kinds with a secret are accepted only by POST, because
/// queries get into logs and histories.
pub(super) async fn get(
    State(api): Shared,
    Path(file): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let (name, format) = match file.split_once('.') {
        None => (&*file, None),
        Some((name, extension)) => {
            (name, Some(Format::of_extension(extension).ok_or_else(Refusal::no_format)?))
        }
    };
    let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        Refusal::NoSuch("payload", names.join(", "))
    })?;
    if kind.is_secret && request.method() != Method::POST {
        return Err(Refusal::Method("POST"));
    }
    let (parts, body) = request.into_parts();
    let mut faults = Vec::new();
    let schemas: [&Schema; 2] = [&kind.schema, &OPTIONS];
    let values = qr::read_values(&parts, body, &schemas, &mut faults).await?;
    let mut options: Options = OPTIONS.read(&values, &mut faults).unwrap_or_default();
    kind.apply(&values, &mut options, &mut faults);
    qr::serve(&api, &parts, format, options, faults).await
}
