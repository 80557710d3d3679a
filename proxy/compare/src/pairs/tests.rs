use super::*;

#[test]
fn the_new_side_is_slower_beyond_a_margin() {
    let took = |ms| Timing { has_failed: false, elapsed: Duration::from_millis(ms) };
    for (median, new, is_slower) in
        [(10, 15, false), (10, 16, true), (100, 110, false), (100, 111, true)]
    {
        let mut thresholds = Thresholds::default();
        (0..RENEWED_EACH).for_each(|_| thresholds.remember(Duration::from_millis(median)));
        let found = thresholds.discordant(took(new), took(median));
        assert_eq!(found.contains(&(Event::P50, Side::New)), is_slower, "{median} {new}");
        let found = thresholds.discordant(took(median), took(median + 1));
        assert!(found.contains(&(Event::P50, Side::Old)));
    }
}

#[test]
fn thresholds_are_quantiles_of_earlier_answers() {
    let mut thresholds = Thresholds::default();
    for ms in 1..=128 {
        thresholds.remember(Duration::from_millis(ms));
        assert!(thresholds.current.is_some(), "from the first answer on");
    }
    assert_eq!(thresholds.current, Some([64, 115, 121, 126, 252].map(Duration::from_millis)));
    for _ in 0..REMEMBERED {
        thresholds.remember(Duration::from_millis(7));
    }
    assert_eq!(thresholds.current, Some([7, 7, 7, 7, 14].map(Duration::from_millis)));
    assert_eq!(thresholds.recent.len(), REMEMBERED);
}
