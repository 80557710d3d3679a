use clap::Command;
use service_kit::testing::help_explains_settings;

use super::*;

#[test]
fn help_explains_every_setting() {
    let command = Arguments::augment_args(Command::new("edge"));
    help_explains_settings(&command, "EDGE_");
}

#[test]
fn routes_are_a_list_of_labels() {
    let routes = |names: &str| names.parse::<Routes>().map(|routes| routes.0);
    assert_eq!(routes(""), Ok(vec![]));
    assert_eq!(routes("qrcode, prices,qrcode,"), Ok(vec!["qrcode".into(), "prices".into()]));
    for names in ["a b", "a\"", "ä", "none", "_overflow", &"x".repeat(65)] {
        assert!(routes(names).is_err(), "{names}");
    }
    let many: Vec<String> = (0..200).map(|i| i.to_string()).collect();
    assert_eq!(routes(&many.join(",")), Ok(many));
}

#[test]
fn a_share_is_a_number_from_0_to_100() {
    for text in ["0", "12.5", "100"] {
        assert_eq!(percent(text), Ok(text.parse().unwrap()));
    }
    for text in ["-1", "100.1", "x", ""] {
        assert!(percent(text).is_err(), "{text}");
    }
}
