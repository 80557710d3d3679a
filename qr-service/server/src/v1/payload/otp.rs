//! Keys for one-time passwords, in the notation of Google Authenticator.

use super::syntax::LABEL;
use super::{Payload, any_integer, integer, names, one_of, parameters, percent, query_of, text};
use crate::v1::fault::{Code, Fault};

parameters! {
    /// A key for one-time passwords.
    #[derive(serde::Deserialize)]
    pub(super) Otp {
        /// The key in Base32 (RFC 4648); spaces and padding are ignored.
        secret: String = text(8, 256).pattern(r"^[A-Za-z2-7\s]+=*\s*$"),
        /// Name of the account, such as an e-mail address.
        account: String = text(1, 200).pattern(LABEL),
        /// Name of the service or company that the account belongs to.
        issuer: Option<String> = text(1, 100).pattern(LABEL),
        /// `totp` by time (RFC 6238), or `hotp` by counter (RFC 4226).
        method: Option<Method> = one_of(Method::NAMED).default("totp"),
        /// Hash function; many apps support only SHA1.
        algorithm: Option<Algorithm> = one_of(Algorithm::NAMED).default("SHA1"),
        /// Digits of a password.
        digits: Option<u8> = integer(6, 8).default("6"),
        /// Seconds that a password is valid, for `totp`.
        period: Option<u16> = integer(5, 300).default("30"),
        /// The first counter, which `hotp` requires.
        counter: Option<u32> = any_integer(),
    }
}

names! {
    /// How passwords follow one another.
    Method {
        Totp = "totp",
        Hotp = "hotp",
    }
}

names! {
    /// A hash function.
    Algorithm {
        Sha1 = "SHA1",
        Sha256 = "SHA256",
        Sha512 = "SHA512",
    }
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
        let label = issuer.as_ref().map(|issuer| format!("{issuer}:")).unwrap_or_default();
        // Some apps read the issuer from the label, others from the parameter.
        let query = query_of([
            ("secret", Some(secret)),
            ("issuer", issuer),
            ("algorithm", self.algorithm.map(|it| it.as_str().to_owned())),
            ("digits", self.digits.map(|it| it.to_string())),
            ("period", self.period.map(|it| it.to_string())),
            ("counter", self.counter.map(|it| it.to_string())),
        ]);
        format!("otpauth://{}/{label}{}?{query}", method.as_str(), percent(&self.account))
    }
}
