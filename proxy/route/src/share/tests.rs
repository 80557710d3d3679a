use super::*;

#[test]
fn an_invalid_share_is_refused_and_quoted() {
    for text in ["101", "-1", "", "x", "1.234", "100.01", "99999999999", "1."] {
        let error = text.parse::<Share>().expect_err(text).to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
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
