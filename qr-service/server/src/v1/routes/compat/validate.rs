//! QuickChart's `/api/validate-qr`: checks what `/qr` would answer to the same JSON, without sending the picture.

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use super::super::Shared;
use super::drawing::wrong;
use super::fields::Fields;
use super::quickchart::{drawn, line_of, posted, size_px};
use super::uncached;
use crate::v1::fault::Refusal;

/// The formats that this path accepts; `/qr` draws a PNG for all others.
const FORMATS: [&str; 5] = ["png", "svg", "jpg", "jpeg", "base64"];

/// Answers `/api/validate-qr`.
pub(super) async fn answer(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let Some(fields) = posted(&parts.headers, body).await? else {
        return Ok(answer_of(json!({}), &Err("body: it is not a JSON object".to_owned())));
    };
    let normalized = normalized(&fields);
    let checked = api.pool.run(move || check(&fields)).await?;
    Ok(answer_of(normalized, &checked))
}

/// Media type and length of the picture, or the reason why there is none.
fn check(fields: &Fields) -> Result<(&'static str, usize), String> {
    if fields.given("format").is_some_and(|format| !FORMATS.contains(&format)) {
        return Err(line_of(&wrong("format", "use png, svg, jpg or base64")));
    }
    let (media, picture) = drawn(fields).map_err(|fault| line_of(&fault))?;
    Ok((media, picture.len()))
}

fn answer_of(normalized: Value, checked: &Result<(&'static str, usize), String>) -> Response {
    let (status, body) = match checked {
        Ok((media, bytes)) => (
            StatusCode::OK,
            json!({"success": true, "errors": [], "warnings": [], "normalized": normalized,
                "renderCheck": {"contentType": media, "bytes": bytes}}),
        ),
        Err(error) => (
            StatusCode::BAD_REQUEST,
            json!({"success": false, "errors": [error], "warnings": [], "normalized": normalized}),
        ),
    };
    uncached(status, "application/json", body.to_string())
}

/// The parameters with defaults filled in, without the text.
fn normalized(fields: &Fields) -> Value {
    let or = |name: &str, default: &str| fields.given(name).unwrap_or(default).to_owned();
    let level = if fields.first("centerImageUrl").is_some() { "H" } else { "M" };
    let margin = or("margin", "4").parse::<i64>().ok().filter(|margin| *margin >= 0).unwrap_or(4);
    json!({
        "format": or("format", "png"), "size": size_px(fields), "margin": margin,
        "dark": or("dark", "000"), "light": or("light", "fff"), "ecLevel": or("ecLevel", level),
    })
}
