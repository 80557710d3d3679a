use super::*;
use crate::gates::Quantity;
use crate::interval::Arm;

fn interval(old: [f64; 3], new: [f64; 3], shadow: [f64; 4]) -> Interval {
    let arm = |statuses, failures| Arm { statuses, failures, ..Arm::default() };
    let (old, new) = (arm(old, 30.0), arm(new, 500.0));
    Interval { old, new, shadow_statuses: shadow, ..Interval::default() }
}

fn read(excess: f64, intervals: &[Interval]) -> Reading {
    let mut answers = Answers::default();
    intervals.iter().for_each(|interval| answers.add(interval));
    answers.reading(&Test {
        name: "shadow-answers".to_owned(),
        about: String::new(),
        counts: Quantity::ShadowAnswers,
        excess,
        absolute: None,
        above: None,
        proof: None,
        own: None,
    })
}

/// The clients are those of both sides; the new side's failures are left out, since the shadow asks the old one.
#[test]
fn the_shadow_gets_the_class_that_most_clients_get_as_often_as_they() {
    for (shadow, rarer) in [
        // Clients: 60 % 2xx, 10 % 3xx, 20 % 4xx and 10 % 5xx.
        ([60.0, 20.0, 10.0, 10.0], 0.0),
        ([30.0, 50.0, 10.0, 10.0], 0.3),
        ([100.0, 0.0, 0.0, 0.0], -0.4),
    ] {
        let one = interval([120.0, 20.0, 40.0], [60.0, 10.0, 20.0], shadow);
        for (excess, verdict) in
            [(rarer + 0.01, Verdict::Pass), (rarer - 0.01, Verdict::Inconclusive)]
        {
            let reading = read(excess, &[one]);
            let (value, limit) = (reading.value.expect("a value"), reading.limit);
            assert!((value - rarer).abs() < 1e-9 && limit == Some(excess), "{reading:?}");
            assert_eq!(reading.verdict, verdict, "{reading:?}");
            let named = reading.detail.contains("shadow.send_headers");
            assert_eq!(named, verdict != Verdict::Pass, "{reading:?}");
        }
    }
    let equal = interval([120.0, 20.0, 40.0], [60.0, 10.0, 20.0], [60.0, 20.0, 10.0, 10.0]);
    assert_eq!(read(0.0, &[equal]).verdict, Verdict::Pass);
    // A whole answer proves at least as much as a 304, and no other class as much as a whole answer.
    let cached = interval([20.0, 300.0, 40.0], [0.0; 3], [50.0, 30.0, 20.0, 0.0]);
    assert!(read(0.1, &[cached]).value.is_some_and(|it| (it - (300.0 / 390.0 - 0.8)).abs() < 1e-9));
    let failing = interval([0.0; 3], [0.0; 3], [0.0, 10.0, 0.0, 30.0]);
    let said = read(0.3, &[failing, failing, failing]).detail;
    assert_eq!(said, "clients get 100 % 5xx, the shadow 75 % 5xx");
}

#[test]
fn fifty_answers_are_enough_and_older_ones_than_five_hundred_weigh_half() {
    let of =
        |clients, shadow| interval([clients - 30.0, 0.0, 0.0], [0.0; 3], [0.0, 0.0, shadow, 0.0]);
    for (clients, shadow, is_enough) in
        [(50.0, 50.0, true), (49.0, 50.0, false), (50.0, 49.0, false)]
    {
        let reading = read(0.1, &[of(clients, shadow)]);
        assert_eq!(reading.value.is_some(), is_enough, "{clients} {shadow}");
        assert_eq!(reading.verdict == Verdict::Inconclusive, is_enough);
        assert_eq!(reading.detail.starts_with("too few answers"), !is_enough);
    }
    let (before, after) =
        (of(500.0, 500.0), interval([470.0, 0.0, 0.0], [0.0; 3], [300.0, 0.0, 0.0, 0.0]));
    for (intervals, rarer) in [
        (&[of(500.0, 0.0), after] as &[Interval], -0.06),
        (&[before, after], 0.94 - 300.0 / 800.0),
        (&[before, after, after, after], 0.94 - 262.5 / 325.0),
    ] {
        let value = read(0.1, intervals).value.expect("a value");
        assert!((value - rarer).abs() < 1e-9, "{value} {rarer}");
    }
}
