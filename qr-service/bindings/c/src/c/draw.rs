//! The picture of a query, and the messages.

use std::ffi::{CStr, CString};
use std::sync::LazyLock;

use qr_options::options::Format;
use qr_options::{Drawn, draw_query};

use crate::picture::Status;

/// The picture that a query describes, or its faults as JSON; with the media type, and the status that tells which.
pub(crate) fn draw_options(query: &[u8]) -> Result<(Vec<u8>, &'static CStr, Status), Status> {
    let query = str::from_utf8(query).map_err(|_| Status::NotUtf8)?;
    Ok(match draw_query(query) {
        Ok(Drawn { bytes, format }) => (bytes, media_type(format), Status::Ok),
        Err(faults) => {
            // Strings and numbers always serialise.
            let json = serde_json::to_vec(&faults).unwrap_or_default();
            (json, media_type(Format::Json), Status::Faults)
        }
    })
}

/// [`Format::content_type`] with a terminating NUL.
fn media_type(format: Format) -> &'static CStr {
    static TYPES: LazyLock<[CString; Format::ALL.len()]> =
        LazyLock::new(|| Format::ALL.map(|it| CString::new(it.content_type()).unwrap_or_default()));
    &TYPES[format as usize]
}

/// Indexed by status.
const MESSAGES: [&CStr; 11] = [
    c"no error",
    c"a required pointer is null",
    c"the text is not UTF-8",
    c"the text does not fit a QR code at this level",
    c"modules would be smaller than a pixel: make the picture larger or its margin smaller",
    c"a picture has at most 16384 pixels a side",
    c"the level is not one of L, M, Q and H",
    c"the picture does not fit the buffer",
    c"the library panicked; this is a bug",
    c"the options are wrong, or the picture cannot be made; the buffer lists the faults",
    c"the library does not know these options: struct_size is wrong, or the library is older than the header",
];

pub(crate) fn message(status: i32) -> &'static CStr {
    let at = usize::try_from(status).unwrap_or(usize::MAX);
    MESSAGES.get(at).copied().unwrap_or(c"not a status of this library")
}
