//! Reads many items from one body: a JSON array, one line of JSON per item (NDJSON), or a table whose first row names
//! the parameters.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;
use std::sync::LazyLock;

use qr_options::definition::text;
use qr_options::parameters;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::v1::fault::{Code, Fault};
use crate::v1::options::Format;
use crate::v1::parameters::{Entries, Schema, read_entries, read_pairs};
use crate::v1::table::{decode, read_table};

/// The media types of a body of items. `application/vnd.ms-excel` is what Windows calls a CSV file, and
/// `application/x-www-form-urlencoded` is what curl calls any body.
pub(crate) const MEDIA: &str = "application/json, application/x-ndjson, text/csv, text/tab-separated-values, \
    application/vnd.ms-excel, multipart/form-data, application/x-www-form-urlencoded";
/// The most items of a body.
pub(crate) const MAX_ITEMS: usize = 1000;
/// The most faults that are listed.
const MAX_FAULTS: usize = 200;

/// Faults of items, up to [`MAX_FAULTS`] different ones.
#[derive(Default)]
pub(crate) struct ItemFaults {
    /// The faults, each with the number of items that have it.
    listed: Vec<(Fault, usize)>,
    /// The index of each fault in `listed`, by all of the fault except its item.
    places: HashMap<String, usize>,
    /// Faults of all items together, such as that of a column.
    of_all: Vec<Fault>,
}

impl ItemFaults {
    /// Adds faults of the item at `index`, counted from 0, and prefixes their parameters with `items[index]`. A fault
    /// that many items have is listed only for the first of them.
    pub(crate) fn add(&mut self, index: usize, faults: Vec<Fault>) {
        for mut fault in faults {
            let key = format!("{:?} {fault}", fault.code);
            match self.places.get(&key) {
                Some(place) => self.listed[*place].1 += 1,
                None if self.listed.len() < MAX_FAULTS => {
                    self.places.insert(key, self.listed.len());
                    fault.parameter = format!("items[{index}].{}", fault.parameter);
                    self.listed.push((fault, 1));
                }
                None => {}
            }
        }
    }

    /// All faults, first those of all items together.
    pub(crate) fn finish(self) -> Vec<Fault> {
        let listed = self.listed.into_iter().map(|(mut fault, count)| {
            if count > 1 {
                fault.detail =
                    format!("{}; {} more items have this fault", fault.detail, count - 1).into();
            }
            fault
        });
        self.of_all.into_iter().chain(listed).collect()
    }
}

/// The parameters of [`Columns`].
pub(crate) static COLUMNS: LazyLock<Schema> = LazyLock::new(Schema::of::<Columns>);

parameters! {
    /// How to read a table.
    #[derive(Default, serde::Deserialize)]
    pub(crate) Columns {
        /// Name of the column that has the texts, in a table whose first row does not call it `text`. Columns that are
        /// no parameters are then left out.
        text_column: Option<String> = text(1, 100).example("URL"),
    }
}

/// Up to [`MAX_ITEMS`] members of an array, and one more if there are more.
pub(crate) struct Members<T>(pub(crate) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Array<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Array<T> {
            type Value = Members<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while members.len() <= MAX_ITEMS
                    && let Some(member) = array.next_element()?
                {
                    members.push(member);
                }
                // The rest takes no memory.
                while array.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Members(members))
            }
        }
        deserializer.deserialize_seq(Array(PhantomData))
    }
}

/// Reads the items, up to the first that is too many. Adds a fault for each parameter that is unknown or repeated;
/// values are not checked yet. Fails with a message for the client if the body does not match its media type, has no
/// item, or has too many.
pub(crate) fn read_items(
    media: &str,
    body: &[u8],
    schemas: &[&Schema],
    columns: &Columns,
    faults: &mut ItemFaults,
) -> Result<Vec<Map<String, Value>>, String> {
    // Windows writes a byte order mark even before JSON.
    let json = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    let begin = json.first();
    // The first character tells the format of uploads, and of bodies that curl sends.
    let (is_table, is_lines) = match media {
        "application/json" => (false, false),
        "application/x-ndjson" => (false, true),
        "text/csv" => (true, false),
        _ => (!matches!(begin, Some(b'[' | b'{')), begin == Some(&b'{')),
    };
    let column = columns.text_column.as_deref();
    if is_table {
        let text = decode(body)?;
        let rows = read_table(&text, schemas, column, MAX_FAULTS, &mut faults.of_all)?;
        return collect(rows, faults, |row, of_item| read_pairs(row, schemas, of_item));
    }
    if column.is_some() {
        return Err("text_column is for tables, and the body is JSON".to_owned());
    }
    let read = |row, of_item: &mut Vec<Fault>| read_entries(row, schemas, of_item);
    match is_lines {
        true => collect(read_lines(json), faults, read),
        false => collect(read_array(json)?.into_iter().map(Ok), faults, read),
    }
}

/// The values of each row.
fn collect<T>(
    rows: impl Iterator<Item = Result<T, String>>,
    faults: &mut ItemFaults,
    read: impl Fn(T, &mut Vec<Fault>) -> Map<String, Value>,
) -> Result<Vec<Map<String, Value>>, String> {
    let mut items = Vec::new();
    for (index, row) in rows.enumerate() {
        if index == MAX_ITEMS {
            return Err(format!("there are more than {MAX_ITEMS} items"));
        }
        let mut of_item = Vec::new();
        items.push(read(row?, &mut of_item));
        faults.add(index, of_item);
    }
    if items.is_empty() { Err("there are no items".to_owned()) } else { Ok(items) }
}

fn read_array(body: &[u8]) -> Result<Vec<Entries>, String> {
    let array: Result<Members<_>, _> = serde_json::from_slice(body);
    let array = array
        .map_err(|error| format!("the body is not a JSON array of objects: line {}", error.line()));
    Ok(array?.0)
}

fn read_lines(body: &[u8]) -> impl Iterator<Item = Result<Entries, String>> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    lines.filter(|(_, line)| !line.is_empty()).map(|(number, line)| {
        serde_json::from_slice(line)
            .map_err(|_| format!("line {} is not a JSON object", number + 1))
    })
}

/// Gives each file of an archive a unique name that is safe on every system and has the format's extension.
pub(crate) struct Names {
    used: HashSet<String>,
}

impl Names {
    /// No names yet; `reserved` is a name in lower case that no item may have.
    pub(crate) fn new(reserved: &str) -> Self {
        Names { used: HashSet::from([reserved.to_owned()]) }
    }

    /// The name of the file of the item at `index`. Fails if it is not safe or used already.
    pub(crate) fn choose(
        &mut self,
        index: usize,
        given: Option<String>,
        format: Format,
    ) -> Result<String, Fault> {
        let extension = format!(".{}", format.as_str());
        let mut name = given.unwrap_or_else(|| format!("qr-{:04}", index + 1));
        if !name.to_lowercase().ends_with(&extension) {
            name.push_str(&extension);
        }
        if !is_safe(&name) {
            let detail = "this name does not work on every system: it contains one of / \\ : * ? \" < > | or a control \
                character, begins with a dot or a space, or is the name of a device";
            return Err(Fault::new("filename", Code::Malformed, detail));
        }
        // Some systems ignore the case of file names.
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
