//! Text messages, e-mails and places.

use serde::Deserialize;
use utoipa::ToSchema;

use super::contact::check_email;
use super::{Payload, bare_phone, check_phone, percent};
use crate::fault::{Code, Fault};

/// A text message, as SMSTO, which both Android and iOS read.
#[derive(Deserialize, ToSchema)]
pub(super) struct Sms {
    /// Telephone number.
    #[schema(min_length = 1, max_length = 40)]
    phone: String,
    /// The message.
    #[schema(min_length = 1, max_length = 1000)]
    message: Option<String>,
}

impl Payload for Sms {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        check_phone("phone", Some(&self.phone), faults);
        let phone = bare_phone(&self.phone);
        // Readers take all after the second colon as it is.
        let message = self.message.as_deref().unwrap_or_default();
        format!("SMSTO:{phone}:{message}")
    }
}

/// An e-mail to one address.
#[derive(Deserialize, ToSchema)]
pub(super) struct Mail {
    /// Address that it goes to.
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
        let mut uri = format!("mailto:{}", address(&self.to));
        let mut separator = '?';
        for (name, value) in [
            ("cc", self.cc.as_deref().map(address)),
            ("subject", self.subject.as_deref().map(percent)),
            ("body", message.as_deref().map(percent)),
        ] {
            if let Some(value) = value {
                uri.push_str(&format!("{separator}{name}={value}"));
                separator = '&';
            }
        }
        uri
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
    /// A name or address that a map shows there; Android reads it.
    #[schema(min_length = 1, max_length = 200)]
    label: Option<String>,
}

impl Payload for Geo {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let altitude = self.altitude.map(|it| format!(",{}", degrees(it))).unwrap_or_default();
        let place = format!("{},{}", degrees(self.latitude), degrees(self.longitude));
        if self.altitude.is_some() && self.label.is_some() {
            let detail = "a place with a label has no altitude";
            faults.push(Fault::new("altitude", Code::Contradictory, detail));
        }
        match &self.label {
            None => format!("geo:{place}{altitude}"),
            Some(label) => format!("geo:{place}?q={place}({})", percent(label)),
        }
    }
}

/// Seven decimals, a hundredth of a metre, without trailing zeros.
fn degrees(value: f64) -> String {
    let text = format!("{value:.7}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
