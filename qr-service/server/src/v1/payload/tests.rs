//! Tests the text that each kind makes from its fields, and the fields that it refuses.

use serde_json::json;

use super::contact::{Mecard, Vcard};
use super::emv::{PayNow, Pix};
use super::epc::Epc;
use super::event::Event;
use super::gs1::Gs1;
use super::links::{Geo, Mail, Sms, Upi, WhatsApp};
use super::otp::Otp;
use super::swiss::Swiss;
use super::wifi::Wifi;
use super::*;

fn compose<T: Payload>(fields: &str) -> (String, Vec<Fault>) {
    let mut faults = Vec::new();
    let values: Map<String, Value> = serde_json::from_str(fields).unwrap();
    let text = (kind::<T>("", "").compose)(&Schema::of::<T>(), &values, &mut faults);
    (text, faults)
}

fn composed<T: Payload>(fields: &str) -> String {
    let (text, faults) = compose::<T>(fields);
    assert_eq!(faults, [], "{fields}");
    text
}

/// Returns the parameters of the faults.
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
    let options = Schema::of::<Options>();
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
    for amount in ["0", "0.001", "1000000000", "1,555", "1.234,50", "1,", "-1", "1.", ".5", "1e3"] {
        assert_eq!(with(&format!(r#", "amount": "{amount}""#)), ["amount"], "{amount}");
    }
    let two = r#", "reference": "RF18539007547034", "remittance": "x""#;
    assert_eq!(with(two), ["remittance"]);
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
fn a_payment_outside_the_eea_needs_a_bic_and_one_outside_sepa_has_no_symbol() {
    let faults = |iban: &str, bic: &str| {
        let bic = if bic.is_empty() { String::new() } else { format!(r#", "bic": "{bic}""#) };
        compose::<Epc>(&format!(r#"{{"beneficiary": "W", "iban": "{iban}"{bic}}}"#)).1
    };
    // The examples of SWIFT's registry of IBANs.
    for iban in [
        "CH9300762011623852957",
        "GB29NWBK60161331926819",
        "MC5811222000010123456789030",
        "SM86U0322509800000000270100",
        "AD1200012030200359100100",
        "VA59001123000012345678",
        "GI75NWBK000000007099453",
    ] {
        let missing = faults(iban, "");
        assert_eq!((&*missing[0].parameter, missing[0].code), ("bic", Code::Missing), "{iban}");
        assert!(missing.len() == 1 && missing[0].detail.contains("EEA"), "{missing:?}");
        assert_eq!(faults(iban, "POFICHBEXXX"), [], "{iban}");
    }
    for iban in ["LI21088100002324013AA", "NO9386011117947", "IS140159260076545510730339"] {
        assert_eq!(faults(iban, ""), [], "{iban}");
    }
    let brazil = faults("BR1800360305000010009795493C1", "CEFXBRSP");
    assert_eq!((&*brazil[0].parameter, brazil[0].code), ("iban", Code::NotAllowed));
}

#[test]
fn a_reference_of_iso_11649_has_right_check_digits() {
    let composed = |reference: &str| {
        let fields = format!(
            r#"{{"beneficiary": "W", "iban": "DE33100205000001194700", "reference": "{reference}"}}"#
        );
        let (text, faults) = compose::<Epc>(&fields);
        let faults: Vec<_> = faults.into_iter().map(|fault| fault.parameter).collect();
        (text.rsplit('\n').next().unwrap().to_owned(), faults)
    };
    // The standard's example as it is printed, and national references, which the standard does not cover.
    for (given, written) in [
        ("RF18 5390 0754 7034", "RF18539007547034"),
        ("rf18539007547034", "RF18539007547034"),
        ("RFX-7", "RFX-7"),
        ("2024/17", "2024/17"),
    ] {
        assert_eq!(composed(given), (written.to_owned(), vec![]));
    }
    for wrong in ["RF19539007547034", "RF18539007547035", "RF18", "RF18-5390"] {
        assert_eq!(composed(wrong).1, ["reference"], "{wrong}");
    }
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
        (r#""start": "2026-05-01T18:30:00.""#, "start"),
        (r#""start": "2026-05-01T18:30+2:00""#, "start"),
        (r#""start": "2026-05-01T18:30+25:00""#, "start"),
        (r#""start": "2026-05-01T18:30Z+02:00""#, "start"),
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

/// All of these were accepted.
#[test]
fn elements_keep_the_rules_of_their_own_identifier() {
    let of = |elements: &str| compose::<Gs1>(&json!({"elements": elements}).to_string()).1;
    for (elements, told) in [
        (format!("(01)09506000134352(10){}", "A".repeat(21)), "(10) takes up to 20 letters"),
        (format!("(01)09506000134352(21){}", "A".repeat(25)), "(21) takes up to 20 letters"),
        ("(02)09506000134352(37)123456789".to_owned(), "(37) takes up to 8 digits"),
        ("(01)09506000134352(01)09506000134352".to_owned(), "(01) is given twice"),
        ("(05)123".to_owned(), "(05) is not an identifier"),
        ("(01)09506000134352(02)09506000134352".to_owned(), "(02) cannot be beside (01)"),
        ("(3102)000123(3103)000123".to_owned(), "(3102) cannot be beside (3103)"),
        ("(8010)abc".to_owned(), "(8010) takes up to 30 capital letters"),
        ("(8003)19506000134352AB".to_owned(), "(8003) takes 0 at its beginning"),
        ("(7003)2612312560".to_owned(), "(7003) takes a time"),
        ("(8011)012".to_owned(), "(8011) takes a number without 0"),
        ("(8007)DE33100205000001194701".to_owned(), "(8007) takes an IBAN"),
        ("(4321)2".to_owned(), "(4321) takes 0 or 1"),
    ] {
        let faults = of(&elements);
        assert!(faults.iter().any(|it| it.detail.contains(told)), "{elements} {faults:?}");
    }
    for elements in
        ["(3103)001250(3922)1234", "(99)x/Y", "(8200)https://a.example", "(01)09506000134352(30)12"]
    {
        assert_eq!(of(elements), [], "{elements}");
    }
}

#[test]
fn elements_are_a_link_with_a_domain() {
    let link = |elements: &str, domain: &str| {
        let (text, faults) =
            compose::<Gs1>(&json!({"elements": elements, "domain": domain}).to_string());
        faults
            .into_iter()
            .next()
            .map_or(text, |fault| format!("{} {}", fault.parameter, fault.detail))
    };
    for (elements, domain, expected) in [
        (
            "(01)09506000134352(10)A/B%1(21)7&8(17)271231",
            "id.example.org",
            "https://id.example.org/01/09506000134352/10/A%2FB%251/21/7%268?17=271231",
        ),
        // Qualifiers are in their order, wherever they were written.
        (
            "(3103)000195(21)4711(22)2A(01)09506000134352",
            "https://a.example:8443/some/path/",
            "https://a.example:8443/some/path/01/09506000134352/22/2A/21/4711?3103=000195",
        ),
        ("(01)09506000134352(235)X", "a.example", "https://a.example/01/09506000134352/235/X"),
        ("(00)095060001343520000", "http://a.example", "http://a.example/00/095060001343520000"),
        ("(414)9506000134352(254)32a", "a.example", "https://a.example/414/9506000134352/254/32a"),
        ("(10)A", "a.example", "elements a link needs a key such as (01), a GTIN"),
        ("(00)095060001343520000(21)A", "a.example", "elements (21) cannot be in a link with (00)"),
        (
            "(01)09506000134352",
            "a b",
            "domain use a host such as id.example.org, with a path if it has one",
        ),
    ] {
        assert_eq!(link(elements, domain), expected);
    }
}

#[test]
fn dates_and_check_digits_of_elements_are_right() {
    for right in [
        "(17)261231",
        "(11)240229",
        "(15)260200",
        "(8008)26123123",
        "(00)095060001343520000",
        "(410)9506000134352",
        "(253)9506000134352AB-1",
        "(255)9506000134352",
        "(402)12345678901234560",
        "(8003)09506000134352AB",
        "(8018)123456789012345675",
        "(7003)2612312359",
    ] {
        let fields = format!(r#"{{"elements": "{right}"}}"#);
        assert_eq!(compose::<Gs1>(&fields).1, [], "{right}");
    }
    for wrong in [
        "(17)261399",
        "(17)260001",
        "(11)230229",
        "(15)260431",
        "(8008)26130123",
        "(7003)2612002359",
        "(7006)260200",
        "(00)095060001343520003",
        "(410)9506000134353",
        "(253)9506000134353AB",
        "(253)950600013435",
        "(255)9506000134353",
        "(402)12345678901234561",
        "(8003)09506000134353AB",
        "(8006)095060001343530102",
        "(8018)123456789012345678",
        "(8026)095060001343530102",
    ] {
        let fields = format!(r#"{{"elements": "{wrong}"}}"#);
        assert_eq!(refused::<Gs1>(&fields), ["elements"], "{wrong}");
    }
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
fn values_are_escaped_and_never_quoted() {
    let text = composed::<Wifi>(r#"{"ssid": "a;b,c:d\\e\"f", "password": "12345678"}"#);
    assert_eq!(text, r#"WIFI:T:WPA;S:a\;b\,c\:d\\e\"f;P:12345678;;"#);
    assert_eq!(composed::<Wifi>(r#"{"ssid": "net"}"#), "WIFI:T:nopass;S:net;;");
    let hidden = r#"{"ssid": "ä", "password": "secret42!", "hidden": true}"#;
    assert_eq!(composed::<Wifi>(hidden), "WIFI:T:WPA;S:ä;P:secret42!;H:true;;");
    // Names, passphrases and keys that look like hexadecimal.
    let psk = "0123456789abcdefABCDEF0123456789".repeat(2);
    for ssid in ["2024", "Cafe", "ABCD", "deadbeef", "00"] {
        let fields = format!(r#"{{"ssid": "{ssid}"}}"#);
        assert_eq!(composed::<Wifi>(&fields), format!("WIFI:T:nopass;S:{ssid};;"));
    }
    for (security, password) in [
        ("WPA", &*psk),
        ("WPA", &psk[..8]),
        ("WPA", &psk[..10]),
        ("WPA", &psk[..26]),
        ("WPA", &psk[..62]),
        ("WEP", &psk[..10]),
        ("WEP", &psk[..26]),
        ("WEP", "abcde"),
    ] {
        let fields =
            format!(r#"{{"ssid": "n", "password": "{password}", "security": "{security}"}}"#);
        let expected = format!("WIFI:T:{security};S:n;P:{password};;");
        assert_eq!(composed::<Wifi>(&fields), expected);
    }
}

/// WPA3 and SAE were refused.
#[test]
fn a_network_of_wpa3_alone_never_falls_back() {
    for security in ["WPA3", "SAE"] {
        let fields =
            format!(r#"{{"ssid": "MyNet", "password": "MyPassword", "security": "{security}"}}"#);
        assert_eq!(composed::<Wifi>(&fields), "WIFI:T:WPA;R:1;S:MyNet;P:MyPassword;;");
        let key = "0".repeat(64);
        let fields = format!(r#"{{"ssid": "n", "password": "{key}", "security": "{security}"}}"#);
        assert_eq!(refused::<Wifi>(&fields), ["password"]);
    }
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

#[test]
fn a_network_of_a_company_has_its_account() {
    let peap =
        r#"{"ssid": "corp", "security": "WPA2-EAP", "identity": "a;b@c.d", "password": "x"}"#;
    let expected = r"WIFI:T:WPA2-EAP;S:corp;P:x;E:PEAP;I:a\;b@c.d;PH2:MSCHAPV2;;";
    assert_eq!(composed::<Wifi>(peap), expected);
    let ttls = r#"{"ssid": "n", "security": "WPA2-EAP", "eap_method": "TTLS", "phase2": "PAP", "password": "p",
        "identity": "me", "anonymous_identity": "anon@x", "hidden": true}"#;
    let expected = "WIFI:T:WPA2-EAP;S:n;P:p;E:TTLS;I:me;A:anon@x;PH2:PAP;H:true;;";
    assert_eq!(composed::<Wifi>(ttls), expected);
    let tls = r#"{"ssid": "n", "security": "WPA2-EAP", "eap_method": "TLS"}"#;
    assert_eq!(composed::<Wifi>(tls), "WIFI:T:WPA2-EAP;S:n;E:TLS;;");
    let open = r#"{"ssid": "n", "identity": "me", "phase2": "PAP"}"#;
    assert_eq!(refused::<Wifi>(open), ["identity", "phase2"]);
    let pwd = r#"{"ssid": "n", "security": "WPA2-EAP", "eap_method": "PWD", "phase2": "PAP"}"#;
    assert_eq!(refused::<Wifi>(pwd), ["phase2"]);
}

#[test]
fn a_payment_by_upi_is_a_uri() {
    let uri = composed::<Upi>(
        r#"{"payee": "shop@okbank", "name": "Tea & Co", "amount": "250", "note": "two cups", "reference": "A/1"}"#,
    );
    let expected =
        "upi://pay?pa=shop@okbank&pn=Tea%20%26%20Co&am=250.00&cu=INR&tn=two%20cups&tr=A%2F1";
    assert_eq!(uri, expected);
    let wrong = r#"{"payee": "shop", "name": "a", "amount": "0", "merchant_code": "12a4"}"#;
    assert_eq!(refused::<Upi>(wrong), ["payee", "amount", "merchant_code"]);
}

/// The standard's example of a bill with every field (annex A).
const BILL: &str = r#"{"iban": "CH44 3199 9123 0008 8901 2", "creditor_name": "Robert Schneider AG",
    "creditor_street": "Rue du Lac", "creditor_house_number": "1268", "creditor_postcode": "2501",
    "creditor_town": "Biel", "amount": "1949,75", "debtor_name": "Pia-Maria Rutschmann-Schnyder",
    "debtor_street": "Grosse Marktgasse", "debtor_house_number": "28", "debtor_postcode": "9400",
    "debtor_town": "Rorschach", "debtor_country": "ch", "reference": "21 00000 00003 13947 14300 09017",
    "message": "Auftrag vom 15.06.2020", "procedure_1": "Name AV1: UV;UltraPay005;12345",
    "procedure_2": "Name AV2: XY;XYService;54321",
    "bill_information": "//S1/10/10201409/11/200701/20/140.000-53/30/102673831/31/200615/32/7.7/33/7.7:139.40/40/0:30"}"#;

#[test]
fn a_swiss_bill_has_the_lines_of_the_standards_example() {
    let expected = "SPC\n0200\n1\nCH4431999123000889012\nS\nRobert Schneider AG\nRue du Lac\n1268\n2501\nBiel\nCH\n\
        \n\n\n\n\n\n\n1949.75\nCHF\nS\nPia-Maria Rutschmann-Schnyder\nGrosse Marktgasse\n28\n9400\nRorschach\nCH\n\
        QRR\n210000000003139471430009017\nAuftrag vom 15.06.2020\nEPD\n\
        //S1/10/10201409/11/200701/20/140.000-53/30/102673831/31/200615/32/7.7/33/7.7:139.40/40/0:30\n\
        Name AV1: UV;UltraPay005;12345\nName AV2: XY;XYService;54321";
    assert_eq!(composed::<Swiss>(BILL), expected);
    let least = composed::<Swiss>(
        r#"{"iban": "CH5800791123000889012", "creditor_name": "A", "creditor_postcode": "2501",
            "creditor_town": "Biel", "reference": "RF18 5390 0754 7034", "currency": "EUR"}"#,
    );
    assert_eq!(
        least,
        "SPC\n0200\n1\nCH5800791123000889012\nS\nA\n\n\n2501\nBiel\nCH\n\n\n\n\n\n\n\n\nEUR\n\n\n\n\n\n\n\n\
         SCOR\nRF18539007547034\n\nEPD"
    );
    assert_eq!(least.lines().count(), 31);
}

#[test]
fn what_no_swiss_bank_takes_is_refused() {
    let with = |name: &str, value: &str| {
        let mut bill: Value = serde_json::from_str(BILL).unwrap();
        bill[name] = if value.is_empty() { Value::Null } else { value.into() };
        refused::<Swiss>(&bill.to_string())
    };
    for (name, value, faults) in [
        ("iban", "DE33100205000001194700", vec!["iban", "reference"]),
        ("iban", "CH5800791123000889012", vec!["reference"]),
        ("reference", "", vec!["reference"]),
        ("reference", "210000000003139471430009018", vec!["reference"]),
        ("reference", "RF18539007547034", vec!["reference"]),
        ("amount", "0", vec!["amount"]),
        ("debtor_name", "", vec!["debtor_name"]),
        ("debtor_town", "", vec!["debtor_town"]),
        ("creditor_name", "漢", vec!["creditor_name"]),
        ("creditor_town", "a\nb", vec!["creditor_town"]),
        ("message", &"a".repeat(60), vec!["message"]),
    ] {
        assert_eq!(with(name, value), faults, "{name} {value}");
    }
    for (name, value) in
        [("message", ""), ("creditor_name", "Dvořák & Œuvre €"), ("debtor_street", "")]
    {
        assert_eq!(with(name, value), [""; 0], "{name}");
    }
}

/// The first is the example of the Banco Central do Brasil; Python's `binascii.crc_hqx` gives the checksums of the others.
#[test]
fn payments_in_brazil_and_singapore_end_with_their_checksum() {
    let random = r#"{"key": "123e4567-e12b-12d1-a456-426655440000", "name": "Fulano de Tal", "city": "BRASILIA"}"#;
    assert_eq!(
        composed::<Pix>(random),
        "00020126580014br.gov.bcb.pix0136123e4567-e12b-12d1-a456-4266554400005204000053039865802BR\
         5913Fulano de Tal6008BRASILIA62070503***63041D3D"
    );
    let phone = r#"{"key": "+55 (61) 91234-5678", "name": "A & B", "city": "SAO PAULO", "amount": "10",
        "txid": "ORDER7", "message": "Cafe"}"#;
    assert_eq!(
        composed::<Pix>(phone),
        "00020126440014br.gov.bcb.pix0114+55619123456780204Cafe520400005303986540510.005802BR\
         5905A & B6009SAO PAULO62100506ORDER76304B595"
    );
    let uen = r#"{"uen": "201403121w", "name": "Shop", "amount": "1,5", "reference": "BILL-1"}"#;
    assert_eq!(
        composed::<PayNow>(uen),
        "00020101021126370009SG.PAYNOW010120210201403121W03010520400005303702540\
         41.505802SG5904Shop6009Singapore62100106BILL-16304A271"
    );
    let mobile = r#"{"mobile": "+65 8123 4567", "name": "Me"}"#;
    assert_eq!(
        composed::<PayNow>(mobile),
        "00020101021126380009SG.PAYNOW010100211+658123456703011520400005303702\
         5802SG5902Me6009Singapore63045D46"
    );
}

#[test]
fn what_no_bank_takes_in_brazil_or_singapore_is_refused() {
    let pix = |fields: Value| {
        let mut all = json!({"key": "529.982.247-25", "name": "A", "city": "B"});
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        refused::<Pix>(&all.to_string())
    };
    for right in ["529.982.247-25", "11.222.333/0001-81", "A@b.c"] {
        assert_eq!(pix(json!({"key": right})), [""; 0], "{right}");
    }
    // A telephone number without +55 has the length of a CPF.
    for key in [
        "529.982.247-26",
        "11222333000182",
        "61912345678",
        "+1 202 555 0100",
        "a@b@c",
        "x".repeat(32).as_str(),
    ] {
        assert_eq!(pix(json!({"key": key})), ["key"], "{key}");
    }
    let wrong = json!({"name": "José", "city": "São Paulo", "amount": "0", "txid": "a-b"});
    assert_eq!(pix(wrong), ["amount", "txid", "name", "city"]);
    let long = json!({"key": format!("{}@b.c", "a".repeat(70)), "message": "a message"});
    assert_eq!(pix(long), ["message"]);
    for (fields, faults) in [
        (json!({"name": "A"}), ["uen"]),
        (json!({"name": "A", "uen": "201403121W", "mobile": "+6581234567"}), ["uen"]),
        (json!({"name": "A", "mobile": "81234567"}), ["mobile"]),
        (json!({"name": "A", "uen": "201403121-W"}), ["uen"]),
    ] {
        assert_eq!(refused::<PayNow>(&fields.to_string()), faults, "{fields}");
    }
}

#[test]
fn messages_have_the_forms_that_apps_read() {
    let uri = r#"{"phone": "+49 (170) 1", "message": "a: b", "form": "URI"}"#;
    assert_eq!(composed::<Sms>(uri), "sms:+491701?body=a%3A%20b");
    assert_eq!(composed::<Sms>(r#"{"phone": "110", "form": "URI"}"#), "sms:110");
    let chat = r#"{"phone": "+44 20 7946-0000", "message": "Hi & bye"}"#;
    assert_eq!(composed::<WhatsApp>(chat), "https://wa.me/442079460000?text=Hi%20%26%20bye");
    assert_eq!(composed::<WhatsApp>(r#"{"phone": "44 1"}"#), "https://wa.me/441");
    assert_eq!(refused::<WhatsApp>(r#"{"phone": "020 7946 0000"}"#), ["phone"]);
}

#[test]
fn a_contact_has_several_phones_and_a_birthday_in_either_version() {
    let fields = |version: &str| {
        format!(
            r#"{{"last_name": "Doe", "phone": "1", "work_phone": "+2", "home_phone": "3", "fax": "4",
            "birthday": "1815-12-10", "card_version": "{version}"}}"#
        )
    };
    let card = |version: &str, day: &str| {
        format!(
            "BEGIN:VCARD\r\nVERSION:{version}\r\nN:Doe;;;;\r\nFN:Doe\r\nTEL;TYPE=VOICE:1\r\nTEL;TYPE=WORK:+2\r\n\
             TEL;TYPE=HOME:3\r\nTEL;TYPE=FAX:4\r\nBDAY:{day}\r\nEND:VCARD\r\n"
        )
    };
    assert_eq!(composed::<Vcard>(&fields("3.0")), card("3.0", "1815-12-10"));
    assert_eq!(composed::<Vcard>(&fields("4.0")), card("4.0", "18151210"));
    let wrong = r#"{"last_name": "Doe", "birthday": "1815-02-30", "fax": "x"}"#;
    assert_eq!(refused::<Vcard>(wrong), ["fax", "birthday"]);
}
