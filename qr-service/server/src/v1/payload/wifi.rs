//! Wi-Fi networks, in the notation that the cameras of Android and iOS read (also in WPA3's annex on QR codes).

use super::syntax::LINE;
use super::{Parameters, Payload, boolean, escape, names, one_of, parameters, text};
use crate::v1::fault::{Code, Fault};

parameters! {
    /// A wireless network.
    #[derive(serde::Deserialize)]
    pub(super) Wifi {
        /// The network's name: 1 to 32 bytes of UTF-8.
        ssid: String = text(1, 32).pattern(LINE),
        /// The passphrase: 8 to 63 characters of ASCII, or 64 hexadecimal digits; for WEP 5 or 13 characters, or 10 or
        /// 26 hexadecimal digits.
        password: Option<String> = text(1, 64),
        /// Protection of the network. The default is `WPA` with a password, and `nopass` without one.
        security: Option<Security> = one_of(Security::NAMED),
        /// Whether the network hides its name.
        hidden: Option<bool> = boolean(),
        /// EAP method of an enterprise network, with `WPA2-EAP`.
        eap_method: Option<EapMethod> = one_of(EapMethod::NAMED).default("PEAP"),
        /// The account, with `WPA2-EAP`.
        identity: Option<String> = text(1, 253).pattern(LINE),
        /// Identity that is sent unencrypted instead of `identity`, with `WPA2-EAP`.
        anonymous_identity: Option<String> = text(1, 253).pattern(LINE),
        /// Authentication within the tunnel of PEAP or TTLS. The default for PEAP is `MSCHAPV2`.
        phase2: Option<Phase2> = one_of(Phase2::NAMED),
    }
}

names! {
    /// A protection of a wireless network.
    Security {
        /// WPA2 and WPA3.
        Wpa = "WPA",
        /// WPA3 alone, which some programs call by its key exchange, SAE.
        Wpa3 = "WPA3",
        Sae = "SAE",
        /// WPA2 and WPA3 Enterprise, with one account per person.
        Enterprise = "WPA2-EAP",
        Wep = "WEP",
        NoPass = "nopass",
    }
}

names! {
    /// A method of EAP.
    EapMethod {
        Peap = "PEAP",
        Ttls = "TTLS",
        Tls = "TLS",
        Pwd = "PWD",
    }
}

names! {
    /// An authentication within a tunnel.
    Phase2 {
        Mschapv2 = "MSCHAPV2",
        Pap = "PAP",
        Gtc = "GTC",
    }
}

impl Payload for Wifi {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let default = if self.password.is_some() { Security::Wpa } else { Security::NoPass };
        let security = self.security.unwrap_or(default);
        if self.ssid.len() > 32 {
            let detail = format!("it has {} bytes of UTF-8", self.ssid.len());
            faults.push(Fault::new("ssid", Code::OutOfRange, detail).at_most(32));
        }
        faults.extend(check_password(security, self.password.as_deref()));
        let mut text = match security {
            Security::Wpa => "WIFI:T:WPA;".to_owned(),
            // Transition disable (WPA3 Specification 3.0, section 7): the phone never falls back to WPA2.
            Security::Wpa3 | Security::Sae => "WIFI:T:WPA;R:1;".to_owned(),
            Security::Enterprise => "WIFI:T:WPA2-EAP;".to_owned(),
            Security::Wep => "WIFI:T:WEP;".to_owned(),
            Security::NoPass => "WIFI:T:nopass;".to_owned(),
        };
        // Never in quotes, even if a reader could take the value for hexadecimal: iPhones read quotes as part of it.
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

/// Characters that have a meaning in the notation and must be escaped in values.
const SPECIAL: &str = "\\;,\":";

impl Wifi {
    /// The fields of an enterprise network, with the names that Android's camera reads. Adds a fault for each field
    /// that the network cannot have.
    fn enterprise(
        &self,
        security: Security,
        faults: &mut Vec<Fault>,
    ) -> Vec<(&'static str, String)> {
        const FIELDS: [&str; 4] = ["eap_method", "identity", "anonymous_identity", "phase2"];
        if security != Security::Enterprise {
            for field in self.given().filter(|field| FIELDS.contains(&field.name)) {
                let fault = Fault::new(field.name, Code::Contradictory, "only WPA2-EAP uses it");
                faults.push(fault.suggest("use security WPA2-EAP"));
            }
            return Vec::new();
        }
        let method = self.eap_method.unwrap_or(EapMethod::Peap);
        let default = (method == EapMethod::Peap).then_some(Phase2::Mschapv2);
        let has_tunnel = matches!(method, EapMethod::Peap | EapMethod::Ttls);
        if self.phase2.is_some() && !has_tunnel {
            faults.push(Fault::new("phase2", Code::Contradictory, "only PEAP and TTLS use it"));
        }
        let phase2 = self.phase2.or(default).map(|phase2| ("PH2", phase2.as_str().to_owned()));
        let given = [("I", &self.identity), ("A", &self.anonymous_identity)];
        let given = given.into_iter().filter_map(|(name, text)| Some((name, text.clone()?)));
        [("E", method.as_str().to_owned())].into_iter().chain(given).chain(phase2).collect()
    }
}

/// Whether the password is the key itself in hexadecimal, a PSK or a WEP key.
fn is_key(security: Security, password: &str) -> bool {
    let is_long_enough = match security {
        Security::Wpa => password.len() == 64,
        Security::Wep => matches!(password.len(), 10 | 26),
        // SAE proves a password, never a key.
        _ => false,
    };
    is_long_enough && password.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn check_password(security: Security, password: Option<&str>) -> Option<Fault> {
    let fault = |code, detail: &str| Some(Fault::new("password", code, detail));
    let is_ascii = |text: &str| text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    match (security, password) {
        (Security::NoPass, None) => None,
        // Any text may be a password. Without one, there is a certificate, or the phone asks for it.
        (Security::Enterprise, _) => None,
        (Security::NoPass, Some(_)) => {
            fault(Code::Contradictory, "an open network has no password")
        }
        (_, None) => fault(Code::Missing, "a network that is not open needs a password"),
        (_, Some(text)) if is_key(security, text) => None,
        (Security::Wep, Some(text)) if matches!(text.len(), 5 | 13) && is_ascii(text) => None,
        (Security::Wep, Some(_)) => {
            fault(Code::OutOfRange, "use 5 or 13 characters, or 10 or 26 hexadecimal digits")
        }
        (_, Some(text)) if (8..=63).contains(&text.len()) && is_ascii(text) => None,
        (Security::Wpa, Some(_)) => {
            fault(Code::OutOfRange, "use 8 to 63 characters of ASCII, or 64 hexadecimal digits")
        }
        (_, Some(_)) => fault(Code::OutOfRange, "use 8 to 63 characters of ASCII"),
    }
}
