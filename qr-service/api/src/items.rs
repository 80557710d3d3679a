//! Many items in one body: a JSON array, a line of JSON for each (NDJSON), or a table (CSV, RFC 4180) whose
//! first row names the parameters.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::fault::{Code, Fault};
use crate::options::Format;
use crate::parameters::{Entries, Schema, read_entries, read_pairs};

/// The media types of a body of items.
pub(crate) const MEDIA: &str = "application/json, application/x-ndjson, text/csv";
/// The most items of a body.
pub(crate) const MAX_ITEMS: usize = 1000;
/// The most faults that are listed.
const MAX_FAULTS: usize = 200;

/// Faults of items, up to [`MAX_FAULTS`].
#[derive(Default)]
pub(crate) struct ItemFaults {
    pub(crate) faults: Vec<Fault>,
    pub(crate) count: usize,
}

impl ItemFaults {
    /// Adds faults of the item at `index`, counted from 0, whose parameters get its name.
    pub(crate) fn add(&mut self, index: usize, faults: Vec<Fault>) {
        for mut fault in faults {
            self.count += 1;
            if self.faults.len() < MAX_FAULTS {
                fault.parameter = format!("items[{index}].{}", fault.parameter);
                self.faults.push(fault);
            }
        }
    }
}

/// Reads the items, with the faults of each that concern names alone.
///
/// # Errors
/// If the body is not what its media type says, or has no item or too many.
pub(crate) fn read_items(
    media: &str,
    body: &[u8],
    schemas: &[&Schema],
    faults: &mut ItemFaults,
) -> Result<Vec<Map<String, Value>>, String> {
    let mut items = Vec::new();
    if media == "text/csv" {
        for (index, row) in read_table(body)?.into_iter().enumerate() {
            let mut of_item = Vec::new();
            items.push(read_pairs(row, schemas, &mut of_item));
            faults.add(index, of_item);
        }
    } else {
        let is_lines = media == "application/x-ndjson";
        let rows = if is_lines { read_lines(body)? } else { read_array(body)? };
        for (index, row) in rows.into_iter().enumerate() {
            let mut of_item = Vec::new();
            items.push(read_entries(row, schemas, &mut of_item));
            faults.add(index, of_item);
        }
    }
    match items.len() {
        0 => Err("there are no items".to_owned()),
        count if count > MAX_ITEMS => Err(format!("there are {count} items, above {MAX_ITEMS}")),
        _ => Ok(items),
    }
}

fn read_array(body: &[u8]) -> Result<Vec<Entries>, String> {
    serde_json::from_slice(body)
        .map_err(|error| format!("the body is not a JSON array of objects: line {}", error.line()))
}

fn read_lines(body: &[u8]) -> Result<Vec<Entries>, String> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    let read = |(number, line): (usize, &[u8])| {
        serde_json::from_slice(line)
            .map_err(|_| format!("line {} is not a JSON object", number + 1))
    };
    lines.filter(|(_, line)| !line.is_empty()).map(read).collect()
}

/// The rows as pairs of column and value; an empty cell is a parameter that is not given.
fn read_table(body: &[u8]) -> Result<Vec<Vec<(String, String)>>, String> {
    // Excel begins its files with a byte order mark.
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let refuse = |error: csv::Error| match error.position() {
        Some(at) => format!("line {} is not a row of UTF-8 as long as the first", at.line()),
        None => "the body is not CSV".to_owned(),
    };
    let mut reader = csv::Reader::from_reader(body);
    let names = reader.headers().map_err(refuse)?.clone();
    let mut rows = Vec::new();
    for row in reader.records() {
        let row = row.map_err(refuse)?;
        let pairs = names.iter().zip(&row).filter(|(_, value)| !value.is_empty());
        rows.push(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
    }
    Ok(rows)
}

/// Gives each file of an archive its name: safe on every system, with the format's extension, once.
pub(crate) struct Names {
    used: HashSet<String>,
}

impl Names {
    /// `reserved` is a name in lower case that no item may have.
    pub(crate) fn new(reserved: &str) -> Self {
        Names { used: HashSet::from([reserved.to_owned()]) }
    }

    /// The name of the file of the item at `index`.
    ///
    /// # Errors
    /// If it is not safe or used already.
    pub(crate) fn choose(
        &mut self,
        index: usize,
        asked: Option<String>,
        format: Format,
    ) -> Result<String, Fault> {
        let extension = format!(".{}", format.as_str());
        let mut name = asked.unwrap_or_else(|| format!("qr-{:04}", index + 1));
        if !name.to_lowercase().ends_with(&extension) {
            name.push_str(&extension);
        }
        if !is_safe(&name) {
            let detail = "no file has this name on every system: it has one of / \\ : * ? \" < > |, a control \
                character, begins with a dot, or is a device";
            return Err(Fault::new("filename", Code::Malformed, detail));
        }
        // Some systems do not tell cases apart.
        if !self.used.insert(name.to_lowercase()) {
            let detail = "another item has this name";
            return Err(Fault::new("filename", Code::Repeated, detail));
        }
        Ok(name)
    }
}

fn is_safe(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let is_numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    let is_device =
        matches!(&*stem, "CON" | "PRN" | "AUX" | "NUL") || is_numbered("COM") || is_numbered("LPT");
    !stem.is_empty()
        && !is_device
        && !name.starts_with(' ')
        && !name.contains(|c: char| c.is_control() || "/\\:*?\"<>|".contains(c))
}
