//! Wi-Fi networks, in the notation of Android's and iOS' cameras (and WPA3's annex on QR codes).

use serde::Deserialize;
use utoipa::ToSchema;

use super::{Payload, check_line, escape};
use crate::v1::fault::{Code, Fault};

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
    /// How a network of a company asks who joins, with `WPA2-EAP`.
    #[schema(inline, default = "PEAP")]
    eap_method: Option<EapMethod>,
    /// The account, with `WPA2-EAP`.
    #[schema(min_length = 1, max_length = 253)]
    identity: Option<String>,
    /// What is sent instead of it in the open, with `WPA2-EAP`.
    #[schema(min_length = 1, max_length = 253)]
    anonymous_identity: Option<String>,
    /// How the password is checked within the tunnel of PEAP or TTLS. The default of PEAP is `MSCHAPV2`.
    #[schema(inline)]
    phase2: Option<Phase2>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ToSchema)]
enum Security {
    /// WPA2 and WPA3 alike.
    #[serde(rename = "WPA")]
    Wpa,
    /// WPA2 and WPA3 Enterprise, with an account for each person.
    #[serde(rename = "WPA2-EAP")]
    Enterprise,
    #[serde(rename = "WEP")]
    Wep,
    #[serde(rename = "nopass")]
    NoPass,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum EapMethod {
    Peap,
    Ttls,
    Tls,
    Pwd,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Phase2 {
    Mschapv2,
    Pap,
    Gtc,
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
            Security::Enterprise => "WIFI:T:WPA2-EAP;".to_owned(),
            Security::Wep => "WIFI:T:WEP;".to_owned(),
            Security::NoPass => "WIFI:T:nopass;".to_owned(),
        };
        // Never in quotes, also where a reader could take it for hexadecimal: iPhones take quotes for part of it.
        let value = |text: &str| escape(text, SPECIAL);
        text.push_str(&format!("S:{};", value(&self.ssid)));
        if let Some(password) = &self.password {
            text.push_str(&format!("P:{};", value(password)));
        }
        for (name, value) in self.enterprise(security, faults) {
            text.push_str(&format!("{name}:{};", escape(&value, SPECIAL)));
        }
        if self.hidden == Some(true) {
            text.push_str("H:true;");
        }
        text.push(';');
        text
    }
}

/// What a reader would take for the end of a value.
const SPECIAL: &str = "\\;,\":";

impl Wifi {
    /// The fields of a network of a company, by the names that Android's camera has for them.
    fn enterprise(
        &self,
        security: Security,
        faults: &mut Vec<Fault>,
    ) -> Vec<(&'static str, String)> {
        let fields = [
            ("eap_method", self.eap_method.is_some()),
            ("identity", self.identity.is_some()),
            ("anonymous_identity", self.anonymous_identity.is_some()),
            ("phase2", self.phase2.is_some()),
        ];
        if security != Security::Enterprise {
            for (name, _) in fields.into_iter().filter(|(_, is_given)| *is_given) {
                let fault = Fault::new(name, Code::Contradictory, "only WPA2-EAP has it");
                faults.push(fault.suggest("use security WPA2-EAP"));
            }
            return Vec::new();
        }
        let method = self.eap_method.unwrap_or(EapMethod::Peap);
        let default = (method == EapMethod::Peap).then_some(Phase2::Mschapv2);
        let has_tunnel = matches!(method, EapMethod::Peap | EapMethod::Ttls);
        if self.phase2.is_some() && !has_tunnel {
            faults.push(Fault::new("phase2", Code::Contradictory, "only PEAP and TTLS have it"));
        }
        check_line("identity", self.identity.as_deref(), faults);
        check_line("anonymous_identity", self.anonymous_identity.as_deref(), faults);
        let name = |value: &dyn std::fmt::Debug| format!("{value:?}").to_uppercase();
        let phase2 = self.phase2.or(default).map(|phase2| ("PH2", name(&phase2)));
        let given = [("I", &self.identity), ("A", &self.anonymous_identity)];
        let given = given.into_iter().filter_map(|(name, text)| Some((name, text.clone()?)));
        [("E", name(&method))].into_iter().chain(given).chain(phase2).collect()
    }
}

/// Whether the password is the key itself in hexadecimal: a PSK or a WEP key.
fn is_key(security: Security, password: &str) -> bool {
    let is_long_enough = match security {
        Security::Wpa => password.len() == 64,
        Security::Wep => matches!(password.len(), 10 | 26),
        Security::NoPass | Security::Enterprise => false,
    };
    is_long_enough && password.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn check_password(security: Security, password: Option<&str>) -> Option<Fault> {
    let fault = |code, detail: &str| Some(Fault::new("password", code, detail));
    let is_ascii = |text: &str| text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    match (security, password) {
        (Security::NoPass, None) => None,
        // A certificate, or the phone asks for it; any text is one.
        (Security::Enterprise, _) => None,
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
