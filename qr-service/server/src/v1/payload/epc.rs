//! SEPA credit transfers by the European Payments Council's guideline EPC069-12, version 002 of the data. Banks and
//! invoicing programs call the symbol Girocode.

use super::syntax::{ALPHANUMERIC, AMOUNT, BIC, LINE};
use super::{Payload, amount, parameters, text};
use crate::v1::fault::{Code, Fault};

/// The most bytes of the whole text.
const MAX_BYTES: usize = 331;

/// Country codes of IBANs in SEPA (EPC409-09). In the European Economic Area the IBAN alone identifies the bank;
/// payments to the other countries need a BIC (EPC069-12, AT-23). The Crown Dependencies use GB.
const EEA: &str =
    "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK";
const NOT_EEA: &str = "AD AL CH GB GI MC MD ME MK RS SM VA";

parameters! {
    /// A credit transfer in euro.
    #[derive(serde::Deserialize)]
    pub(super) Epc {
        /// Name of the payee.
        beneficiary: String = text(1, 70).pattern(LINE),
        /// Account of the payee; spaces are ignored.
        iban: String = text(15, 42)
            .pattern(r"^\s*[A-Za-z]\s*[A-Za-z]\s*[0-9]\s*[0-9][A-Za-z0-9\s]+$"),
        /// Bank of the account, 8 or 11 characters. It is optional for an IBAN of the European Economic Area, and
        /// required for other countries of SEPA, such as Switzerland, the United Kingdom and Monaco.
        bic: Option<String> = text(8, 11).pattern(BIC),
        /// Amount in euro, with a point or a comma and at most two decimals. Without it the payer chooses.
        amount: Option<String> = text(1, 12).example("12.30").pattern(AMOUNT),
        /// Purpose code of ISO 20022, four letters at most.
        purpose: Option<String> = text(1, 4).pattern(ALPHANUMERIC),
        /// Structured reference. If it begins with RF, its check digits by ISO 11649 must be right. It excludes
        /// `remittance`.
        reference: Option<String> = text(1, 35).pattern(LINE),
        /// Purpose of the payment, in words.
        remittance: Option<String> = text(1, 140).pattern(LINE),
        /// A note for the payer.
        information: Option<String> = text(1, 70).pattern(LINE),
    }
}

impl Payload for Epc {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let iban: String = self.iban.split_whitespace().collect::<String>().to_ascii_uppercase();
        if !is_iban(&iban) {
            let detail = "it is not an IBAN: its length, characters or check digits are wrong";
            faults.push(Fault::new("iban", Code::Malformed, detail));
        }
        let bic = self.bic.as_deref().unwrap_or_default().to_ascii_uppercase();
        let country = iban.get(..2).unwrap_or_default();
        let is_of = |countries: &str| countries.split(' ').any(|it| it == country);
        if is_of(NOT_EEA) && bic.is_empty() {
            let detail = format!(
                "{country} is in SEPA but not in the EEA, so a payment needs the bank's BIC (EPC069-12)"
            );
            faults.push(Fault::new("bic", Code::Missing, detail));
        } else if is_iban(&iban) && !is_of(EEA) && !is_of(NOT_EEA) {
            let detail = format!("{country} is not in SEPA; its countries are {EEA} {NOT_EEA}");
            faults.push(Fault::new("iban", Code::NotAllowed, detail));
        }
        let reference = self.reference.as_deref().map(reference);
        if reference == Some(None) {
            let detail = "the check digits after RF are wrong (ISO 11649)";
            faults.push(Fault::new("reference", Code::Malformed, detail));
        }
        let amount = amount(self.amount.as_deref(), faults);
        if self.reference.is_some() && self.remittance.is_some() {
            let detail = "reference is given too; a payment can have only one of them";
            faults.push(Fault::new("remittance", Code::Contradictory, detail));
        }
        let purpose = self.purpose.as_deref().unwrap_or_default().to_ascii_uppercase();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let lines = [
            "BCD".to_owned(),
            "002".to_owned(),
            // UTF-8.
            "1".to_owned(),
            "SCT".to_owned(),
            bic,
            self.beneficiary.clone(),
            iban,
            amount.map(|amount| format!("EUR{amount}")).unwrap_or_default(),
            purpose,
            reference.flatten().unwrap_or_default(),
            text(&self.remittance),
            text(&self.information),
        ];
        // The guideline leaves out empty elements at the end.
        let composed = lines.join("\n").trim_end_matches('\n').to_owned();
        if composed.len() > MAX_BYTES {
            let detail =
                format!("the payment has {} bytes of UTF-8, above {MAX_BYTES}", composed.len());
            let fault = Fault::new("remittance", Code::TooLong, detail);
            faults.push(fault.suggest("shorten it, or the names"));
        }
        composed
    }
}

/// The amount in cents; `None` if it is malformed or out of range.
pub(super) fn cents(amount: &str) -> Option<u64> {
    let (whole, decimals) = amount.split_once(['.', ',']).unwrap_or((amount, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 2 {
        return None;
    }
    let decimals: u64 = format!("{decimals:0<2}").parse().ok()?;
    let cents = whole.parse::<u64>().ok()?.checked_mul(100)? + decimals;
    (1..=99_999_999_999).contains(&cents).then_some(cents)
}

/// Whether this is an IBAN (ISO 13616): two letters, two check digits, up to 30 more characters.
pub(super) fn is_iban(iban: &str) -> bool {
    let bytes = iban.as_bytes();
    let is_shaped = (15..=34).contains(&bytes.len())
        && bytes.iter().all(u8::is_ascii_alphanumeric)
        && bytes[..2].iter().all(u8::is_ascii_uppercase)
        && bytes[2..4].iter().all(u8::is_ascii_digit);
    is_shaped && has_check_digits(bytes)
}

/// The reference to encode. One that begins with RF and two digits must be valid by ISO 11649, else the result is
/// `None`; spaces are removed from it, because people write it in groups.
pub(super) fn reference(text: &str) -> Option<String> {
    let bare: String = text.split_whitespace().collect::<String>().to_ascii_uppercase();
    let digits = bare.strip_prefix("RF").and_then(|rest| rest.as_bytes().get(..2));
    if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit)) {
        return Some(text.to_owned());
    }
    let bytes = bare.as_bytes();
    let is_shaped = (5..=25).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_alphanumeric);
    (is_shaped && has_check_digits(bytes)).then_some(bare)
}

/// Whether the check digits are right (ISO 7064): with the first four characters moved to the end and each letter as
/// two digits, the remainder by 97 must be 1.
pub(super) fn has_check_digits(bytes: &[u8]) -> bool {
    let remainder = |rest: u32, byte: &u8| match char::from(*byte).to_digit(36) {
        Some(digit @ 10..) => (rest * 100 + digit) % 97,
        digit => (rest * 10 + digit.unwrap_or(0)) % 97,
    };
    bytes.len() > 4 && bytes[4..].iter().chain(&bytes[..4]).fold(0, remainder) == 1
}
