//! Text messages, e-mails, places and UPI payments, which are all encoded as URIs.

use serde::Deserialize;
use utoipa::ToSchema;

use super::contact::check_email;
use super::{Payload, amount, bare_phone, check_line, check_phone, percent, query_of};
use crate::v1::fault::{Code, Fault};

/// A text message.
#[derive(Deserialize, ToSchema)]
pub(super) struct Sms {
    /// Telephone number.
    #[schema(min_length = 1, max_length = 40)]
    phone: String,
    /// The message.
    #[schema(min_length = 1, max_length = 1000)]
    message: Option<String>,
    /// Form of the text: SMSTO, which both Android and iOS read, or a URI (RFC 5724).
    #[schema(inline, default = "SMSTO")]
    form: Option<SmsForm>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ToSchema)]
enum SmsForm {
    #[serde(rename = "SMSTO")]
    SmsTo,
    #[serde(rename = "URI")]
    Uri,
}

impl Payload for Sms {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        check_phone("phone", Some(&self.phone), faults);
        let phone = bare_phone(&self.phone);
        if self.form == Some(SmsForm::Uri) {
            let query = query_of([("body", self.message.as_deref().map(percent))]);
            return format!("sms:{phone}?{query}").trim_end_matches('?').to_owned();
        }
        // Readers take everything after the second colon literally.
        let message = self.message.as_deref().unwrap_or_default();
        format!("SMSTO:{phone}:{message}")
    }
}

/// A message by WhatsApp, as its links to a chat.
#[derive(Deserialize, ToSchema)]
pub(super) struct WhatsApp {
    /// Telephone number with the country's code.
    #[schema(min_length = 1, max_length = 40, example = "+44 20 7946 0000")]
    phone: String,
    /// The message.
    #[schema(min_length = 1, max_length = 1000)]
    message: Option<String>,
}

impl Payload for WhatsApp {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        check_phone("phone", Some(&self.phone), faults);
        let phone = bare_phone(&self.phone);
        let number = phone.trim_start_matches('+');
        if number.starts_with('0') {
            let detail = "begin with the country's code, such as +44, and leave out the 0 after it";
            faults.push(Fault::new("phone", Code::Malformed, detail));
        }
        let query = query_of([("text", self.message.as_deref().map(percent))]);
        format!("https://wa.me/{number}?{query}").trim_end_matches('?').to_owned()
    }
}

/// An e-mail to one address.
#[derive(Deserialize, ToSchema)]
pub(super) struct Mail {
    /// Address of the recipient.
    #[schema(min_length = 3, max_length = 254)]
    to: String,
    /// Address that gets a copy.
    #[schema(min_length = 3, max_length = 254)]
    cc: Option<String>,
    /// Subject.
    #[schema(min_length = 1, max_length = 500)]
    subject: Option<String>,
    /// Text of the e-mail.
    #[schema(min_length = 1, max_length = 2000)]
    message: Option<String>,
}

impl Payload for Mail {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        check_email("to", Some(&self.to), faults);
        check_email("cc", self.cc.as_deref(), faults);
        // RFC 6068 section 5: line breaks are %0D%0A.
        let message =
            self.message.as_deref().map(|text| text.replace("\r\n", "\n").replace('\n', "\r\n"));
        let address = |text: &str| percent(text).replace("%40", "@");
        let query = query_of([
            ("cc", self.cc.as_deref().map(address)),
            ("subject", self.subject.as_deref().map(percent)),
            ("body", message.as_deref().map(percent)),
        ]);
        let uri = format!("mailto:{}?{query}", address(&self.to));
        uri.trim_end_matches('?').to_owned()
    }
}

/// A place by its coordinates in WGS 84.
#[derive(Deserialize, ToSchema)]
pub(super) struct Geo {
    /// Degrees north.
    #[schema(minimum = -90, maximum = 90)]
    latitude: f64,
    /// Degrees east.
    #[schema(minimum = -180, maximum = 180)]
    longitude: f64,
    /// Metres above the ellipsoid.
    #[schema(minimum = -11000, maximum = 100_000)]
    altitude: Option<f64>,
    /// A name or address to show on the map. Only Android reads it.
    #[schema(min_length = 1, max_length = 200)]
    label: Option<String>,
}

impl Payload for Geo {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let altitude = self.altitude.map(|it| format!(",{}", degrees(it))).unwrap_or_default();
        let place = format!("{},{}", degrees(self.latitude), degrees(self.longitude));
        if self.altitude.is_some() && self.label.is_some() {
            let detail = "label is given too, and a place with a label cannot have an altitude";
            faults.push(Fault::new("altitude", Code::Contradictory, detail));
        }
        match &self.label {
            None => format!("geo:{place}{altitude}"),
            Some(label) => format!("geo:{place}?q={place}({})", percent(label)),
        }
    }
}

/// A payment by India's Unified Payments Interface, as a deep link by NPCI.
#[derive(Deserialize, ToSchema)]
pub(super) struct Upi {
    /// Address of the payee, such as `name@bank`.
    #[schema(
        min_length = 5,
        max_length = 255,
        pattern = r"^[A-Za-z0-9._-]{2,}@[A-Za-z0-9.-]{2,}$"
    )]
    payee: String,
    /// Name of the payee.
    #[schema(min_length = 1, max_length = 99)]
    name: String,
    /// Amount in rupees, with a point or a comma and at most two decimals. Without it the payer chooses.
    #[schema(
        min_length = 1,
        max_length = 12,
        example = "250.00",
        pattern = r"^[0-9]+([.,][0-9]{1,2})?$"
    )]
    amount: Option<String>,
    /// A note for payer and payee.
    #[schema(min_length = 1, max_length = 80)]
    note: Option<String>,
    /// Reference of the order.
    #[schema(min_length = 1, max_length = 35)]
    reference: Option<String>,
    /// Category code of the merchant: four digits.
    #[schema(min_length = 4, max_length = 4, pattern = "^[0-9]{4}$")]
    merchant_code: Option<String>,
}

impl Payload for Upi {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let is_name = |name: &str| {
            name.len() > 1 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        };
        let halves = self.payee.split_once('@');
        if !halves.is_some_and(|(name, bank)| is_name(name) && is_name(bank) && !bank.contains('_'))
        {
            faults.push(Fault::new("payee", Code::Malformed, "use an address such as name@bank"));
        }
        let amount = amount(self.amount.as_deref(), faults);
        if self.merchant_code.as_ref().is_some_and(|code| !code.bytes().all(|b| b.is_ascii_digit()))
        {
            faults.push(Fault::new("merchant_code", Code::Malformed, "use four digits"));
        }
        check_line("name", Some(&self.name), faults);
        let query = query_of([
            ("pa", Some(self.payee.clone())),
            ("pn", Some(percent(&self.name))),
            ("am", amount),
            ("cu", Some("INR".to_owned())),
            ("tn", self.note.as_deref().map(percent)),
            ("tr", self.reference.as_deref().map(percent)),
            ("mc", self.merchant_code.clone()),
        ]);
        format!("upi://pay?{query}")
    }
}

/// A number with seven decimals, which is about a centimetre, without trailing zeros.
fn degrees(value: f64) -> String {
    let text = format!("{value:.7}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
