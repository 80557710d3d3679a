use super::*;

/// The verdicts of a test after each of these intervals, at 5 % by key.
fn by_key(test: &str, intervals: &[(Arm, Arm)]) -> Vec<Verdict> {
    let (gates, mut trial, mut end) = (gates(), Trial::new(&gates(), 1), 0.0);
    let mut verdict = |(new, old): &(Arm, Arm)| {
        end += 5.0;
        trial.add(&Interval { share: 5.0, ..interval(end, *new, *old) }, &gates, Assignment::ByKey);
        trial.reach(end + 5.0, &gates);
        trial.readings(&gates).into_iter().find(|it| it.gate == test).expect("the test").verdict
    };
    intervals.iter().map(&mut verdict).collect()
}

#[test]
fn by_key_a_side_that_fails_for_everybody_shows_in_seconds_and_one_that_has_a_bad_key_does_not() {
    let old = Arm { requests: 190.0, statuses: [190.0, 0.0, 0.0], ..Arm::default() };
    let odd = |keys: f64| Arm { requests: 10.0, odd_keys: [keys, 0.0, 0.0], ..Arm::default() };
    let failing = |keys: f64| Arm { failures: 10.0, failed_keys: keys, ..odd(keys) };
    let verdicts =
        by_key("failures", &[(failing(0.0), old), (failing(0.0), old), (failing(6.0), old)]);
    assert_eq!(verdicts.last(), Some(&Verdict::Fail));
    // Two keys, or 3 % of them on both sides: the proof waits, nothing goes back.
    assert_eq!(by_key("failures", &[(failing(2.0), old); 1]), [Verdict::Inconclusive]);
    let bad = |arm: Arm, keys| Arm {
        failures: keys,
        failed_keys: keys,
        odd_keys: [keys, 0.0, 0.0],
        ..arm
    };
    let both = [(bad(odd(0.0), 1.0), bad(old, 19.0)); 30];
    assert!(!by_key("failures", &both).contains(&Verdict::Fail));
    // Kinds of requests, of which each key makes some: no key is odd, but more fail for the first time.
    let kinds = Arm { failures: 3.0, failed_keys: 3.0, ..odd(0.0) };
    assert_eq!(by_key("failures", &[(kinds, old); 30]).last(), Some(&Verdict::Fail));
    // A difference that does not matter: one failure of a thousand, though of the new side's keys alone.
    let few =
        Arm { requests: 20_000.0, failures: 10.0, odd_keys: [10.0, 0.0, 0.0], ..Arm::default() };
    assert_ne!(by_key("failures", &[(few, Arm { requests: 380_000.0, ..old })]), [Verdict::Fail]);
}

#[test]
fn by_key_a_side_that_sends_some_keys_away_is_not_done() {
    let old = Arm { requests: 190.0, statuses: [190.0, 0.0, 0.0], ..Arm::default() };
    let sent = |keys| {
        let statuses = [9.5, 0.5, 0.0];
        Arm { requests: 10.0, statuses, odd_keys: [0.0, keys, 0.0], ..Arm::default() }
    };
    let verdicts = by_key("statuses", &[(sent(0.0), old), (sent(1.0), old), (sent(1.0), old)]);
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, Verdict::Inconclusive]);
    assert_eq!(by_key("statuses", &[(sent(1.0), old); 9]).last(), Some(&Verdict::Fail));
}

#[test]
fn where_the_split_was_not_the_split_a_step_waits_and_nothing_goes_back() {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    let arm = |requests, failures| Arm { requests, failures, ..Arm::default() };
    let mut of = |end, new| {
        let one = Interval { share: 25.0, ..interval(end, arm(new, 0.02 * new), arm(75.0, 0.0)) };
        trial.add(&one, &gates, Assignment::ByRequest);
        let ratio = trial.readings(&gates).into_iter().find(|it| it.gate == "sample-ratio");
        let worse = trial.worse(&gates).map(|test| test.name.clone());
        (ratio.expect("the test"), worse, trial.is_proven(&gates))
    };
    for block in 1..=100 {
        let (ratio, worse, is_proven) = of(f64::from(block) * 5.0, 75.0);
        assert!(worse.is_none() && !is_proven, "{worse:?}");
        assert!(block < 10 || ratio.verdict == Verdict::Inconclusive, "{ratio:?}");
        assert!(
            block < 10
                || ratio.detail.contains("50.00 % of") && ratio.detail.contains("Usual causes"),
            "{ratio:?}"
        );
    }
    // The next step is judged by its own requests, and by all that is known of the sides.
    trial.next_step();
    trial.add(
        &Interval { share: 25.0, ..interval(600.0, arm(25.0, 1.0), arm(75.0, 0.0)) },
        &gates,
        Assignment::ByRequest,
    );
    assert!(trial.worse(&gates).is_some());
}
