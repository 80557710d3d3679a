use super::*;

fn after(new: f64, old: f64, share: f64) -> f64 {
    let mut odds = Odds::default();
    odds.bet(new, old, share);
    odds.log()
}

#[test]
fn a_bet_on_keys_is_fair_at_every_share() {
    for share in [0.05, 0.25, 0.5, 0.95] {
        let mean =
            share * after(1.0, 0.0, share).exp() + (1.0 - share) * after(0.0, 1.0, share).exp();
        assert!((mean - 1.0).abs() < 1e-9, "{share}: {mean}");
    }
    // A smaller share counts as a larger one, so that this loses.
    let share = 0.001;
    let mean = share * after(1.0, 0.0, share).exp() + (1.0 - share) * after(0.0, 1.0, share).exp();
    assert!(mean < 1.0, "{mean}");
}

#[test]
fn a_few_keys_of_the_new_side_alone_decide_and_as_many_of_both_do_not() {
    let alarm = 20_000_f64.ln();
    assert!(after(3.0, 0.0, 0.01) < alarm && after(5.0, 0.0, 0.05) > alarm);
    assert!(after(12.0, 0.0, 0.25) > alarm && after(30.0, 0.0, 0.5) > alarm);
    // Three keys in a hundred fail on both sides.
    assert!(
        after(5.0, 95.0, 0.05) < 0.0 && after(50.0, 50.0, 0.5) < 0.0 && after(0.0, 9.0, 0.05) < 0.0
    );
    // All keys on one side, or none: nothing to compare.
    assert_eq!((after(9.0, 0.0, 1.0), after(9.0, 9.0, 0.0)), (0.0, 0.0));
}
