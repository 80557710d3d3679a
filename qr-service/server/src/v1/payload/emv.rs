//! Payments that shops show as a symbol: EMV's merchant-presented mode (EMV QRCPS 1.1), with the profiles of Pix, in
//! Brazil (BR Code, Banco Central do Brasil), and of PayNow, in Singapore (SGQR).
//!
//! Each field is its number, its length, both with two digits, and its value. A checksum ends the text.

use super::syntax::{ALPHANUMERIC, AMOUNT, ASCII, EMAIL, PHONE, wrong_with};
use super::{Payload, amount, bare_phone, parameters, text};
use crate::v1::fault::{Code, Fault};

parameters! {
    /// A payment in Brazil.
    #[derive(serde::Deserialize)]
    pub(super) Pix {
        /// Key of the payee: CPF, CNPJ, telephone number with `+55`, e-mail address, or random key.
        key: String = text(5, 77).example("123e4567-e12b-12d1-a456-426655440000"),
        /// Name of the payee, in ASCII.
        name: String = text(1, 25).pattern(ASCII),
        /// City of the payee, in ASCII.
        city: String = text(1, 15).pattern(ASCII),
        /// Amount in reais, with a point or a comma and at most two decimals. Without it the payer chooses.
        amount: Option<String> = text(1, 12).example("10.00").pattern(AMOUNT),
        /// Identifier of the payment in the payee's books.
        txid: Option<String> = text(1, 25).pattern(ALPHANUMERIC),
        /// A note for the payer, in ASCII.
        message: Option<String> = text(1, 72).pattern(ASCII),
    }
}

impl Payload for Pix {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let key = self.key(faults);
        let amount = amount(self.amount.as_deref(), faults);
        let reference = self.txid.as_deref().unwrap_or("***");
        let message = self.message.as_deref();
        let account =
            [field("00", "br.gov.bcb.pix"), field("01", &key), optional("02", message)].concat();
        if account.len() > 99 {
            let detail = "the key and the message are too long together";
            let most = 99 - (account.len() - message.map_or(0, str::len)).min(99);
            faults.push(Fault::new("message", Code::TooLong, detail).at_most(most as u32));
        }
        checked(&[
            field("00", "01"),
            field("26", &account),
            field("52", "0000"),
            field("53", "986"),
            optional("54", amount.as_deref()),
            field("58", "BR"),
            field("59", &self.name),
            field("60", &self.city),
            field("62", &field("05", reference)),
        ])
    }
}

impl Pix {
    /// The key as it is registered. Adds a fault if it is of no kind of key.
    fn key(&self, faults: &mut Vec<Fault>) -> String {
        if self.key.contains('@') {
            let wrong = wrong_with(&self.key, EMAIL);
            faults.extend(wrong.map(|detail| Fault::new("key", Code::Malformed, detail)));
            return self.key.to_lowercase();
        }
        let bare: String = self.key.chars().filter(|c| !" .-/()".contains(*c)).collect();
        let digits: Vec<u32> = bare.chars().filter_map(|c| c.to_digit(10)).collect();
        let is_number = digits.len() == bare.len();
        let is_right = match bare.len() {
            11 if is_number => has_check_digits(&digits, 11),
            14 if is_number => has_check_digits(&digits, 9),
            13 | 14 if bare.starts_with("+55") => digits.len() + 1 == bare.len(),
            32 => bare.bytes().all(|byte| byte.is_ascii_hexdigit()),
            _ => false,
        };
        if !is_right {
            let detail = "use a CPF or CNPJ with its check digits, a telephone number with +55, an \
                e-mail address, or a random key";
            faults.push(Fault::new("key", Code::Malformed, detail));
        }
        if bare.len() == 32 { self.key.to_lowercase() } else { bare }
    }
}

/// Whether the last two digits are the check digits of a CPF or CNPJ: modulo 11, with weights from the right that rise
/// from 2 to `most` and begin again.
fn has_check_digits(digits: &[u32], most: u32) -> bool {
    (digits.len() - 2..digits.len()).all(|at| {
        let weighted = digits[..at].iter().rev().zip((2..=most).cycle());
        let rest = weighted.map(|(digit, weight)| digit * weight).sum::<u32>() % 11;
        digits[at] == if rest < 2 { 0 } else { 11 - rest }
    })
}

parameters! {
    /// A payment in Singapore. Give `uen` or `mobile`.
    #[derive(serde::Deserialize)]
    pub(super) PayNow {
        /// Unique entity number of the payee, with a suffix if it has one.
        uen: Option<String> = text(9, 13).pattern(ALPHANUMERIC),
        /// Mobile telephone number of the payee, with `+65`.
        mobile: Option<String> = text(1, 40).pattern(PHONE),
        /// Name of the payee, in ASCII.
        name: String = text(1, 25).pattern(ASCII),
        /// Amount in dollars, with a point or a comma and at most two decimals. Without it the payer chooses.
        amount: Option<String> = text(1, 12).example("10.00").pattern(AMOUNT),
        /// Number of the bill, in ASCII.
        reference: Option<String> = text(1, 25).pattern(ASCII),
    }
}

impl Payload for PayNow {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let mobile = self.mobile.as_deref().map(bare_phone);
        let is_mobile = |it: &String| it.strip_prefix("+65").is_some_and(|rest| rest.len() == 8);
        if mobile.as_ref().is_some_and(|mobile| !is_mobile(mobile)) {
            let detail = "use +65 and eight digits";
            faults.push(Fault::new("mobile", Code::Malformed, detail));
        }
        let uen = self.uen.as_deref().map(str::to_ascii_uppercase);
        let proxy = match (uen, mobile) {
            (Some(uen), None) => field("01", "2") + &field("02", &uen),
            (None, Some(mobile)) => field("01", "0") + &field("02", &mobile),
            (both, _) => {
                let code = if both.is_some() { Code::Contradictory } else { Code::Missing };
                faults.push(Fault::new("uen", code, "give one of uen and mobile"));
                String::new()
            }
        };
        let amount = amount(self.amount.as_deref(), faults);
        let reference = self.reference.as_deref();
        // With 1 the payer may change the amount.
        let is_editable = if amount.is_some() { "0" } else { "1" };
        let account = [field("00", "SG.PAYNOW"), proxy, field("03", is_editable)].concat();
        let bill = reference.map(|number| field("01", number));
        checked(&[
            field("00", "01"),
            // The symbol can be used many times.
            field("01", "11"),
            field("26", &account),
            field("52", "0000"),
            field("53", "702"),
            optional("54", amount.as_deref()),
            field("58", "SG"),
            field("59", &self.name),
            field("60", "Singapore"),
            optional("62", bill.as_deref()),
        ])
    }
}

fn field(number: &str, value: &str) -> String {
    format!("{number}{:02}{value}", value.len())
}

fn optional(number: &str, value: Option<&str>) -> String {
    value.map(|value| field(number, value)).unwrap_or_default()
}

/// The fields with their checksum: CRC-16 with the polynomial 0x1021 and the initial value 0xFFFF, over everything before
/// its own digits.
fn checked(fields: &[String]) -> String {
    let text = fields.concat() + "6304";
    let crc = text.bytes().fold(0xffff_u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
        })
    });
    format!("{text}{crc:04X}")
}
