//! What each kind makes of its fields, and which it refuses.

use super::contact::{Mecard, Vcard};
use super::epc::Epc;
use super::event::Event;
use super::gs1::Gs1;
use super::links::{Geo, Mail, Sms};
use super::otp::Otp;
use super::wifi::Wifi;
use super::*;

fn compose<T: Payload>(fields: &str) -> (String, Vec<Fault>) {
    let mut faults = Vec::new();
    let values: Map<String, Value> = serde_json::from_str(fields).unwrap();
    let text = (kind::<T>("", "").compose)(&schema_of::<T>(), &values, &mut faults);
    (text, faults)
}

fn composed<T: Payload>(fields: &str) -> String {
    let (text, faults) = compose::<T>(fields);
    assert_eq!(faults, [], "{fields}");
    text
}

/// The parameters that are at fault.
fn refused<T: Payload>(fields: &str) -> Vec<String> {
    compose::<T>(fields).1.into_iter().map(|fault| fault.parameter).collect()
}

#[test]
fn all_that_is_wrong_is_found_at_once() {
    for (refused, parameters) in [
        (refused::<Epc>(r#"{"beneficiary": "a", "iban": "DE00", "amount": "0"}"#), "iban amount"),
        (refused::<Epc>(r#"{"amount": "0", "bic": "BIC"}"#), "bic beneficiary iban amount"),
        (refused::<Wifi>(r#"{"ssid": "", "password": "1"}"#), "ssid password"),
        (refused::<Otp>(r#"{"account": "a:b", "digits": 9}"#), "digits secret account"),
        (refused::<Event>(r#"{"end": "2026"}"#), "start summary end"),
    ] {
        let (mut found, mut all) = (refused.clone(), parameters.split(' ').collect::<Vec<_>>());
        found.sort();
        all.sort();
        assert_eq!(found, all, "{refused:?}");
    }
}

#[test]
fn no_field_has_the_name_of_an_option() {
    let options = Schema::new(&Options::schema());
    for kind in &KINDS {
        let described = (kind.describe)();
        for name in described["properties"].as_object().unwrap().keys() {
            assert!(!options.has(name), "{} {name}", kind.name);
        }
    }
}

#[test]
fn a_vcard_has_its_lines_and_escapes() {
    let card = composed::<Vcard>(
        r#"{"first_name": "Ada", "last_name": "Lovelace; Jr.", "city": "London", "note": "a,b\nc",
            "phone": "+44 20 1", "email": "ada@example.com"}"#,
    );
    let expected = "BEGIN:VCARD\r\nVERSION:3.0\r\nN:Lovelace\\; Jr.;Ada;;;\r\nFN:Ada Lovelace\\; Jr.\r\n\
        TEL;TYPE=VOICE:+44 20 1\r\nEMAIL:ada@example.com\r\nADR:;;;London;;;\r\nNOTE:a\\,b\\nc\r\nEND:VCARD\r\n";
    assert_eq!(card, expected);
    assert_eq!(refused::<Vcard>(r#"{"city": "London"}"#), ["last_name"]);
    let wrong = r#"{"last_name": "x", "phone": "call me", "email": "no", "url": "a\nTEL:1"}"#;
    assert_eq!(refused::<Vcard>(wrong), ["email", "phone", "url"]);
}

#[test]
fn a_mecard_is_short_and_escaped() {
    let card = composed::<Mecard>(
        r#"{"last_name": "Do:e", "first_name": "J", "phone": "+1 (2) 3", "url": "https://a.b/"}"#,
    );
    assert_eq!(card, r"MECARD:N:Do\:e,J;TEL:+123;URL:https\://a.b/;;");
}

#[test]
fn a_payment_ends_with_its_last_element() {
    let payment = composed::<Epc>(
        r#"{"beneficiary": "Wikimedia", "iban": "DE33 1002 0500 0001 1947 00", "bic": "BFSWDE33BER",
            "amount": "123.4", "remittance": "Spende"}"#,
    );
    assert_eq!(
        payment,
        "BCD\n002\n1\nSCT\nBFSWDE33BER\nWikimedia\nDE33100205000001194700\nEUR123.40\n\n\nSpende"
    );
    let least = r#"{"beneficiary": "Wikimedia", "iban": "DE33100205000001194700"}"#;
    assert!(composed::<Epc>(least).ends_with("\nDE33100205000001194700"));
}

#[test]
fn what_no_bank_takes_is_refused() {
    let with = |more: &str| {
        refused::<Epc>(&format!(
            r#"{{"beneficiary": "W", "iban": "DE33100205000001194700"{more}}}"#
        ))
    };
    for amount in ["0", "0.001", "1000000000", "1,5", "-1", "1.", ".5", "1e3"] {
        assert_eq!(with(&format!(r#", "amount": "{amount}""#)), ["amount"], "{amount}");
    }
    assert_eq!(with(r#", "reference": "RF18", "remittance": "x""#), ["remittance"]);
    assert_eq!(with(r#", "bic": "BFSWDE3312""#), ["bic"]);
    assert_eq!(with(r#", "remittance": "a\nb""#), ["remittance"]);
    let long = "ü".repeat(140);
    assert_eq!(
        with(&format!(r#", "remittance": "{long}", "information": "{}""#, "ü".repeat(70))),
        ["remittance"]
    );
    assert_eq!(
        refused::<Epc>(r#"{"beneficiary": "W", "iban": "DE33100205000001194701"}"#),
        ["iban"]
    );
}

#[test]
fn an_event_has_days_or_times() {
    let event = composed::<Event>(
        r#"{"summary": "A, b", "start": "2026-02-28", "end": "2026-02-28", "location": "x;y"}"#,
    );
    assert_eq!(
        event,
        "BEGIN:VEVENT\r\nSUMMARY:A\\, b\r\nDTSTART;VALUE=DATE:20260228\r\nDTEND;VALUE=DATE:20260301\r\n\
        LOCATION:x\\;y\r\nEND:VEVENT"
    );
    let timed = composed::<Event>(r#"{"summary": "s", "start": "2024-02-29T23:59Z"}"#);
    assert!(timed.contains("\r\nDTSTART:20240229T235900Z\r\n"), "{timed}");
}

#[test]
fn times_that_do_not_exist_or_are_out_of_order_are_refused() {
    for (times, fault) in [
        (r#""start": "2026-02-29""#, "start"),
        (r#""start": "2026-13-01""#, "start"),
        (r#""start": "2026-5-001""#, "start"),
        (r#""start": "0000-05-01T8:30""#, "start"),
        (r#""start": "2026-05-01T24:00""#, "start"),
        (r#""start": "2026-05-01 18:30""#, "start"),
        (r#""start": "2026-05-01T18:30+02""#, "start"),
        (r#""start": "2026-05-01", "end": "2026-04-30""#, "end"),
        (r#""start": "2026-05-01", "end": "2026-05-01T18:30""#, "end"),
    ] {
        assert_eq!(
            refused::<Event>(&format!(r#"{{"summary": "s", {times}}}"#)),
            [fault],
            "{times}"
        );
    }
}

#[test]
fn only_elements_of_variable_length_end_with_a_separator() {
    let text = composed::<Gs1>(r#"{"elements": "(01)09506000134352(10)A(B)1(17)261231(21)4711"}"#);
    assert_eq!(text, "010950600013435210A(B)1\u{1d}17261231214711");
}

#[test]
fn wrong_elements_are_named() {
    for elements in ["0109506000134352", "(01)123", "(01)09506000134353", "(10)", "(10)ü", "x(10)A"]
    {
        assert_eq!(
            refused::<Gs1>(&format!(r#"{{"elements": "{elements}"}}"#)),
            ["elements"],
            "{elements}"
        );
    }
    assert_eq!(refused::<Gs1>(r#"{"elements": "(01)1(17)2"}"#), ["elements", "elements"]);
}

#[test]
fn messages_and_places_are_uris() {
    let sms = r#"{"phone": "+49 (170) 1", "message": "a: b"}"#;
    assert_eq!(composed::<Sms>(sms), "SMSTO:+491701:a: b");
    let mail = r#"{"to": "a+b@c.d", "subject": "x & y", "message": "1\n2"}"#;
    assert_eq!(composed::<Mail>(mail), "mailto:a%2Bb@c.d?subject=x%20%26%20y&body=1%0D%0A2");
    let geo = r#"{"latitude": 52.5, "longitude": -0.00000001}"#;
    assert_eq!(composed::<Geo>(geo), "geo:52.5,0");
    let labelled = r#"{"latitude": 1, "longitude": 2, "label": "A B"}"#;
    assert_eq!(composed::<Geo>(labelled), "geo:1,2?q=1,2(A%20B)");
    assert_eq!(refused::<Geo>(r#"{"latitude": 91, "longitude": 181}"#), ["latitude", "longitude"]);
    assert_eq!(refused::<Mail>(r#"{"to": "a b@c.d"}"#), ["to"]);
    assert_eq!(refused::<Sms>(r#"{"phone": "x"}"#), ["phone"]);
}

#[test]
fn a_key_is_a_uri_with_its_issuer_twice() {
    let uri = composed::<Otp>(
        r#"{"secret": "jbsw y3dp ehpk 3pxp", "account": "a b@c.d", "issuer": "Big Co", "digits": 8}"#,
    );
    let expected =
        "otpauth://totp/Big%20Co:a%20b%40c.d?secret=JBSWY3DPEHPK3PXP&issuer=Big%20Co&digits=8";
    assert_eq!(uri, expected);
    let hotp = composed::<Otp>(
        r#"{"secret": "JBSWY3DP", "account": "a", "method": "hotp", "counter": 0, "algorithm": "SHA256"}"#,
    );
    assert_eq!(hotp, "otpauth://hotp/a?secret=JBSWY3DP&algorithm=SHA256&counter=0");
}

#[test]
fn keys_that_no_app_takes_are_refused() {
    for (fields, fault) in [
        (r#"{"secret": "JBSWY3D1", "account": "a"}"#, "secret"),
        (r#"{"secret": "JBSWY3DPE", "account": "a"}"#, "secret"),
        (r#"{"secret": "JBSWY3DP", "account": "a:b"}"#, "account"),
        (r#"{"secret": "JBSWY3DP", "account": "a", "method": "hotp"}"#, "counter"),
        (r#"{"secret": "JBSWY3DP", "account": "a", "counter": 1}"#, "counter"),
    ] {
        assert_eq!(refused::<Otp>(fields), [fault], "{fields}");
    }
}

#[test]
fn values_are_escaped_and_hexadecimal_ones_quoted() {
    let text = composed::<Wifi>(r#"{"ssid": "a;b,c:d\\e\"f", "password": "12345678"}"#);
    assert_eq!(text, r#"WIFI:T:WPA;S:a\;b\,c\:d\\e\"f;P:"12345678";;"#);
    assert_eq!(composed::<Wifi>(r#"{"ssid": "net"}"#), "WIFI:T:nopass;S:net;;");
    let hidden = r#"{"ssid": "ä", "password": "secret42!", "hidden": true}"#;
    assert_eq!(composed::<Wifi>(hidden), "WIFI:T:WPA;S:ä;P:secret42!;H:true;;");
}

#[test]
fn keys_in_hexadecimal_are_not_quoted() {
    let password = |security: &str, password: &str| {
        let fields =
            format!(r#"{{"ssid": "n", "password": "{password}", "security": "{security}"}}"#);
        let text = composed::<Wifi>(&fields);
        let prefix = format!("WIFI:T:{security};S:n;P:");
        text.strip_prefix(&prefix).unwrap().strip_suffix(";;").unwrap().to_owned()
    };
    let psk = "0123456789abcdefABCDEF0123456789".repeat(2);
    for (security, key) in [("WPA", &*psk), ("WEP", &psk[..10]), ("WEP", &psk[..26])] {
        assert_eq!(password(security, key), key, "{security}");
    }
    // Passphrases of digits, also such as have a WEP key's length.
    for passphrase in [&psk[..8], &psk[..10], &psk[..26], &psk[..62]] {
        assert_eq!(password("WPA", passphrase), format!("\"{passphrase}\""));
    }
    assert_eq!(password("WEP", "abcde"), "abcde");
    let name = composed::<Wifi>(r#"{"ssid": "ABCD"}"#);
    assert_eq!(name, r#"WIFI:T:nopass;S:"ABCD";;"#);
}

#[test]
fn passwords_that_no_network_has_are_refused() {
    for (fields, fault) in [
        (r#"{"ssid": "n", "password": "short"}"#, "password"),
        (r#"{"ssid": "n", "password": "ü2345678"}"#, "password"),
        (r#"{"ssid": "n", "password": "1234", "security": "WEP"}"#, "password"),
        (r#"{"ssid": "n", "security": "WPA"}"#, "password"),
        (r#"{"ssid": "n", "password": "12345678", "security": "nopass"}"#, "password"),
        (r#"{"ssid": "ääääääääääääääääää"}"#, "ssid"),
        (r#"{"ssid": ""}"#, "ssid"),
        (r#"{"password": "12345678"}"#, "ssid"),
    ] {
        assert_eq!(refused::<Wifi>(fields), [fault], "{fields}");
    }
}
