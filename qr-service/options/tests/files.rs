//! Checks that the files of the bindings that are generated from the definition of the options are up to date.
//! `make generate` writes them, by `GENERATE=1`.

#![cfg(feature = "image")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use image::{Rgba, RgbaImage};
use qr_options::artwork::{Artwork, LogoPixels};
use qr_options::fault::Fault;
use qr_options::options::{Format, Options};
use qr_options::parameters::read_query;
use qr_options::picture::draw;
use qr_options::plan::Plan;
use qr_options::symbol::encode;
use qr_options::{Definition, Drawn, OPTIONS, Parameters, draw_json, draw_query};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Options that only the service has, because it decodes logos and answers browsers.
const OF_THE_SERVICE: [&str; 3] = ["filename", "logo", "logo_size"];

/// Writes the file if `GENERATE` is set, then compares it.
fn is_up_to_date(path: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if env::var_os("GENERATE").is_some() {
        fs::write(&path, made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "{} is out of date: run make generate", path.display());
}

fn result_of(drawn: Result<Drawn, Vec<Fault>>) -> Value {
    match drawn {
        Ok(Drawn { bytes, format }) => {
            let hash = Sha256::digest(&bytes);
            let hash = hash.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
            json!({"media_type": format.content_type(), "sha256": hash})
        }
        Err(faults) => {
            let name = |fault: &Fault| {
                let code = serde_json::to_value(fault.code).unwrap();
                format!("{} {}", fault.parameter, code.as_str().unwrap())
            };
            json!({"faults": faults.iter().map(name).collect::<Vec<_>>()})
        }
    }
}

/// The options as a query.
fn query_of(options: &Value) -> String {
    let mut query = String::new();
    for (name, value) in options.as_object().unwrap().iter().filter(|(_, it)| !it.is_null()) {
        let value = value.as_str().map_or(value.to_string(), str::to_owned);
        let escaped = value.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02X}"));
        write!(query, "&{name}={escaped}").unwrap();
    }
    query
}

/// The tests of the service and of all bindings draw these cases as well.
#[test]
fn cases_have_the_same_results_as_json_and_as_a_query() {
    let cases = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("cases.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_slice(&cases).unwrap();
    let lines = cases.iter().map(|case| {
        let options = &case["options"];
        let result = result_of(draw_json(&options.to_string()));
        assert_eq!(result_of(draw_query(&query_of(options))), result, "{options}");
        let mut line = json!({"options": options});
        line.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
        line.to_string()
    });
    let lines: Vec<String> = lines.collect();
    is_up_to_date("cases.json", &format!("[\n{}\n]\n", lines.join(",\n")));
}

/// Draws a query with a logo of 600 x 300 pixels as the service does; a query with `cross` has the Swiss cross.
fn drawn_with_logo(query: &str) -> Result<(Drawn, Option<f64>), Vec<Fault>> {
    let mut faults = Vec::new();
    let values = read_query(query.trim_end_matches("&cross"), &[&OPTIONS], &mut faults);
    let mut options: Options = OPTIONS.read(&values, &mut faults).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    options.has_swiss_cross = query.ends_with("&cross");
    let format = options.format.unwrap_or(Format::Png);
    let plan = Plan::new(options, format)?;
    let encoded = encode(&plan).map_err(|fault| vec![fault])?;
    let logo = RgbaImage::from_fn(600, 300, |x, y| {
        Rgba([(x / 3) as u8, y as u8, 200, 255 - (x / 6) as u8])
    });
    let pixels = plan.look.logo.as_ref().map(|_| &logo as &dyn LogoPixels);
    let art = Artwork::of(&plan, &encoded, pixels);
    let bytes = draw(&plan, &encoded, art.as_ref()).map_err(|fault| vec![fault])?;
    Ok((Drawn { bytes, format }, encoded.unused_correction()))
}

/// Where a logo has room, how it is drawn, and what would work where it has none.
#[test]
fn logos_have_the_same_places_and_pictures() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logos.json");
    let cases: Vec<Vec<String>> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let lines = cases.iter().map(|case| {
        let result = match drawn_with_logo(&case[0]) {
            Ok((drawn, unused)) => {
                format!("{unused:?} {}", result_of(Ok(drawn))["sha256"].as_str().unwrap())
            }
            Err(faults) => serde_json::to_string(&faults).unwrap(),
        };
        json!([case[0], result]).to_string()
    });
    let lines: Vec<String> = lines.collect();
    is_up_to_date("tests/logos.json", &format!("[\n{}\n]\n", lines.join(",\n")));
}

/// The definitions that bindings have, with their schemas.
fn definitions() -> Vec<(&'static Definition, Value)> {
    let properties = Options::schema()["properties"].take();
    let all = Options::DEFINITIONS.iter();
    let all = all.filter(|it| !OF_THE_SERVICE.contains(&it.name));
    all.map(|it| (it, properties[it.name].clone())).collect()
}

/// The type of an option in another language. `types` are those for numbers, integers, booleans and texts; `names`
/// makes the type of an option with named values.
fn type_in(
    definition: &Definition,
    schema: &Value,
    types: [&str; 4],
    names: fn(&[&str]) -> String,
) -> String {
    if !definition.names().is_empty() {
        return names(definition.names());
    }
    let of = schema["type"][0].as_str().unwrap();
    let at = ["number", "integer", "boolean", "string"].iter().position(|it| *it == of);
    types[at.unwrap()].to_owned()
}

#[test]
fn types_of_typescript_are_up_to_date() {
    let mut made = String::from(
        "// Made from the definition of the options: qr-service/options/tests/files.rs.\n\n\
         /** What to encode, and how to draw it. `text` or `data` is required. */\n\
         export interface QrOptionsOfService {\n",
    );
    for (definition, schema) in definitions() {
        let lines: Vec<&str> = definition.description.iter().map(|line| line.trim()).collect();
        match &lines[..] {
            [line] => writeln!(made, "  /** {line} */").unwrap(),
            lines => writeln!(made, "  /**\n   * {}\n   */", lines.join("\n   * ")).unwrap(),
        }
        let of = type_in(definition, &schema, ["number", "number", "boolean", "string"], |names| {
            format!("'{}'", names.join("' | '"))
        });
        writeln!(made, "  {}?: {of} | null;", definition.name).unwrap();
    }
    made.push_str(
        "}\n\n/** The fault of an option, and the values that would work. */\n\
         export interface QrFault {\n  \
         /** Name of the option. */\n  parameter: string;\n  \
         /** Kind of fault for programs, such as `out-of-range`. */\n  code: string;\n  \
         /** The fault in words, for people. */\n  detail: string;\n  \
         minimum?: number;\n  maximum?: number;\n  allowed?: string[];\n  suggestion?: string;\n}\n",
    );
    is_up_to_date("../bindings/node/options.d.ts", &made);
}

#[test]
fn types_of_python_are_up_to_date() {
    let mut made = String::from(
        "# Made from the definition of the options: qr-service/options/tests/files.rs.\n\n\
         from os import PathLike\nfrom typing import Any, Literal\n\n\
         class QrError(ValueError):\n    \
         \"\"\"The options are wrong, or the picture that they describe cannot be made.\"\"\"\n\n    \
         faults: list[dict[str, Any]]\n    \
         \"\"\"Each has parameter, code and detail, and may have minimum, maximum, allowed and suggestion.\"\"\"\n\n\
         def draw(\n    text: str | bytes,\n    /,\n    *,\n",
    );
    let of_call = |it: &&(&Definition, Value)| !matches!(it.0.name, "text" | "data");
    let mut about = String::new();
    for (definition, schema) in definitions().iter().filter(of_call) {
        let lines: Vec<&str> = definition.description.iter().map(|line| line.trim()).collect();
        writeln!(about, "    {}: {}", definition.name, lines.join("\n        ")).unwrap();
        let of = type_in(definition, schema, ["float", "int", "bool", "str"], |names| {
            format!("Literal[\"{}\"]", names.join("\", \""))
        });
        writeln!(made, "    {}: {of} | None = None,", definition.name).unwrap();
    }
    made.push_str(
        ") -> bytes:\n    \"\"\"Draws a QR code, with the same bytes as qr-service for the same options.\n\n",
    );
    made.push_str(&about);
    made.push_str(
        "    \"\"\"\n\n\
         def save(text: str | bytes, path: str | PathLike[str], /, **options: Any) -> None:\n    \
         \"\"\"Draws into a file, with the options of draw. The default format is the file's extension.\"\"\"\n\n\
         def matrix(text: str | bytes, /, **options: Any) -> list[list[bool]]:\n    \
         \"\"\"The modules row by row, without quiet zone: True is dark. Takes draw's options for the symbol.\"\"\"\n\n\
         def make_sequence(text: str | bytes, /, **options: Any) -> list[bytes]:\n    \
         \"\"\"Splits a text into as few codes of up to version_max as hold it, at most 16 (structured append).\"\"\"\n",
    );
    is_up_to_date("../bindings/python/qr_fast.pyi", &made);
}
