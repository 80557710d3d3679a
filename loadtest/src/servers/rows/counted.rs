//! The rows whose instructions are counted.

use super::{Row, Way};
use crate::texts::QRCODE;

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counted {
    /// nginx with `proxy_pass` to a group with kept connections, and nothing else.
    Barest,
    /// nginx with the files of `make up`, without these lines.
    Without(&'static [Cut]),
    /// One of our programs alone, with requests whose targets begin with this text.
    Program(&'static str, &'static str),
}

/// A file, and how the lines to remove begin after their indentation; if such a line opens a block, the block goes too.
pub(crate) type Cut = (&'static str, &'static str);
const STOP_FILE: &[Cut] = &[("locations.conf", "if (-f $document_root/qrcode)")];
const MIRROR: &[Cut] =
    &[("locations.conf", "mirror /"), ("locations.conf", "if ($qrcode_mirrored")];
const TO_THE_SIDE: &[Cut] = &[
    ("headers.conf", "proxy_set_header X-"),
    ("headers.conf", "proxy_set_header Forwarded"),
    ("headers.conf", "proxy_set_header Host"),
];
const TO_THE_CLIENT: &[Cut] =
    &[("nginx.conf", "proxy_hide_header"), ("nginx.conf", "add_header X-Request-Id")];
const LOG: &[Cut] = &[("nginx.conf", "access_log edge/access.log")];

/// The rows; parts in the order of a request.
pub(super) static COUNTED: [Row; 11] = [
    row("barest", Counted::Barest, "nginx with the least that proxies over kept connections"),
    row("ours", Counted::Without(&[]), "nginx as on `make up`"),
    row("without stop files", Counted::Without(STOP_FILE), "nginx looks for no file"),
    row("without the mirror", Counted::Without(MIRROR), "the shadow gets nothing"),
    row("without headers to a side", Counted::Without(TO_THE_SIDE), "no Forwarded, Host, X-"),
    row("without headers to clients", Counted::Without(TO_THE_CLIENT), "none added or hidden"),
    row("without the log", Counted::Without(LOG), "nothing counts what clients got"),
    row("static", Counted::Program("examples/static_answer", QRCODE), "service-kit alone"),
    row("/qrcode", Counted::Program("qr-service", QRCODE), "qr-service, without nginx"),
    row("/v1/qr, alike", Counted::Program("qr-service", ALIKE), "the same picture by options"),
    row("/v1/qr", Counted::Program("qr-service", "/v1/qr?text="), "8 pixels a module, level M"),
];
const ALIKE: &str = "/v1/qr?size=200&level=L&text=";

const fn row(name: &'static str, counted: Counted, about: &'static str) -> Row {
    Row::new(name, Way::Counted(counted), about)
}
