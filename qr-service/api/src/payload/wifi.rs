//! Wi-Fi networks, in the notation of Android's and iOS' cameras (and WPA3's annex on QR codes).

use serde::Deserialize;
use utoipa::ToSchema;

use super::{Payload, check_line, escape};
use crate::fault::{Code, Fault};

/// A wireless network.
#[derive(Deserialize, ToSchema)]
pub(super) struct Wifi {
    /// The network's name: 1 to 32 bytes of UTF-8.
    #[schema(min_length = 1, max_length = 32)]
    ssid: String,
    /// The passphrase: 8 to 63 characters of ASCII, or 64 hexadecimal digits. WEP: 5, 13, 10 or 26.
    #[schema(min_length = 1, max_length = 64)]
    password: Option<String>,
    /// How the network is protected. The default is `WPA`, without a password `nopass`.
    #[schema(inline)]
    security: Option<Security>,
    /// The network does not send its name.
    #[schema(default = false)]
    hidden: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ToSchema)]
enum Security {
    /// WPA2 and WPA3 alike.
    #[serde(rename = "WPA")]
    Wpa,
    #[serde(rename = "WEP")]
    Wep,
    #[serde(rename = "nopass")]
    NoPass,
}

impl Payload for Wifi {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let default = if self.password.is_some() { Security::Wpa } else { Security::NoPass };
        let security = self.security.unwrap_or(default);
        if self.ssid.len() > 32 {
            let detail = format!("it has {} bytes of UTF-8", self.ssid.len());
            faults.push(Fault::new("ssid", Code::OutOfRange, detail).at_most(32));
        }
        check_line("ssid", Some(&self.ssid), faults);
        faults.extend(check_password(security, self.password.as_deref()));
        let mut text = match security {
            Security::Wpa => "WIFI:T:WPA;".to_owned(),
            Security::Wep => "WIFI:T:WEP;".to_owned(),
            Security::NoPass => "WIFI:T:nopass;".to_owned(),
        };
        text.push_str(&format!("S:{};", value(&self.ssid)));
        if let Some(password) = &self.password {
            let is_key = is_key(security, password);
            let written = if is_key { password.clone() } else { value(password) };
            text.push_str(&format!("P:{written};"));
        }
        if self.hidden == Some(true) {
            text.push_str("H:true;");
        }
        text.push(';');
        text
    }
}

/// Escapes a value, and quotes what a reader could take for hexadecimal.
fn value(text: &str) -> String {
    let escaped = escape(text, "\\;,\":");
    let is_hex = text.len().is_multiple_of(2) && text.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hex { format!("\"{escaped}\"") } else { escaped }
}

/// Whether the password is the key itself in hexadecimal: a PSK or a WEP key. It is written as it is, since
/// Android and the readers made from zxing's take what is in quotes for a passphrase, and so hash it.
fn is_key(security: Security, password: &str) -> bool {
    let is_long_enough = match security {
        Security::Wpa => password.len() == 64,
        Security::Wep => matches!(password.len(), 10 | 26),
        Security::NoPass => false,
    };
    is_long_enough && password.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn check_password(security: Security, password: Option<&str>) -> Option<Fault> {
    let fault = |code, detail: &str| Some(Fault::new("password", code, detail));
    let is_ascii = |text: &str| text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    match (security, password) {
        (Security::NoPass, None) => None,
        (Security::NoPass, Some(_)) => fault(Code::Contradictory, "an open network has none"),
        (_, None) => fault(Code::Missing, "only an open network has none"),
        (_, Some(text)) if is_key(security, text) => None,
        (Security::Wpa, Some(text)) if (8..=63).contains(&text.len()) && is_ascii(text) => None,
        (Security::Wpa, Some(_)) => {
            fault(Code::OutOfRange, "use 8 to 63 characters of ASCII, or 64 hexadecimal digits")
        }
        (Security::Wep, Some(text)) if matches!(text.len(), 5 | 13) && is_ascii(text) => None,
        (Security::Wep, Some(_)) => {
            fault(Code::OutOfRange, "use 5 or 13 characters, or 10 or 26 hexadecimal digits")
        }
    }
}
