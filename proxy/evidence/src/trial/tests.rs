use route::Route;

use super::*;
use crate::interval::{Alone, Arm};

fn gates() -> Gates {
    Gates::of(&Route::parse("report", "path = \"/report\"\n").expect("a route")).expect("valid")
}

/// The test that fails after ten minutes of intervals with these counts.
fn worse(new: Arm, old: Arm, assigned: Assigned) -> Option<String> {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    for block in 1..=120 {
        trial.add(&interval(f64::from(block) * 5.0, new, old), &gates, assigned);
    }
    trial.worse(&gates).map(|test| test.name.clone())
}

fn interval(end: f64, new: Arm, old: Arm) -> Interval {
    Interval { end, seconds: 5.0, new, old, ..Interval::default() }
}

#[test]
fn a_worse_side_fails_the_test_of_what_is_worse() {
    let fine = Arm { requests: 100.0, statuses: [100.0, 0.0, 0.0], ..Arm::default() };
    for (bad, test) in [
        (Arm { failures: 1.0, helped: 1.0, ..fine }, "failures"),
        (Arm { slow: 4.0, ..fine }, "slow"),
        (Arm { out_seconds: 1.0, ..fine }, "outages"),
        (Arm { statuses: [0.0, 0.0, 100.0], ..fine }, "statuses"),
        (Arm { statuses: [95.0, 5.0, 0.0], ..fine }, "statuses"),
        (Arm { empty: 50.0, ..fine }, "empty"),
    ] {
        assert_eq!(worse(bad, fine, Assigned::ByRequest).as_deref(), Some(test));
        assert_eq!(
            worse(fine, bad, Assigned::ByRequest).filter(|test| test != "statuses"),
            None,
            "{test}"
        );
        assert_eq!(worse(bad, bad, Assigned::ByRequest), None, "{test}");
    }
    // With a split by key, one client may often request a slow key, or one with redirects.
    assert_eq!(worse(Arm { slow: 20.0, ..fine }, fine, Assigned::ByKey), None);
    assert_eq!(worse(Arm { statuses: [95.0, 5.0, 0.0], ..fine }, fine, Assigned::ByKey), None);
    let refused = Arm { statuses: [0.0, 0.0, 100.0], ..fine };
    assert_eq!(worse(refused, fine, Assigned::ByKey).as_deref(), Some("statuses"));
}

#[test]
fn a_step_waits_while_the_new_side_looks_worse() {
    let (gates, mut trial, mut end) = (gates(), Trial::new(&gates(), 1), 0.0);
    let mut statuses = |new: [f64; 3], blocks: usize| {
        trial.next_step();
        let arm = |statuses| Arm { requests: 100.0, statuses, ..Arm::default() };
        for _ in 0..blocks {
            end += 5.0;
            trial.add(
                &interval(end, arm(new), arm([100.0, 0.0, 0.0])),
                &gates,
                Assigned::ByRequest,
            );
        }
        trial.reach(end + 5.0, &gates);
        trial.readings(&gates).into_iter().find(|it| it.gate == "statuses").unwrap().verdict
    };
    // Two refusals by chance change nothing.
    assert_eq!(statuses([98.0, 0.0, 2.0], 1), Verdict::Pass);
    assert_eq!(statuses([100.0, 0.0, 0.0], 20), Verdict::Pass);
    // A side that refuses everybody may have every proof long before this test can fail.
    assert_eq!(statuses([0.0, 0.0, 100.0], 4), Verdict::Inconclusive);
    assert_eq!(statuses([0.0, 0.0, 100.0], 40), Verdict::Fail);
}

#[test]
fn a_difference_that_does_not_matter_rolls_nothing_back() {
    let arm = |failures, slow| Arm { requests: 10_000.0, failures, slow, ..Arm::default() };
    // A difference of 0.1 points matters for failures, and of 1 point for slow answers.
    for (failures, slow) in [(15.0, 0.0), (10.0, 80.0)] {
        assert_eq!(worse(arm(failures, slow), arm(10.0, 0.0), Assigned::ByRequest), None);
    }
    let failed = worse(arm(60.0, 0.0), arm(10.0, 0.0), Assigned::ByRequest);
    assert_eq!(failed.as_deref(), Some("failures"));
}

#[test]
fn what_fails_within_a_block_weighs_once_however_often_it_is_scraped() {
    let one = Arm { requests: 20.0, failures: 4.0, ..Arm::default() };
    let five = Arm { requests: 100.0, failures: 20.0, ..Arm::default() };
    let (gates, mut scraped) = (gates(), [Trial::new(&gates(), 1), Trial::new(&gates(), 1)]);
    for second in 1..=20 {
        let of_a_second = Interval { seconds: 1.0, ..interval(f64::from(second), one, one) };
        scraped[0].add(&of_a_second, &gates, Assigned::ByRequest);
        if second % 5 == 0 {
            let of_five = interval(f64::from(second), five, five);
            scraped[1].add(&of_five, &gates, Assigned::ByRequest);
        }
    }
    assert!(scraped[0].evidence == scraped[1].evidence);
}

#[test]
fn the_last_block_is_judged_once_it_is_over() {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    let arm = Arm { requests: 100.0, ..Arm::default() };
    trial.add(&interval(5.0, arm, arm), &gates, Assigned::ByRequest);
    let before = trial.evidence.clone();
    trial.reach(9.0, &gates);
    assert!(trial.evidence == before);
    trial.reach(10.0, &gates);
    assert!(trial.evidence != before);
}

#[test]
fn several_proxies_and_the_shadow_count_a_block_together() {
    let half = Arm { requests: 50.0, failures: 10.0, ..Arm::default() };
    let whole = Arm { requests: 100.0, failures: 20.0, ..Arm::default() };
    let (gates, mut counted) = (gates(), [Trial::new(&gates(), 1), Trial::new(&gates(), 1)]);
    for block in 1..=20 {
        let end = f64::from(block) * 5.0;
        let shadow = Interval { pairs: 10.0, ..interval(end, Arm::default(), Arm::default()) };
        counted[0].add(
            &Interval { pairs: 10.0, ..interval(end, whole, whole) },
            &gates,
            Assigned::ByRequest,
        );
        for part in [interval(end, half, half), interval(end + 1.0, half, half), shadow] {
            counted[1].add(&part, &gates, Assigned::ByRequest);
        }
    }
    for test in ["failures", "pair-failures"] {
        assert_eq!(counted[0].evidence[test], counted[1].evidence[test]);
    }
    assert_eq!(counted.map(|trial| trial.seconds), [100.0, 101.0]);
}

#[test]
fn a_side_that_takes_twice_as_long_is_not_done_while_hardly_a_pair_was_compared() {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    let compared = |end, slower: f64| {
        let alone = [(slower, 1.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
        let slower = alone.map(|(new, old)| Alone { new, old });
        Interval { pairs: 10.0, slower, ..interval(end, Arm::default(), Arm::default()) }
    };
    let missing = |trial: &Trial| {
        let readings = trial.readings(&gates);
        let reading = readings.iter().find(|reading| reading.gate == "pair-latency");
        reading.is_some_and(|reading| reading.verdict == Verdict::Inconclusive)
    };
    for block in 1..=10 {
        trial.add(&compared(f64::from(block) * 5.0, 4.0), &gates, Assigned::ByRequest);
        assert!(missing(&trial), "{block}");
    }
    let mut trial = Trial::new(&gates, 1);
    for block in 1..=60 {
        trial.add(&compared(f64::from(block) * 5.0, 1.0), &gates, Assigned::ByRequest);
    }
    assert!(!missing(&trial));
}

#[test]
fn sessions_count_once_those_that_began_before_a_move_have_ended() {
    let own = "[gates.sessions]\ncounts = \"own\"\nexcess = 0.001\nown.new = \"a\"\nown.old = \"b\"\n\
               own.good = { end = \"whole\" }\nown.lasts = \"2m\"\n";
    let route = Route::parse("report", &format!("path = \"/report\"\n{own}")).expect("a route");
    let gates = Gates::of(&route).expect("valid");
    let mut trial = Trial::new(&gates, 1);
    trial.moved(0.0);
    let counts = |events| Counts { requests: 100.0, events };
    let mut failed_at = None;
    for block in 1..=60 {
        let end = f64::from(block) * 5.0;
        let own = interval(end, Arm::default(), Arm::default());
        let own = Interval { own_new: counts(50.0), own_old: counts(0.0), ..own };
        trial.add(&own, &gates, Assigned::ByRequest);
        failed_at = failed_at.or(trial.worse(&gates).map(|test| (test.name.clone(), end)));
    }
    let (test, end) = failed_at.expect("they break");
    assert!(test == "sessions" && end > 120.0, "{test} {end}");
}

#[test]
fn matches_of_a_shadow_that_gets_other_answers_than_clients_prove_nothing() {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    let mut end = 0.0;
    let mut after = |clients: [f64; 3], shadow: [f64; 4]| {
        end += 5.0;
        let old = Arm { requests: 300.0, statuses: clients, ..Arm::default() };
        let interval = Interval { shadow_statuses: shadow, ..interval(end, Arm::default(), old) };
        trial.add(&interval, &gates, Assigned::ByKey);
        let readings = trial.readings(&gates);
        let reading = readings.into_iter().find(|reading| reading.gate == "shadow-answers");
        reading.map(|reading| (reading.verdict, reading.to_string())).expect("the test")
    };
    let (verdict, said) = after([295.0, 0.0, 5.0], [0.0, 0.0, 100.0, 0.0]);
    assert_eq!(verdict, Verdict::Inconclusive, "{said}");
    for part in ["clients get 98 % 2xx, the shadow 100 % 4xx;", "shadow.send_headers"] {
        assert!(said.contains(part), "{said}");
    }
    // Once the shadow sends the right headers, its earlier answers are soon forgotten.
    let properly = (0..5).map(|_| after([295.0, 0.0, 5.0], [295.0, 0.0, 5.0, 0.0]).0);
    assert_eq!(properly.last(), Some(Verdict::Pass));
    // Clients have cached much, and the shadow nothing.
    for _ in 0..9 {
        assert_eq!(after([50.0, 250.0, 0.0], [300.0, 0.0, 0.0, 0.0]).0, Verdict::Pass);
    }
    // One client in five has logged in, so the shadow proves nothing about a fifth of the keys.
    let mixed = (0..5).map(|_| after([300.0, 0.0, 0.0], [240.0, 0.0, 60.0, 0.0]).0);
    assert_eq!(mixed.last(), Some(Verdict::Inconclusive));
}

#[test]
fn what_spans_a_move_is_left_out() {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    trial.moved(10.0);
    let failing = Arm { requests: 100.0, failures: 100.0, ..Arm::default() };
    let failed = |end| interval(end, failing, Arm::default());
    for end in [8.0, 12.0, 17.0] {
        trial.add(&failed(end), &gates, Assigned::ByRequest);
        assert_eq!(trial.asked(), 0.0);
    }
    trial.add(&failed(20.0), &gates, Assigned::ByRequest);
    assert_eq!(trial.asked(), 100.0);
}
