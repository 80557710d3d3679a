//! Payloads that phones act on, such as Wi-Fi, contacts, payments and one-time passwords: composes the text of a symbol
//! from fields.
//!
//! A kind of payload is a struct of fields. Its schema limits each field by itself; [`Payload::compose`] escapes them
//! and checks them against each other.

mod contact;
mod emv;
mod epc;
mod event;
mod gs1;
mod links;
mod otp;
mod swiss;
mod syntax;
mod wifi;

use std::sync::LazyLock;

use qr_options::definition::{Parameters, any_integer, boolean, integer, number, one_of, text};
use qr_options::{Definition, names, parameters};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::v1::fault::{Code, Fault};
use crate::v1::options::{self, LevelName, Mode, Options};
use crate::v1::parameters::Schema;

/// Fields of one kind of payload.
trait Payload: DeserializeOwned + Parameters {
    /// Fields of an example, for a kind whose required fields alone make none.
    const EXAMPLE: &'static [(&'static str, &'static str)] = &[];

    /// Composes the text that the symbol encodes. Adds every fault to `faults`; the caller then discards the text.
    fn compose(&self, faults: &mut Vec<Fault>) -> String;
}

/// A kind of payload.
pub(crate) struct Kind {
    /// The last segment of its path.
    pub(crate) name: &'static str,
    /// Its title in the OpenAPI document.
    pub(crate) title: &'static str,
    /// Whether it has a password or key. These must not be in a URL, because URLs get into logs and histories.
    pub(crate) is_secret: bool,
    /// Options that the kind's standard sets.
    preset: Preset,
    /// The schema of its fields, for the OpenAPI document.
    pub(crate) describe: fn() -> Value,
    /// Its fields.
    pub(crate) definitions: &'static [Definition],
    /// The same, for reading them.
    pub(crate) schema: LazyLock<Schema>,
    compose: fn(&Schema, &Map<String, Value>, &mut Vec<Fault>) -> String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Preset {
    None,
    /// EPC069-12: [`preset_payment`].
    Epc,
    /// The Swiss QR-bill: [`preset_payment`] and the cross.
    Swiss,
    /// FNC1 in first position, unless it is a link.
    Gs1,
}

const fn kind<T: Payload>(name: &'static str, title: &'static str) -> Kind {
    Kind {
        name,
        title,
        is_secret: false,
        preset: Preset::None,
        describe: described::<T>,
        definitions: T::DEFINITIONS,
        schema: LazyLock::new(Schema::of::<T>),
        compose: |schema, values, faults| {
            // If a required field is wrong, a stand-in takes its place, so that the other fields are checked as well.
            let stood_in = || T::deserialize(Value::Object(schema.with_stand_ins(values))).ok();
            let Some(fields) = schema.read::<T>(values, faults).or_else(stood_in) else {
                return String::new();
            };
            syntax::check(T::DEFINITIONS, values, faults);
            let mut more = Vec::new();
            let text = fields.compose(&mut more);
            // A field that was wrong by itself was left out, so it must not count as missing too.
            more.retain(|fault| !faults.iter().any(|it| it.parameter == fault.parameter));
            faults.extend(more);
            text
        },
    }
}

/// The schema of a payload's fields, for the OpenAPI document.
fn described<T: Payload>() -> Value {
    let mut schema = T::schema();
    if !T::EXAMPLE.is_empty() {
        schema["example"] = T::EXAMPLE.iter().copied().collect();
    }
    schema
}

/// Every kind.
pub(crate) static KINDS: [Kind; 15] = [
    kind::<wifi::Wifi>("wifi", "Joins a wireless network").secret(),
    kind::<contact::Vcard>("vcard", "A contact as vCard 3.0 (RFC 2426) or 4.0 (RFC 6350)"),
    kind::<contact::Mecard>("mecard", "A contact as MECARD, which takes fewer bytes"),
    kind::<epc::Epc>("epc", "A SEPA credit transfer, or Girocode (EPC069-12, version 002)")
        .preset(Preset::Epc),
    kind::<swiss::Swiss>("swiss", "A Swiss QR-bill (version 2.3)").preset(Preset::Swiss),
    kind::<links::Upi>("upi", "A payment in India by UPI"),
    kind::<emv::Pix>("pix", "A payment in Brazil by Pix (EMV merchant-presented)"),
    kind::<emv::PayNow>("paynow", "A payment in Singapore by PayNow (EMV merchant-presented)"),
    kind::<otp::Otp>("otp", "A key for one-time passwords").secret(),
    kind::<links::Sms>("sms", "A text message"),
    kind::<links::WhatsApp>("whatsapp", "A message by WhatsApp"),
    kind::<links::Mail>("mail", "An e-mail (RFC 6068)"),
    kind::<links::Geo>("geo", "A place (RFC 5870)"),
    kind::<event::Event>("event", "An event for the calendar (RFC 5545)"),
    kind::<gs1::Gs1>("gs1", "GS1 element strings, or a GS1 Digital Link").preset(Preset::Gs1),
];

impl Kind {
    const fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    const fn preset(mut self, preset: Preset) -> Self {
        self.preset = preset;
        self
    }

    /// Composes the text from those `values` that are fields, and sets the options that the kind requires. Adds every
    /// fault to `faults`.
    pub(crate) fn apply(
        &self,
        values: &Map<String, Value>,
        options: &mut Options,
        faults: &mut Vec<Fault>,
    ) {
        let schema = &*self.schema;
        let text = match self.is_secret {
            true => (self.compose)(schema, values, faults),
            false => (self.compose)(schema, &trimmed(values), faults),
        };
        for fault in faults.iter_mut() {
            fault.allowed.retain(|name| !matches!(&**name, "text" | "data"));
        }
        for (name, is_given) in [("text", options.text.is_some()), ("data", options.data.is_some())]
        {
            if is_given {
                let detail = "the text is composed from the fields";
                faults.push(Fault::new(name, Code::Contradictory, detail));
            }
        }
        // Never empty, so that a text that could not be composed does not count as missing too.
        options.text = Some(if text.is_empty() { "-".to_owned() } else { text });
        options.data = None;
        // Most clients mean the position in a contact.
        if options.title.is_some() && schema.has("job_title") && !values.contains_key("job_title") {
            let detail =
                "it is the title of an SVG for screen readers; it may be meant as the position";
            let fault = Fault::new("title", Code::Contradictory, detail);
            faults.push(fault.suggest("use job_title for the position; title is accepted with it"));
        }
        match self.preset {
            Preset::None => {}
            // A link is a text like any other.
            Preset::Gs1 => options.gs1 = Some(!values.contains_key("domain")),
            Preset::Epc => preset_payment(options, faults, 13),
            Preset::Swiss => {
                preset_payment(options, faults, 25);
                if options.logo.take().is_some() {
                    let detail = "the Swiss cross is in the middle of a bill's symbol";
                    faults.push(Fault::new("logo", Code::Contradictory, detail));
                }
                options.has_swiss_cross = true;
            }
        }
    }
}

/// The values without spaces at the ends of the fields, which people copy along. Only a password may have them.
fn trimmed(values: &Map<String, Value>) -> Map<String, Value> {
    let trim = |(name, value): (&String, &Value)| match value {
        Value::String(text) => (name.clone(), text.trim_matches(' ').into()),
        value => (name.clone(), value.clone()),
    };
    values.iter().map(trim).collect()
}

/// Sets the options that EPC069-12 and the QR-bill require: QR, level M, at most version `most`, byte mode. Adds a
/// fault for each option that contradicts them, and resets it, so that it causes no further faults.
fn preset_payment(options: &mut Options, faults: &mut Vec<Fault>, most: u8) {
    let mut refuse = |name, detail: &'static str, allowed: &'static str| {
        faults.push(Fault::new(name, Code::NotAllowed, detail).allowed([allowed]));
    };
    if options.level.is_some_and(|level| level != LevelName::M) {
        refuse("level", "a payment must have level M", "M");
    }
    if options.boost.take() == Some(true) {
        refuse(
            "boost",
            "a payment must have level M, even if there is room for a higher one",
            "false",
        );
    }
    if options.kind.take().is_some_and(|kind| kind != options::Kind::Qr) {
        refuse("kind", "a payment must be a QR code", "qr");
    }
    if options.mode.is_some_and(|mode| !matches!(mode, Mode::Auto | Mode::Byte)) {
        refuse("mode", "a payment must be in byte mode", "byte");
    }
    if options.gs1.take() == Some(true) {
        refuse("gs1", "a payment is not a GS1 element string", "false");
    }
    if options.part.take().is_some() {
        let detail = "a payment must be one symbol";
        faults.push(Fault::new("part", Code::Contradictory, detail));
    }
    for (name, version) in
        [("version_min", &mut options.version_min), ("version_max", &mut options.version_max)]
    {
        if version.is_some_and(|version| version > most) {
            let detail = format!("such a payment may have at most version {most}");
            faults.push(Fault::new(name, Code::OutOfRange, detail).at_most(most));
            *version = None;
        }
    }
    options.version_max = options.version_max.or(Some(most));
    (options.level, options.mode) = (Some(LevelName::M), Some(Mode::Byte));
}

/// The amount of money in a field, with a point and two decimals. Adds a fault if it is malformed or out of range.
fn amount(text: Option<&str>, faults: &mut Vec<Fault>) -> Option<String> {
    let cents = epc::cents(text?);
    if cents.is_none() {
        let detail = "use 0.01 to 999999999.99, with at most two decimals and no separators between thousands";
        let fault = Fault::new("amount", Code::OutOfRange, detail);
        faults.push(fault.at_least(0.01).at_most(999_999_999.99));
    }
    cents.map(|cents| format!("{}.{:02}", cents / 100, cents % 100))
}

/// The query of a URI from those parameters that are given, whose values must be encoded already.
fn query_of<const N: usize>(parameters: [(&str, Option<String>); N]) -> String {
    let given =
        parameters.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
    given.collect::<Vec<_>>().join("&")
}

/// Escapes each of `special` in `text` with a backslash.
fn escape(text: &str, special: &str) -> String {
    let escaped = |c: char| special.contains(c).then_some('\\').into_iter().chain([c]);
    text.chars().flat_map(escaped).collect()
}

/// Percent-encodes all but RFC 3986's unreserved characters. A space becomes `%20`, because not every reader accepts
/// `+`.
pub(crate) fn percent(text: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, &RESERVED).to_string()
}

/// A telephone number without the characters that only help people to read it.
fn bare_phone(phone: &str) -> String {
    phone.chars().filter(|c| c.is_ascii_digit() || *c == '+').collect()
}

#[cfg(test)]
mod tests;
