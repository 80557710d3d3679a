//! Keys for one-time passwords, in the notation of Google Authenticator.

use serde::Deserialize;
use utoipa::ToSchema;

use super::{Payload, percent, query_of};
use crate::v1::fault::{Code, Fault};

/// A key for one-time passwords.
#[derive(Deserialize, ToSchema)]
pub(super) struct Otp {
    /// The key in Base32 (RFC 4648); spaces and padding are ignored.
    #[schema(min_length = 8, max_length = 256, pattern = r"^[A-Za-z2-7\s]+=*\s*$")]
    secret: String,
    /// Name of the account, such as an e-mail address.
    #[schema(min_length = 1, max_length = 200)]
    account: String,
    /// Name of the service or company that the account belongs to.
    #[schema(min_length = 1, max_length = 100)]
    issuer: Option<String>,
    /// `totp` by time (RFC 6238), or `hotp` by counter (RFC 4226).
    #[schema(inline, default = "totp")]
    method: Option<Method>,
    /// Hash function; many apps support only SHA1.
    #[schema(inline, default = "SHA1")]
    algorithm: Option<Algorithm>,
    /// Digits of a password.
    #[schema(minimum = 6, maximum = 8, default = 6)]
    digits: Option<u8>,
    /// Seconds that a password is valid, for `totp`.
    #[schema(minimum = 5, maximum = 300, default = 30)]
    period: Option<u16>,
    /// The first counter, which `hotp` requires.
    #[schema(minimum = 0)]
    counter: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Method {
    Totp,
    Hotp,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Algorithm {
    Sha1,
    Sha256,
    Sha512,
}

impl Payload for Otp {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let secret: String = self.secret.split_whitespace().collect();
        let secret = secret.trim_end_matches('=').to_ascii_uppercase();
        // In Base32 the last group never has 1, 3 or 6 characters.
        let is_base32 = secret.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'2'..=b'7'))
            && !matches!(secret.len() % 8, 1 | 3 | 6);
        if secret.is_empty() || !is_base32 {
            let detail = "it is not Base32 by RFC 4648: use A to Z and 2 to 7";
            faults.push(Fault::new("secret", Code::Malformed, detail));
        }
        for (name, text) in [("account", Some(&self.account)), ("issuer", self.issuer.as_ref())] {
            // In the label a colon separates issuer and account.
            if text.is_some_and(|text| text.contains(':') || text.contains(char::is_control)) {
                let detail = "it has a colon or a control character";
                faults.push(Fault::new(name, Code::Malformed, detail));
            }
        }
        let method = self.method.unwrap_or(Method::Totp);
        match (method, self.period, self.counter) {
            (Method::Totp, _, Some(_)) => {
                faults.push(Fault::new("counter", Code::Contradictory, "totp has no counter"));
            }
            (Method::Hotp, Some(_), _) => {
                faults.push(Fault::new("period", Code::Contradictory, "hotp has no period"));
            }
            (Method::Hotp, None, None) => {
                faults.push(Fault::new("counter", Code::Missing, "hotp needs a counter"));
            }
            _ => {}
        }
        let issuer = self.issuer.as_deref().map(percent);
        let name = if method == Method::Totp { "totp" } else { "hotp" };
        let label = issuer.as_ref().map(|issuer| format!("{issuer}:")).unwrap_or_default();
        // Some apps read the issuer from the label, others from the parameter.
        let query = query_of([
            ("secret", Some(secret)),
            ("issuer", issuer),
            ("algorithm", self.algorithm.map(|it| format!("{it:?}").to_ascii_uppercase())),
            ("digits", self.digits.map(|it| it.to_string())),
            ("period", self.period.map(|it| it.to_string())),
            ("counter", self.counter.map(|it| it.to_string())),
        ]);
        format!("otpauth://{name}/{label}{}?{query}", percent(&self.account))
    }
}
