//! Every option of a QR code and its picture: one definition for the service and for the bindings.
//!
//! [`draw_query`] and [`draw_json`] are all that a binding needs. `qr-service` calls the steps one by one, because
//! it also decodes logos and checks that its pictures can be read:
//!
//! 1. [`parameters`](mod@parameters) reads a query or a JSON object and lists every fault at once, by the schema of
//!    [`options::Options`].
//! 2. [`plan`] fills in defaults and finds contradictions.
//! 3. [`symbol`] encodes, [`picture`] draws.
//!
//! No I/O, no logging, no `unsafe`, and no decoding of pictures.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod artwork;
pub mod definition;
pub mod fault;
pub mod label;
pub mod options;
pub mod parameters;
pub mod picture;
mod place;
pub mod plan;
pub mod symbol;

use std::sync::LazyLock;

use serde_json::{Map, Value};

use artwork::Artwork;
pub use definition::{Definition, Parameters};
use fault::{Code, Fault};
use options::{Format, Options};
use parameters::{Schema, read_json, read_pairs, read_query};

/// The parameters of [`Options`].
pub static OPTIONS: LazyLock<Schema> = LazyLock::new(Schema::of::<Options>);

/// A drawn picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The file.
    pub bytes: Vec<u8>,
    /// Its format.
    pub format: Format,
}

/// Draws the picture that a percent-encoded query describes, such as `text=hello&format=svg`, like `GET /v1/qr`.
///
/// Unlike the service it decodes no logo and does not check that a decoder can read the picture.
///
/// # Errors
/// Every fault of the options, or the reason why the picture cannot be made.
pub fn draw_query(query: &str) -> Result<Drawn, Vec<Fault>> {
    let mut faults = Vec::new();
    let values = read_query(query, &[&OPTIONS], &mut faults);
    draw_values(&values, faults)
}

/// Draws the picture that a JSON object describes, like `POST /v1/qr`; see [`draw_query`].
///
/// # Errors
/// Every fault of the options, or the reason why the picture cannot be made.
pub fn draw_json(object: &str) -> Result<Drawn, Vec<Fault>> {
    let mut faults = Vec::new();
    match read_json(object.as_bytes(), &[&OPTIONS], &mut faults) {
        Ok(values) => draw_values(&values, faults),
        Err(detail) => Err(vec![Fault::new("body", Code::Malformed, detail)]),
    }
}

/// Checks one value, given as the decoded text of a query.
///
/// # Errors
/// The fault of the value, or [`Code::Unknown`] if there is no option of this name.
pub fn check_value(name: &str, value: &str) -> Result<(), Fault> {
    read_values(vec![(name.to_owned(), value.to_owned())])
        .map(|_| ())
        .map_err(|mut it| it.remove(0))
}

/// Reads options from decoded names and values of a query. Does not look for contradictions.
///
/// # Errors
/// Every fault of a name or a value.
pub fn read_values(pairs: Vec<(String, String)>) -> Result<Options, Vec<Fault>> {
    let mut faults = Vec::new();
    let values = read_pairs(pairs, &[&OPTIONS], &mut faults);
    let options = OPTIONS.read(&values, &mut faults).unwrap_or_default();
    if faults.is_empty() { Ok(options) } else { Err(faults) }
}

fn draw_values(values: &Map<String, Value>, mut faults: Vec<Fault>) -> Result<Drawn, Vec<Fault>> {
    if values.get("logo").is_some_and(|logo| !logo.is_null()) {
        let fault = Fault::new("logo", Code::NotAllowed, "only the service decodes logos");
        faults.push(fault.suggest("send the request to qr-service"));
    }
    let options: Options = OPTIONS.read(values, &mut faults).unwrap_or_default();
    let format = options.format.unwrap_or(Format::Png);
    if options.caption.is_some() && format == Format::Png {
        let fault =
            Fault::new("caption", Code::NotAllowed, "only the service draws letters in a PNG");
        faults.push(fault.suggest("use format svg, pdf or eps"));
    }
    let plan = plan::plan_of(options, format, faults)?;
    let encoded = symbol::encode(&plan).map_err(|fault| vec![fault])?;
    let art = Artwork::of(&plan, &encoded, None);
    let bytes = picture::draw(&plan, &encoded, art.as_ref()).map_err(|fault| vec![fault])?;
    Ok(Drawn { bytes, format })
}
