//! Reads a table as spreadsheets save it: CSV (RFC 4180) with commas, semicolons or tabs, in UTF-8, UTF-16 or
//! Windows-1252.

use std::borrow::Cow;

use csv::StringRecord;
use encoding_rs::{Encoding, WINDOWS_1252};

use crate::v1::fault::Fault;
use crate::v1::parameters::{Schema, unknown};

/// The first bytes of workbooks: of a ZIP archive, and of Excel's format before 2007.
const WORKBOOKS: [&[u8]; 2] = [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"];
/// Columns whose name begins with this character are ignored.
const LEFT_OUT: char = '_';

/// Reads the rows as pairs of column and value; an empty cell means that the parameter is not given. A list of texts,
/// one per line, needs no column names. Adds a fault for each column that is not a parameter. Fails with a message for
/// the client if it is not a table, or its first row names no parameter.
pub(crate) fn read_table(
    body: &[u8],
    schemas: &[&Schema],
    faults: &mut Vec<Fault>,
) -> Result<Vec<Vec<(String, String)>>, String> {
    if WORKBOOKS.iter().any(|begin| body.starts_with(begin)) {
        return Err("the file is a workbook; save it as CSV".to_owned());
    }
    let text = decode(body);
    let (separator, text) = separator_of(&text);
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.delimiter(separator).has_headers(false).flexible(true);
    let rows: Result<Vec<StringRecord>, _> =
        reader.from_reader(text.as_bytes()).records().collect();
    let rows = rows.map_err(|_| "the body is not CSV".to_owned())?;
    let Some(first) = rows.first() else { return Ok(Vec::new()) };
    let names: Vec<String> = first.iter().map(|name| parameter_of(name, schemas)).collect();
    let is_known = |name: &str| schemas.iter().any(|schema| schema.has(name));
    if !names.iter().any(|name| is_known(name)) {
        return match first.len() {
            1 if is_data(&first[0]) => {
                let texts = rows.iter().filter(|row| !row[0].is_empty());
                Ok(texts.map(|row| vec![("text".to_owned(), row[0].to_owned())]).collect())
            }
            _ => Err("line 1 names no parameter; begin with a row of names such as text,filename"
                .to_owned()),
        };
    }
    let is_left_out = |name: &str| name.is_empty() || name.starts_with(LEFT_OUT);
    for name in names.iter().filter(|name| !is_known(name) && !is_left_out(name)) {
        let fault = unknown(name, schemas);
        faults.push(match fault.suggestion {
            Some(_) => fault,
            None => fault.suggest(format!("delete the column, or begin its name with {LEFT_OUT}")),
        });
    }
    let mut read = Vec::with_capacity(rows.len());
    // Spreadsheets also save the empty rows below a table.
    for row in rows[1..].iter().filter(|row| row.iter().any(|cell| !cell.is_empty())) {
        let line = row.position().map_or(0, csv::Position::line);
        if row.len() < names.len() || row.iter().skip(names.len()).any(|cell| !cell.is_empty()) {
            let (cells, least, separator) = (row.len(), names.len(), char::from(separator));
            return Err(format!(
                "line {line} has {cells} cells, but the first has {least}; put cells with a {separator:?} in quotation marks"
            ));
        }
        let pairs = names.iter().zip(row).filter(|(name, cell)| is_known(name) && !cell.is_empty());
        read.push(pairs.map(|(name, cell)| (name.clone(), cell.to_owned())).collect());
    }
    Ok(read)
}

/// Decodes a body by its byte order mark, or else as UTF-8, or else as Windows-1252, which Excel writes in western
/// Europe.
fn decode(body: &[u8]) -> Cow<'_, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return encoding.decode_without_bom_handling(&body[mark..]).0;
    }
    match std::str::from_utf8(body) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(body).0,
    }
}

/// The separator of cells, and the text to read. A first line such as `sep=;`, which Excel writes, sets the separator
/// and is removed; otherwise it is the most frequent one in the first line, outside quotation marks.
fn separator_of(text: &str) -> (u8, &str) {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    if let Some(&[separator]) = line.trim_end().strip_prefix("sep=").map(str::as_bytes) {
        return (separator, rest);
    }
    let outside: String = line.split('"').step_by(2).collect();
    let count = |separator: &u8| outside.bytes().filter(|byte| byte == separator).count();
    let most = [b'\t', b';', b','].into_iter().max_by_key(count);
    (most.unwrap_or(b','), text)
}

/// The parameter that a column means: `File name` is `filename`, `Job title` is `job_title`.
fn parameter_of(name: &str, schemas: &[&Schema]) -> String {
    let name = name.trim();
    let lower = name.to_lowercase();
    let forms = [
        name.to_owned(),
        lower.clone(),
        lower.replace([' ', '-'], "_"),
        lower.replace([' ', '-'], ""),
    ];
    let known = forms.into_iter().find(|form| schemas.iter().any(|schema| schema.has(form)));
    known.unwrap_or_else(|| name.to_owned())
}

/// Whether a cell looks like data, not like the name of a column.
fn is_data(cell: &str) -> bool {
    cell.contains(['/', ':', '.', '@']) || cell.starts_with(|c: char| c.is_ascii_digit())
}
