//! Text messages, e-mails, places and UPI payments, which are all encoded as URIs.

use super::syntax::{AMOUNT, EMAIL, LINE, MERCHANT, PHONE, UPI};
use super::{
    Payload, amount, bare_phone, names, number, one_of, parameters, percent, query_of, text,
};
use crate::v1::fault::{Code, Fault};

parameters! {
    /// A text message.
    #[derive(serde::Deserialize)]
    pub(super) Sms {
        /// Telephone number.
        phone: String = text(1, 40).pattern(PHONE),
        /// The message.
        message: Option<String> = text(1, 1000),
        /// Form of the text: SMSTO, which both Android and iOS read, or a URI (RFC 5724).
        form: Option<SmsForm> = one_of(SmsForm::NAMED).default("SMSTO"),
    }
}

names! {
    /// A form of a text message.
    SmsForm {
        SmsTo = "SMSTO",
        Uri = "URI",
    }
}

impl Payload for Sms {
    fn compose(&self, _: &mut Vec<Fault>) -> String {
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

parameters! {
    /// A message by WhatsApp, as its links to a chat.
    #[derive(serde::Deserialize)]
    pub(super) WhatsApp {
        /// Telephone number with the country's code.
        phone: String = text(1, 40).example("+44 20 7946 0000").pattern(PHONE),
        /// The message.
        message: Option<String> = text(1, 1000),
    }
}

impl Payload for WhatsApp {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
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

parameters! {
    /// An e-mail to one address.
    #[derive(serde::Deserialize)]
    pub(super) Mail {
        /// Address of the recipient.
        to: String = text(3, 254).pattern(EMAIL),
        /// Address that gets a copy.
        cc: Option<String> = text(3, 254).pattern(EMAIL),
        /// Subject.
        subject: Option<String> = text(1, 500),
        /// Text of the e-mail.
        message: Option<String> = text(1, 2000),
    }
}

impl Payload for Mail {
    fn compose(&self, _: &mut Vec<Fault>) -> String {
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

parameters! {
    /// A place by its coordinates in WGS 84.
    #[derive(serde::Deserialize)]
    pub(super) Geo {
        /// Degrees north.
        latitude: f64 = number(-90.0, 90.0),
        /// Degrees east.
        longitude: f64 = number(-180.0, 180.0),
        /// Metres above the ellipsoid.
        altitude: Option<f64> = number(-11000.0, 100000.0),
        /// A name or address to show on the map. Only Android reads it.
        label: Option<String> = text(1, 200),
    }
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

parameters! {
    /// A payment by India's Unified Payments Interface, as a deep link by NPCI.
    #[derive(serde::Deserialize)]
    pub(super) Upi {
        /// Address of the payee, such as `name@bank`.
        payee: String = text(5, 255).pattern(UPI),
        /// Name of the payee.
        name: String = text(1, 99).pattern(LINE),
        /// Amount in rupees, with a point or a comma and at most two decimals. Without it the payer chooses.
        amount: Option<String> = text(1, 12).example("250.00").pattern(AMOUNT),
        /// A note for payer and payee.
        note: Option<String> = text(1, 80),
        /// Reference of the order.
        reference: Option<String> = text(1, 35).pattern(LINE),
        /// Category code of the merchant: four digits.
        merchant_code: Option<String> = text(4, 4).pattern(MERCHANT),
    }
}

impl Payload for Upi {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let amount = amount(self.amount.as_deref(), faults);
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
