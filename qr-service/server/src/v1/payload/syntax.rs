//! Syntaxes of fields: a pattern, which is in the OpenAPI document too, and what is wrong with a text that has another
//! syntax. [`Payload::compose`](super::Payload::compose) checks what a regular expression cannot express.

use std::sync::LazyLock;

use qr_options::Definition;
use regex::Regex;
use serde_json::{Map, Value};

use crate::v1::fault::{Code, Fault};

pub(super) const PHONE: &str = r"^[0-9 +().\/-]*[0-9][0-9 +().\/-]*$";
pub(super) const EMAIL: &str =
    r"^[^@\s<>,;\u0000-\u001F\u007F-\u009F]+@[^@\s<>,;\u0000-\u001F\u007F-\u009F]+$";
pub(super) const TIME: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})?)?$";
pub(super) const LABEL: &str = r"^[^:\u0000-\u001F\u007F-\u009F]+$";
pub(super) const LINE: &str = r"^[^\u0000-\u001F\u007F-\u009F]+$";
pub(super) const ASCII: &str = "^[ -~]+$";
pub(super) const ALPHANUMERIC: &str = "^[A-Za-z0-9]+$";
pub(super) const COUNTRY: &str = "^[A-Za-z]{2}$";
pub(super) const MERCHANT: &str = "^[0-9]{4}$";
pub(super) const UPI: &str = r"^[A-Za-z0-9._-]{2,}@[A-Za-z0-9.-]{2,}$";
/// A host, with a port and a path if it has them.
pub(super) const HOST: &str = r"^(https?://)?[A-Za-z0-9.-]+(:[0-5]?[0-9]{1,4}|:6[0-4][0-9]{3}|:65[0-4][0-9]{2}|:655[0-2][0-9]|:6553[0-5])?(/[A-Za-z0-9._~/-]*)?$";
/// ISO 9362.
pub(super) const BIC: &str = "^[A-Za-z0-9]{4}[A-Za-z]{2}[A-Za-z0-9]{2}([A-Za-z0-9]{3})?$";
/// Version 2.3 of the QR-bill: Basic Latin, Latin-1, Latin Extended-A, the Romanian letters and the euro.
pub(super) const BILL: &str = r"^[ -~\u00A0-\u017F\u0218-\u021B€]+$";
/// Amounts of money, which [`super::amount`] checks.
pub(super) const AMOUNT: &str = r"^[0-9]+([.,][0-9]{1,2})?$";

/// `{c}` is the first character that a text of the syntax cannot have.
static CHECKED: LazyLock<[(Regex, &str); 13]> = LazyLock::new(|| {
    [
        (PHONE, "use digits, spaces and + - ( ) . /"),
        (EMAIL, "use one address such as name@example.com"),
        (TIME, "use 2026-05-01, 2026-05-01T18:30, 2026-05-01T16:30Z or 2026-05-01T18:30+02:00"),
        (LABEL, "it has a colon or a control character"),
        (LINE, "it has a line break or another control character"),
        (ASCII, "use letters without accents, digits and punctuation of ASCII"),
        (ALPHANUMERIC, "use letters and digits"),
        (COUNTRY, "use two letters, such as CH"),
        (MERCHANT, "use four digits"),
        (UPI, "use an address such as name@bank"),
        (HOST, "use a host such as id.example.org, with a path if it has one"),
        (BIC, "use 8 or 11 letters and digits, of which the fifth and the sixth are letters"),
        (BILL, "a bill cannot have {c}, only Latin letters, digits and signs"),
    ]
    .map(|(pattern, words)| (Regex::new(pattern).expect("constant patterns are right"), words))
});

/// What is wrong with a text of another syntax than the pattern's; `None` if nothing is, or the pattern is not checked.
pub(super) fn wrong_with(text: &str, pattern: &str) -> Option<String> {
    let (regex, words) = CHECKED.iter().find(|(regex, _)| regex.as_str() == pattern)?;
    let foreign = |c: &char| !regex.is_match(c.encode_utf8(&mut [0; 4]));
    let first = || text.chars().find(foreign).map_or(0, u32::from);
    (!regex.is_match(text)).then(|| words.replace("{c}", &format!("U+{:04X}", first())))
}

/// Adds a fault for each text that has another syntax than its field, unless the field already has one.
pub(super) fn check(fields: &[Definition], values: &Map<String, Value>, faults: &mut Vec<Fault>) {
    for field in fields {
        let text = values.get(field.name).and_then(Value::as_str);
        let wrong = text.zip(field.pattern).and_then(|(text, pattern)| wrong_with(text, pattern));
        if let Some(detail) = wrong
            && !faults.iter().any(|it| it.parameter == field.name)
        {
            faults.push(Fault::new(field.name, Code::Malformed, detail));
        }
    }
}
