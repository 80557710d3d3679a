//! Contacts: vCard 3.0 (RFC 2426), or on request 4.0 (RFC 6350), whose umlauts some phones misread, and MECARD.

use chrono::NaiveDate;

use super::syntax::{EMAIL, LINE, PHONE};
use super::{Payload, bare_phone, escape, names, one_of, parameters, text};
use crate::v1::fault::{Code, Fault};

parameters! {
    /// A contact. One of the names is required.
    #[derive(serde::Deserialize)]
    pub(super) Vcard {
        /// First names.
        first_name: Option<String> = text(1, 100),
        /// Last name.
        last_name: Option<String> = text(1, 100),
        /// Company or another organization.
        organization: Option<String> = text(1, 200),
        /// Position in the organization.
        job_title: Option<String> = text(1, 100),
        /// Telephone number.
        phone: Option<String> = text(1, 40).pattern(PHONE),
        /// Number of a mobile telephone.
        mobile: Option<String> = text(1, 40).pattern(PHONE),
        /// Telephone number at work.
        work_phone: Option<String> = text(1, 40).pattern(PHONE),
        /// Telephone number at home.
        home_phone: Option<String> = text(1, 40).pattern(PHONE),
        /// Number for faxes.
        fax: Option<String> = text(1, 40).pattern(PHONE),
        /// E-mail address.
        email: Option<String> = text(3, 254).pattern(EMAIL),
        /// Web site.
        url: Option<String> = text(1, 500).pattern(LINE),
        /// Street and number.
        street: Option<String> = text(1, 200),
        /// City or town.
        city: Option<String> = text(1, 100),
        /// State or region.
        region: Option<String> = text(1, 100),
        /// Postal code.
        postcode: Option<String> = text(1, 20),
        /// Country, in words.
        country: Option<String> = text(1, 100),
        /// Day of birth, such as 1815-12-10.
        birthday: Option<String> = text(10, 10).pattern("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
        /// Version of vCard.
        card_version: Option<CardVersion> = one_of(CardVersion::NAMED).default("3.0"),
        /// Anything else; it may have several lines.
        note: Option<String> = text(1, 1000),
    }
}

names! {
    /// A version of vCard.
    CardVersion {
        Three = "3.0",
        Four = "4.0",
    }
}

/// Escapes a value of vCard or iCalendar (RFC 2426 section 5, RFC 5545 section 3.3.11).
pub(super) fn card_value(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    escape(&lines, "\\,;").replace('\n', "\\n")
}

impl Payload for Vcard {
    const EXAMPLE: &'static [(&'static str, &'static str)] =
        &[("first_name", "Ada"), ("last_name", "Lovelace"), ("email", "ada@example.com")];

    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let value = |text: &Option<String>| text.as_deref().map(card_value).unwrap_or_default();
        let names = [&self.first_name, &self.last_name];
        let full: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
        let full =
            if full.is_empty() { value(&self.organization) } else { card_value(&full.join(" ")) };
        if full.is_empty() {
            let detail = "give first_name, last_name or organization";
            faults.push(Fault::new("last_name", Code::Missing, detail));
        }
        let birthday = self.birthday.as_deref().map(|day| day.parse::<NaiveDate>());
        if matches!(birthday, Some(Err(_))) {
            let detail = "use a day such as 1815-12-10";
            faults.push(Fault::new("birthday", Code::Malformed, detail));
        }
        let (version, form) = match self.card_version {
            Some(CardVersion::Four) => ("4.0", "%Y%m%d"),
            _ => ("3.0", "%Y-%m-%d"),
        };
        let birthday = birthday.and_then(Result::ok).map(|day| day.format(form).to_string());
        let mut card = format!(
            "BEGIN:VCARD\r\nVERSION:{version}\r\nN:{};{};;;\r\nFN:{full}\r\n",
            value(&self.last_name),
            value(&self.first_name),
        );
        let address = [&self.street, &self.city, &self.region, &self.postcode, &self.country];
        let address = address
            .iter()
            .any(|part| part.is_some())
            .then(|| format!(";;{}", address.map(value).join(";")));
        for (name, value) in [
            ("ORG", self.organization.as_deref().map(card_value)),
            ("TITLE", self.job_title.as_deref().map(card_value)),
            ("TEL;TYPE=VOICE", self.phone.clone()),
            ("TEL;TYPE=CELL", self.mobile.clone()),
            ("TEL;TYPE=WORK", self.work_phone.clone()),
            ("TEL;TYPE=HOME", self.home_phone.clone()),
            ("TEL;TYPE=FAX", self.fax.clone()),
            ("EMAIL", self.email.clone()),
            // vCard does not escape URIs.
            ("URL", self.url.clone()),
            ("ADR", address),
            ("BDAY", birthday),
            ("NOTE", self.note.as_deref().map(card_value)),
        ] {
            if let Some(value) = value {
                card.push_str(&format!("{name}:{value}\r\n"));
            }
        }
        card.push_str("END:VCARD\r\n");
        card
    }
}

parameters! {
    /// A contact in the notation of NTT Docomo.
    #[derive(serde::Deserialize)]
    pub(super) Mecard {
        /// Last name.
        last_name: String = text(1, 100).pattern(LINE),
        /// First names.
        first_name: Option<String> = text(1, 100).pattern(LINE),
        /// Telephone number.
        phone: Option<String> = text(1, 40).pattern(PHONE),
        /// E-mail address.
        email: Option<String> = text(3, 254).pattern(EMAIL),
        /// Web site.
        url: Option<String> = text(1, 500).pattern(LINE),
        /// Address in one line.
        address: Option<String> = text(1, 300).pattern(LINE),
        /// Anything else.
        note: Option<String> = text(1, 500).pattern(LINE),
    }
}

impl Payload for Mecard {
    fn compose(&self, _: &mut Vec<Fault>) -> String {
        let value = |text: &str| escape(text, "\\;:,\"");
        let first = self.first_name.as_deref().map(|name| format!(",{}", value(name)));
        let name = format!("{}{}", value(&self.last_name), first.unwrap_or_default());
        let mut card = format!("MECARD:N:{name};");
        for (name, text) in [
            ("TEL", self.phone.as_deref().map(bare_phone)),
            ("EMAIL", self.email.as_deref().map(value)),
            ("URL", self.url.as_deref().map(value)),
            ("ADR", self.address.as_deref().map(value)),
            ("NOTE", self.note.as_deref().map(value)),
        ] {
            if let Some(text) = text {
                card.push_str(&format!("{name}:{text};"));
            }
        }
        card.push(';');
        card
    }
}
