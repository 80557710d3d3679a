//! `qr-options` as a module of Python; `qr_fast.pyi` is its documentation.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString};
use qr_options::draw_json;
use qr_options::fault::Fault;
use serde_json::{Map, Number, Value};

pyo3::create_exception!(
    qr_fast,
    QrError,
    PyValueError,
    "The options are wrong, or the picture that they describe cannot be made."
);

/// Draws a QR code and returns the file's bytes.
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
fn draw<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let object = object_of(text, options)?;
    Ok(PyBytes::new(py, &drawn(py, &object)?))
}

/// Draws a QR code into a file. The default of `format` is the file's extension.
#[pyfunction]
#[pyo3(signature = (text, path, /, **options))]
fn save(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    path: PathBuf,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let mut object = object_of(text, options)?;
    if let Some(extension) = path.extension().and_then(|it| it.to_str()) {
        object.entry("format").or_insert_with(|| extension.to_lowercase().into());
    }
    let bytes = drawn(py, &object)?;
    py.detach(|| std::fs::write(&path, bytes))?;
    Ok(())
}

/// The modules of a QR code, row by row: true is dark.
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
fn matrix(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Vec<bool>>> {
    let symbol = described(py, object_of(text, options)?)?;
    let rows = symbol["rows"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Ok(rows.map(|row| row.bytes().map(|module| module == b'1').collect()).collect())
}

/// Splits a text into as many QR codes as it takes, linked by structured append.
#[pyfunction]
#[pyo3(signature = (text, /, **options))]
fn make_sequence<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let mut object = object_of(text, options)?;
    object.insert("part".to_owned(), 1.into());
    // The number of parts depends only on these options; `format="json"` refuses most others.
    const OF_SYMBOL: &str = "text data level boost version_min version_max mask mode eci gs1 part";
    let of_symbol = |name: &str| OF_SYMBOL.split(' ').any(|it| it == name);
    let symbol = object.clone().into_iter().filter(|(name, _)| of_symbol(name)).collect();
    let parts = described(py, symbol)?["parts"].as_u64().unwrap_or(1);
    let draw_part = |part: u64| {
        object.insert("part".to_owned(), part.into());
        Ok(PyBytes::new(py, &drawn(py, &object)?))
    };
    (1..=parts).map(draw_part).collect()
}

/// The symbol that `object` describes, as `format="json"` gives it.
fn described(py: Python<'_>, mut object: Map<String, Value>) -> PyResult<Value> {
    object.insert("format".to_owned(), "json".into());
    // The JSON comes from this library, so it can always be parsed.
    Ok(serde_json::from_slice(&drawn(py, &object)?).unwrap_or_default())
}

/// The file of the options. Releases the interpreter's lock while it draws.
fn drawn(py: Python<'_>, object: &Map<String, Value>) -> PyResult<Vec<u8>> {
    let object = Value::Object(object.clone()).to_string();
    match py.detach(|| draw_json(&object)) {
        Ok(drawn) => Ok(drawn.bytes),
        Err(faults) => Err(error_of(py, &faults)?),
    }
}

/// The arguments of a call as a JSON object of options.
fn object_of(
    text: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Map<String, Value>> {
    let mut object = Map::new();
    let (name, value) = match text.cast::<PyBytes>() {
        Ok(bytes) => ("data", Value::String(STANDARD.encode(bytes.as_bytes()))),
        Err(_) if text.is_instance_of::<PyString>() => ("text", value_of("text", text)?),
        Err(_) => return Err(PyTypeError::new_err("text must be str or bytes")),
    };
    object.insert(name.to_owned(), value);
    for (name, value) in options.into_iter().flatten() {
        let name: String = name.extract()?;
        let value = value_of(&name, &value)?;
        object.insert(name, value);
    }
    Ok(object)
}

/// The value of an option as JSON. A lone surrogate raises Python's own `UnicodeEncodeError`.
fn value_of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let wrong = || PyTypeError::new_err(format!("{name} must be str, int, float, bool or None"));
    if value.is_none() {
        return Ok(Value::Null);
    }
    // Checked before `int`, because `bool` is a subclass of it.
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Value::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyString>() {
        return value.extract().map(Value::String);
    }
    let number = if value.is_instance_of::<PyInt>() {
        // A larger number is out of range for every option, as is this one.
        Some(Number::from(value.extract::<i64>().unwrap_or(i64::MAX)))
    } else if value.is_instance_of::<PyFloat>() {
        Number::from_f64(value.extract()?)
    } else {
        None
    };
    number.map(Value::Number).ok_or_else(wrong)
}

/// The exception, with the faults as dicts.
fn error_of(py: Python<'_>, faults: &[Fault]) -> PyResult<PyErr> {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let error = QrError::new_err(lines.join("; "));
    // Strings and numbers always serialise.
    let json = serde_json::to_string(faults).unwrap_or_default();
    let faults = py.import("json")?.call_method1("loads", (json,))?;
    error.value(py).setattr("faults", faults)?;
    Ok(error)
}

/// The module.
#[pymodule]
mod qr_fast {
    #[pymodule_export]
    use super::QrError;
    #[pymodule_export]
    use super::{draw, make_sequence, matrix, save};
    /// The version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python has for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
