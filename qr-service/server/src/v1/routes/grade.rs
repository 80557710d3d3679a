//! `/v1/grade`: takes a picture and answers with the quality of the symbols on it.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::Shared;
use super::decode::{DecodedSymbol, MAX_SYMBOLS, PictureForm, answer};
use crate::v1::fault::{Problem, Refusal};
use crate::v1::grade::{Parameter, parameters};
use crate::v1::options::Kind;
use crate::v1::reader::{self, GreyImage, MAX_TIME};

/// The quality of the symbols on a picture.
#[derive(Debug, Serialize, ToSchema)]
struct Graded {
    /// Width of the picture in pixels, after turning it as its EXIF data says.
    width: u32,
    /// Height of the picture in pixels.
    height: u32,
    /// The symbols that were read and measured; empty if there are none.
    symbols: Vec<GradedSymbol>,
    /// Whether there may be more symbols: at most 256 are read, within two seconds, and measured within as many.
    truncated: bool,
}

/// A symbol and its quality.
#[derive(Debug, Serialize, ToSchema)]
struct GradedSymbol {
    /// The lowest grade of the parameters: 4 is the best, 0 a failure.
    #[schema(maximum = 4)]
    grade: u8,
    parameters: Vec<Parameter>,
    #[serde(flatten)]
    symbol: DecodedSymbol,
}

/// Answers with the grades of the symbols on a PNG, JPEG or WebP, which is sent as to `/v1/decode`: the parameters of
/// ISO/IEC 15415 that a picture can show, each from 4 to 0, with what was measured and what to change. The picture's
/// luma stands for reflectance, so that the grades are not those of a calibrated verifier.
#[utoipa::path(
    post, path = "/v1/grade", operation_id = "grade", tag = "decode",
    request_body(content((Vec<u8> = "image/png"), (Vec<u8> = "image/jpeg"), (Vec<u8> = "image/webp"), (PictureForm = "multipart/form-data"))),
    responses(
        (status = 200, description = "The grades of the symbols on the picture", body = Graded),
        (status = 400, description = "The file is not a picture, is damaged, or has too many pixels", body = Problem, content_type = "application/problem+json"),
        (status = 413, description = "The picture has too many bytes", body = Problem, content_type = "application/problem+json"),
        (status = 415, description = "Another media type", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "All workers are busy", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn post(State(api): Shared, request: Request) -> Result<Response, Refusal> {
    answer(&api, request, graded).await
}

fn graded(picture: &GreyImage) -> Graded {
    let reading = reader::read_photo(picture, &[Kind::Qr, Kind::Micro, Kind::Rmqr], MAX_SYMBOLS);
    let (begun, mut truncated) = (Instant::now(), reading.is_truncated);
    let mut symbols = Vec::new();
    for found in reading.found {
        if begun.elapsed() > MAX_TIME {
            truncated = true;
            break;
        }
        let Some(parameters) = parameters(picture, &found) else { continue };
        let grade = parameters.iter().map(|it| it.grade).min().unwrap_or(0);
        symbols.push(GradedSymbol { grade, parameters, symbol: found.into() });
    }
    Graded { width: picture.width, height: picture.height, symbols, truncated }
}
