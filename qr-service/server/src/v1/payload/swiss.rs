//! The Swiss QR-bill by the Implementation Guidelines of SIX, version 2.3, which allows only structured addresses.

use super::epc::{has_check_digits, is_iban, reference};
use super::syntax::{AMOUNT, BILL, COUNTRY, LINE};
use super::{Payload, amount, names, one_of, parameters, text};
use crate::v1::fault::{Code, Fault};

/// The most characters of the message and the bill's information together (section 4.2.2).
const MAX_INFORMATION: usize = 140;

parameters! {
    /// The QR code of a payment part, with the Swiss cross in the middle. Print it 46 mm wide, with 5 mm of white
    /// around it.
    #[derive(serde::Deserialize)]
    pub(super) Swiss {
        /// Account of the payee, in Switzerland or Liechtenstein; spaces are ignored. A QR-IBAN needs a reference.
        iban: String = text(21, 30).example("CH44 3199 9123 0008 8901 2"),
        /// Name of the payee.
        creditor_name: String = text(1, 70).pattern(BILL),
        /// Street of the payee.
        creditor_street: Option<String> = text(1, 70).pattern(BILL),
        /// House number.
        creditor_house_number: Option<String> = text(1, 16).pattern(BILL),
        /// Postal code, without the country's.
        creditor_postcode: String = text(1, 16).pattern(BILL),
        /// Town.
        creditor_town: String = text(1, 35).pattern(BILL),
        /// Country: two letters.
        creditor_country: Option<String> = text(2, 2).default("CH").pattern(COUNTRY),
        /// Amount, with a point or a comma and at most two decimals. Without it the payer chooses.
        amount: Option<String> = text(1, 12).example("199.95").pattern(AMOUNT),
        /// Currency of the amount.
        currency: Option<Currency> = one_of(Currency::NAMED).default("CHF"),
        /// Name of the payer. With any field of the payer, name, postal code and town are required.
        debtor_name: Option<String> = text(1, 70).pattern(BILL),
        /// Street of the payer.
        debtor_street: Option<String> = text(1, 70).pattern(BILL),
        /// House number.
        debtor_house_number: Option<String> = text(1, 16).pattern(BILL),
        /// Postal code, without the country's.
        debtor_postcode: Option<String> = text(1, 16).pattern(BILL),
        /// Town.
        debtor_town: Option<String> = text(1, 35).pattern(BILL),
        /// Country: two letters.
        debtor_country: Option<String> = text(2, 2).default("CH").pattern(COUNTRY),
        /// Reference with check digits; spaces are ignored. With a QR-IBAN it is a QR reference of 27 digits, with
        /// another IBAN one of ISO 11649, which begins with RF.
        reference: Option<String> = text(5, 40).pattern(LINE),
        /// Message to the payer; with `bill_information` at most 140 characters.
        message: Option<String> = text(1, 140).pattern(BILL),
        /// Coded information for the payer's program, such as `//S1/10/10201409`.
        bill_information: Option<String> = text(1, 140).pattern(BILL),
        /// Parameters of an alternative procedure, such as eBill.
        procedure_1: Option<String> = text(1, 100).pattern(BILL),
        /// Parameters of a second alternative procedure.
        procedure_2: Option<String> = text(1, 100).pattern(BILL),
    }
}

names! {
    /// A currency of the QR-bill.
    Currency {
        Chf = "CHF",
        Eur = "EUR",
    }
}

impl Payload for Swiss {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let iban: String = self.iban.split_whitespace().collect::<String>().to_ascii_uppercase();
        if !is_iban(&iban)
            || iban.len() != 21
            || !(iban.starts_with("CH") || iban.starts_with("LI"))
        {
            let detail =
                "it is not an IBAN of Switzerland or Liechtenstein, or its check digits are wrong";
            faults.push(Fault::new("iban", Code::Malformed, detail));
        }
        let amount = amount(self.amount.as_deref(), faults);
        let (kind, reference) = self.reference(&iban, faults);
        self.check_texts(faults);
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let mut lines = vec!["SPC".to_owned(), "0200".to_owned(), "1".to_owned(), iban];
        lines.extend(address(self.creditor()));
        // The guidelines reserve the ultimate creditor for future use.
        lines.extend(address([const { None }; 6]));
        let currency = self.currency.unwrap_or(Currency::Chf);
        lines.extend([amount.unwrap_or_default(), currency.as_str().to_owned()]);
        lines.extend(address(self.debtor()));
        lines.extend([kind.to_owned(), reference, text(&self.message), "EPD".to_owned()]);
        lines.extend([&self.bill_information, &self.procedure_1, &self.procedure_2].map(text));
        // The guidelines leave out empty elements at the end.
        lines.join("\n").trim_end_matches('\n').to_owned()
    }
}

impl Swiss {
    fn creditor(&self) -> [Option<String>; 6] {
        [
            Some(self.creditor_name.clone()),
            self.creditor_street.clone(),
            self.creditor_house_number.clone(),
            Some(self.creditor_postcode.clone()),
            Some(self.creditor_town.clone()),
            self.creditor_country.clone(),
        ]
    }

    fn debtor(&self) -> [Option<String>; 6] {
        let fields = [
            &self.debtor_name,
            &self.debtor_street,
            &self.debtor_house_number,
            &self.debtor_postcode,
            &self.debtor_town,
            &self.debtor_country,
        ];
        fields.map(Clone::clone)
    }

    /// The kind of reference, and the reference (section 4.2.2).
    fn reference(&self, iban: &str, faults: &mut Vec<Fault>) -> (&'static str, String) {
        // The number of the institution tells a QR-IBAN.
        let institution = iban.get(4..9).and_then(|digits| digits.parse::<u32>().ok());
        let is_qr_iban = institution.is_some_and(|number| (30_000..32_000).contains(&number));
        let mut refuse = |code, detail: &str| faults.push(Fault::new("reference", code, detail));
        let bare: Option<String> =
            self.reference.as_ref().map(|it| it.split_whitespace().collect());
        match (is_qr_iban, bare) {
            (true, None) => {
                refuse(Code::Missing, "a payment to a QR-IBAN needs a QR reference of 27 digits")
            }
            (true, Some(bare)) if is_qr_reference(&bare) => return ("QRR", bare),
            (true, Some(_)) => {
                refuse(
                    Code::Malformed,
                    "a QR reference has 27 digits, the last of which is a check digit",
                );
            }
            (false, None) => return ("NON", String::new()),
            (false, Some(bare)) => match reference(&bare).filter(|it| it.starts_with("RF")) {
                Some(right) if has_check_digits(right.as_bytes()) => return ("SCOR", right),
                _ => {
                    let detail = "with this IBAN, use a reference of ISO 11649: RF, two check digits, up to 21 more \
                        characters; a QR reference needs a QR-IBAN";
                    refuse(Code::Malformed, detail);
                }
            },
        }
        ("NON", String::new())
    }

    fn check_texts(&self, faults: &mut Vec<Fault>) {
        let debtor = self.debtor();
        let is_given = debtor.iter().any(Option::is_some);
        let names = ["debtor_name", "", "", "debtor_postcode", "debtor_town"];
        for (name, field) in names.into_iter().zip(&debtor).filter(|(name, _)| !name.is_empty()) {
            if is_given && field.is_none() {
                let detail = "an address needs a name, a postal code and a town";
                faults.push(Fault::new(name, Code::Missing, detail));
            }
        }
        let characters = |text: &Option<String>| text.as_ref().map_or(0, |it| it.chars().count());
        let both = characters(&self.message) + characters(&self.bill_information);
        if both > MAX_INFORMATION {
            let detail = format!("message and bill_information have {both} characters together");
            let fault = Fault::new("message", Code::TooLong, detail);
            faults.push(fault.at_most(MAX_INFORMATION as u32).suggest("shorten one of them"));
        }
    }
}

/// The lines of a structured address, all empty if it is not given.
fn address(fields: [Option<String>; 6]) -> [String; 7] {
    let is_given = fields.iter().any(Option::is_some);
    let [name, street, house, postcode, town, country] = fields;
    let line = |text: Option<String>| text.unwrap_or_default();
    let country = country.map_or_else(
        || if is_given { "CH".to_owned() } else { String::new() },
        |country| country.to_ascii_uppercase(),
    );
    let kind = if is_given { "S".to_owned() } else { String::new() };
    [kind, line(name), line(street), line(house), line(postcode), line(town), country]
}

/// Whether this is a QR reference: 27 digits, the last of which is a check digit, modulo 10 recursive (annex B).
fn is_qr_reference(text: &str) -> bool {
    const TABLE: [u32; 10] = [0, 9, 4, 6, 8, 2, 7, 1, 3, 5];
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(10)).collect();
    let Some(digits) = digits.filter(|digits| digits.len() == 27) else { return false };
    let carry = digits[..26].iter().fold(0, |carry, digit| TABLE[((carry + digit) % 10) as usize]);
    (10 - carry) % 10 == digits[26]
}
