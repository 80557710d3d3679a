use super::*;

#[test]
fn an_invalid_share_is_refused_and_quoted() {
    for text in ["101", "-1", "", "x", "1.234", "100.01", "99999999999", "1."] {
        let error = text.parse::<Share>().expect_err(text).to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
}

#[test]
fn a_share_shows_decimals_only_if_it_has_some() {
    assert_eq!(Share::percent(25).expect("a share").to_string(), "25");
    assert_eq!(Share { hundredths: 50 }.to_string(), "0.50");
    assert_eq!(Share::percent(100).expect("a share"), Share::ALL);
    assert!(Share::percent(101).is_err());
}

#[test]
fn every_share_survives_json_and_text() {
    for hundredths in 0..=10_000 {
        let share = Share { hundredths };
        let json = serde_json::to_string(&share).expect("a number");
        assert_eq!(serde_json::from_str::<Share>(&json).expect(&json), share);
        assert_eq!(share.to_string().parse::<Share>().expect("its own text"), share);
    }
}
