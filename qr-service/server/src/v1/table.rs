//! Reads a table as spreadsheets save it: CSV (RFC 4180) with commas, semicolons or tabs, in UTF-8, UTF-16 or
//! Windows-1252.
//!
//! The crates that read CSV accept a quotation mark that is never closed and text after one that is, and change the
//! text of the cell. A picture of another text than the one in the file is worse than no picture.

use std::borrow::Cow;

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::v1::fault::Fault;
use crate::v1::parameters::{Schema, unknown};

/// The first bytes of workbooks: of a ZIP archive, and of Excel's format before 2007.
const WORKBOOKS: [&[u8]; 2] = [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"];
/// Columns whose name begins with this character are ignored.
const LEFT_OUT: char = '_';
/// The most columns of a table. Each name is compared with all parameters, so a line of 260,000 would take long.
const MAX_COLUMNS: usize = 1000;
const SEPARATORS: [char; 3] = ['\t', ';', ','];

/// Pairs of column and value.
pub(crate) type Row = Vec<(String, String)>;

/// Decodes a body by its byte order mark, or else as UTF-8, or else as Windows-1252, which Excel writes in western
/// Europe. Fails with a message for the client if it is a workbook.
pub(crate) fn decode(body: &[u8]) -> Result<Cow<'_, str>, String> {
    if WORKBOOKS.iter().any(|begin| body.starts_with(begin)) {
        return Err("the file is a workbook; save it as CSV".to_owned());
    }
    if let Some((encoding, mark)) = Encoding::for_bom(body) {
        return Ok(encoding.decode_without_bom_handling(&body[mark..]).0);
    }
    Ok(match std::str::from_utf8(body) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(body).0,
    })
}

/// Reads the rows one by one; an empty cell means that the parameter is not given. A list of texts, one per line, needs
/// no column names. `text_column` is the column to take as `text`; columns that are no parameters are then left out,
/// else each is a fault, of which up to `most` are added. Fails with a message for the client if it is not a table, or
/// its first row names no parameter.
pub(crate) fn read_table<'a>(
    text: &'a str,
    schemas: &'a [&'a Schema],
    text_column: Option<&str>,
    most: usize,
    faults: &mut Vec<Fault>,
) -> Result<impl Iterator<Item = Result<Row, String>> + use<'a>, String> {
    let name_of = |cell: &str| match text_column {
        Some(column) if column.trim().eq_ignore_ascii_case(cell.trim()) => "text".to_owned(),
        _ => parameter_of(cell, schemas),
    };
    let is_known = |name: &str| schemas.iter().any(|schema| schema.has(name));
    let mut records = records_of(text, |cell| is_known(&name_of(cell)));
    let first = records.clone().next().transpose()?.map_or(Vec::new(), |(_, cells)| cells);
    if first.len() > MAX_COLUMNS {
        return Err(format!("line 1 has {} columns, above {MAX_COLUMNS}", first.len()));
    }
    let mut names: Vec<String> = first.iter().map(|name| name_of(name)).collect();
    let texts = names.iter().filter(|name| *name == "text").count();
    if text_column.is_some() && texts != 1 {
        let named = "have the name of text_column, or the name text";
        return Err(format!("{texts} columns of line 1 {named}; one must be the text"));
    }
    if names.iter().any(|name| is_known(name)) {
        records.next();
    } else if text_column.is_none() && matches!(&*first, [cell] if is_data(cell)) {
        names = vec!["text".to_owned()];
    } else if !first.is_empty() {
        return Err(no_names(&first, schemas));
    }
    let is_wrong =
        |name: &&String| !(is_known(name) || name.is_empty() || name.starts_with(LEFT_OUT));
    let most = if text_column.is_some() { 0 } else { most };
    let wrong = names.iter().filter(is_wrong).take(most);
    faults.extend(wrong.map(|name| unknown_column(name, schemas)));
    let separator = records.separator;
    // Spreadsheets also save the empty rows below a table.
    let is_empty = |(_, cells): &(usize, Vec<String>)| cells.iter().all(|it| it.trim().is_empty());
    let filled = records.filter(move |record| !record.as_ref().is_ok_and(is_empty));
    Ok(filled.map(move |record| row_of(record?, &names, schemas, separator)))
}

fn unknown_column(name: &str, schemas: &[&Schema]) -> Fault {
    let fault = unknown(name, schemas);
    let advice = format!("delete the column, or begin its name with {LEFT_OUT}");
    if fault.suggestion.is_some() { fault } else { fault.suggest(advice) }
}

/// The pairs of a record. Fails if it has fewer cells than there are names, or more.
fn row_of(
    (line, cells): (usize, Vec<String>),
    names: &[String],
    schemas: &[&Schema],
    separator: Option<char>,
) -> Result<Row, String> {
    if cells.len() < names.len() || cells[names.len()..].iter().any(|cell| !cell.is_empty()) {
        let (cells, least, separator) = (cells.len(), names.len(), separator.unwrap_or(','));
        return Err(format!(
            "line {line} has {cells} cells, but the first has {least}; put cells with a {separator:?} in quotation marks"
        ));
    }
    let pair = |(name, cell): (&String, String)| {
        let schema = schemas.iter().find(|schema| schema.has(name))?;
        Some((name.clone(), schema.cell_value(name, cell, separator == Some(';'))))
    };
    Ok(names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()).filter_map(pair).collect())
}

/// Why a table whose first row has no known name is refused. A column that people often call the text is proposed.
fn no_names(first: &[String], schemas: &[&Schema]) -> String {
    let is_text = |name: &&String| unknown(name, schemas).suggestion.as_deref() == Some("use text");
    let column = first.iter().take(100).find(is_text).map_or("NAME", |name| name.trim());
    format!(
        "line 1 names no parameter; begin with a row of names such as text,filename, or add \
         ?text_column={column} if that column has the texts"
    )
}

/// The records, with the separator of cells. A first line such as `sep=;`, which Excel writes, sets it; otherwise it
/// is the one that divides the first line into the most names, or else into the most cells. If none divides that line,
/// the file has one column.
fn records_of(text: &str, is_name: impl Fn(&String) -> bool) -> Records<'_> {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    if let Some(Ok(separator)) = line.trim_end_matches('\r').strip_prefix("sep=").map(str::parse) {
        return Records { rest, separator: Some(separator), line: 2 };
    }
    let filled = text.trim_start_matches(['\r', '\n']);
    let line = 1 + text[..text.len() - filled.len()].matches('\n').count();
    let with = |separator| Records { rest: filled, separator, line };
    let divided = SEPARATORS.into_iter().filter_map(|separator| {
        let (_, cells) = with(Some(separator)).next()?.ok()?;
        let names = cells.iter().take(MAX_COLUMNS).filter(|cell| is_name(cell)).count();
        (cells.len() > 1).then_some((names, cells.len(), separator))
    });
    with(divided.max().map(|(_, _, separator)| separator))
}

/// Reads records one by one, each with the number of its first line.
#[derive(Clone)]
struct Records<'a> {
    rest: &'a str,
    /// `None` if the file has one column.
    separator: Option<char>,
    line: usize,
}

impl Iterator for Records<'_> {
    type Item = Result<(usize, Vec<String>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        let (line, mut cells) = (self.line, Vec::new());
        if self.rest.is_empty() {
            return None;
        }
        loop {
            match self.cell() {
                Ok(cell) => cells.push(cell),
                Err(problem) => return Some(Err(format!("line {line} {problem}"))),
            }
            match self.separator.and_then(|separator| self.rest.strip_prefix(separator)) {
                Some(rest) => self.rest = rest,
                None => break,
            }
        }
        let rest = self.rest.strip_prefix('\r').unwrap_or(self.rest);
        self.rest = rest.strip_prefix('\n').unwrap_or(rest);
        self.line += 1;
        Some(Ok((line, cells)))
    }
}

impl Records<'_> {
    /// Takes the cell at the beginning of the rest. Fails with what is wrong with it.
    fn cell(&mut self) -> Result<String, &'static str> {
        let mut quoted = None;
        while let Some(rest) = self.rest.strip_prefix('"') {
            let (part, rest) =
                rest.split_once('"').ok_or("has a quotation mark that is not closed")?;
            // Two quotation marks in a cell are one.
            quoted = Some(quoted.map_or(String::new(), |before| before + "\"") + part);
            self.line += part.matches('\n').count();
            self.rest = rest;
        }
        let is_end = |c: char| matches!(c, '\n' | '\r') || self.separator == Some(c);
        let (plain, rest) = self.rest.split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
        self.rest = rest;
        match quoted {
            Some(_) if !plain.trim().is_empty() => {
                Err("has text after a closing quotation mark; write each mark in a cell twice")
            }
            Some(cell) => Ok(cell),
            // Nothing says whether the cell is meant or several are.
            None if self.separator.is_none() && plain.contains(SEPARATORS) => {
                Err("has a comma, a semicolon or a tab, but line 1 has one cell; put the cell in \
                 quotation marks, or write sep=| as the first line if no line is divided")
            }
            None => Ok(plain.to_owned()),
        }
    }
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
