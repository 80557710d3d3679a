mod keys;

use route::Route;

use super::*;
use crate::bets::Unit;
use crate::interval::{Alone, Arm};

fn gates() -> Gates {
    Gates::of(&Route::parse("report", "path = \"/report\"\n").expect("a route")).expect("valid")
}

/// The test that fails after ten minutes of intervals with these counts.
fn worse(new: Arm, old: Arm, assigned: Assignment) -> Option<String> {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1).without_bands());
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
        assert_eq!(worse(bad, fine, Assignment::ByRequest).as_deref(), Some(test));
        assert_eq!(
            worse(fine, bad, Assignment::ByRequest).filter(|test| test != "statuses"),
            None,
            "{test}"
        );
        assert_eq!(worse(bad, bad, Assignment::ByRequest), None, "{test}");
    }
    // With a split by key, one client may often request a slow key, or one with redirects.
    assert_eq!(worse(Arm { slow: 20.0, ..fine }, fine, Assignment::ByKey), None);
    assert_eq!(worse(Arm { statuses: [95.0, 5.0, 0.0], ..fine }, fine, Assignment::ByKey), None);
    let refused = Arm { statuses: [0.0, 0.0, 100.0], ..fine };
    assert_eq!(worse(refused, fine, Assignment::ByKey).as_deref(), Some("statuses"));
}

/// The share of alpha of each bet: half of 1 % is for the whole run and half for its steps, and each half is divided
/// among seven tests and the absolute limit of one of them.
const ALPHA: f64 = 0.01 / 2.0 / 8.0;

/// After how many blocks a trial of four steps has the verdict, and what it says then. Before them come good ones, in a
/// step of their own.
fn blocks_until(
    verdict: Verdict,
    test: &str,
    (new, old): (Arm, Arm),
    assigned: Assignment,
    before: usize,
    step: usize,
) -> (usize, String) {
    let (gates, mut trial, mut end) = (gates(), Trial::new(&gates(), 4), 0.0);
    let mut play = |trial: &mut Trial, new| {
        end += 5.0;
        trial.add(&interval(end, new, old), &gates, assigned);
        trial.reach(end + 5.0, &gates);
        let readings = trial.readings(&gates);
        let reading = readings.into_iter().find(|reading| reading.gate == test).expect(test);
        assert_eq!(trial.worse(&gates).is_some(), reading.verdict == Verdict::Fail, "{reading}");
        (reading.verdict == verdict).then_some(reading.detail)
    };
    for _ in 0..before {
        assert_eq!(play(&mut trial, old), None);
    }
    for blocks in 1..1000 {
        if blocks % step == 1 {
            trial.next_step();
        }
        if let Some(detail) = play(&mut trial, new) {
            return (blocks, detail);
        }
    }
    panic!("{test} never has the verdict");
}

/// After how many of these outcomes a coin has become `wealth`.
fn bets_until(wealth: f64, outcome: Wealth) -> usize {
    let mut coin = Wealth::default();
    let won = (1..1000).find(|_| {
        coin.bet(outcome);
        coin.log() >= wealth.ln()
    });
    won.expect("it wins")
}

#[test]
fn a_run_goes_back_with_the_block_that_wins_what_alpha_asks_for() {
    let arm = |slow| Arm { requests: 1000.0, slow, ..Arm::default() };
    let slower = (arm(30.0), arm(10.0));
    let counts = |events| Counts { requests: 1000.0, events };
    let outcome = Wealth::of_worse(Block::new(Unit::Events, counts(30.0), counts(10.0)), 0.01);
    let (of_run, of_step) = (bets_until(1.0 / ALPHA, outcome), bets_until(4.0 / ALPHA, outcome));
    assert!(of_step > of_run + 5, "{of_run} {of_step}");
    let until = |before, step| {
        let (blocks, detail) =
            blocks_until(Verdict::Fail, "slow", slower, Assignment::ByRequest, before, step);
        (blocks, detail.split("; ").nth(1).unwrap().to_owned())
    };
    // What a run of good blocks has lost counts for the whole run, and not for the next step.
    assert_eq!(until(0, 1000), (of_run, "worse".to_owned()));
    assert_eq!(until(20, 1000), (of_step, "worse in this step".to_owned()));
    // And what ten blocks of each step have won counts for the whole run.
    assert_eq!(until(0, 10), (of_run, "worse".to_owned()));

    // If the split is by key, failures that nobody helped with count only for the absolute limit.
    let failing = |failures| Arm { requests: 1000.0, failures, ..Arm::default() };
    let limit = Block::new(Unit::Limit, counts(60.0), Counts::default());
    // Three bets on keys share alpha with the other eight.
    let of_key = ALPHA * 8.0 / 11.0;
    let expected = bets_until(1.0 / of_key, Wealth::of_worse(limit, 0.05));
    let (blocks, detail) = blocks_until(
        Verdict::Fail,
        "failures",
        (failing(60.0), failing(0.0)),
        Assignment::ByKey,
        0,
        1000,
    );
    assert!(
        blocks == expected && detail.contains("; above the absolute limit"),
        "{blocks} {detail}"
    );
}

/// A restart of nginx' pauses favours blocks that stopped early, so failures are divided by at least twice the usual.
#[test]
fn failures_are_divided_by_twice_the_usual_number() {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    let (mut wealth, arm) =
        (Wealth::default(), |failures| Arm { requests: 100.0, failures, ..Arm::default() });
    // A block of the old side alone is one too.
    let mut end = 10.0;
    trial.add(&interval(end, Arm::default(), arm(0.0)), &gates, Assignment::ByRequest);
    for (new, old, least) in
        [(9.0, 3.0, 1.0), (4.0, 0.0, 12.0), (1.0, 0.0, 32.0 / 3.0), (0.0, 0.0, 8.5)]
    {
        end += 10.0;
        trial.add(&interval(end, arm(new), arm(old)), &gates, Assignment::ByRequest);
        // Blocks of the shadow alone are not counted.
        let shadow =
            Interval { pairs: 10.0, ..interval(end + 5.0, Arm::default(), Arm::default()) };
        trial.add(&shadow, &gates, Assignment::ByRequest);
        let [new, old] = [new, old].map(|events| Counts { requests: 100.0, events });
        wealth.bet(Wealth::of_worse(Block { least, ..Block::new(Unit::Events, new, old) }, 0.001));
    }
    trial.reach(end + 10.0, &gates);
    assert_eq!(trial.evidence["failures"].parts[0].whole, wealth);
    assert_eq!(trial.evidence["failures"].parts[0].blocks, 5.0);
}

#[test]
fn a_step_waits_for_its_proof_and_says_how_long() {
    let arm = |failures| Arm { requests: 100.0, failures, ..Arm::default() };
    let counts = |events| Counts { requests: 100.0, events };
    let outcome = Wealth::of_better(Block::new(Unit::Events, counts(0.0), counts(0.0)), 0.005);
    let (blocks, _) = blocks_until(
        Verdict::Pass,
        "failures",
        (arm(0.0), arm(0.0)),
        Assignment::ByRequest,
        0,
        1000,
    );
    assert_eq!(blocks, bets_until(20.0, outcome));

    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    let said = |trial: &Trial| trial.readings(&gates)[0].detail.clone();
    assert_eq!(said(&trial), "new 0 of 0, old 0 of 0; needs about 1498 more");
    // At first by the pace of sides without failures, then by the pace so far.
    for (block, needs) in
        [(1, "1458 more, 1m 13s"), (3, "1369 more, 1m 9s"), (8, "2102 more, 1m 46s")]
    {
        while trial.until < 5.0 * f64::from(block) {
            trial.add(
                &interval(trial.until + 5.0, arm(0.0), arm(0.0)),
                &gates,
                Assignment::ByRequest,
            );
            trial.reach(trial.until + 5.0, &gates);
        }
        assert_eq!(said(&trial).split_once("; needs about ").unwrap().1, needs);
        assert!(!trial.is_proven(&gates));
    }
    // The shadow's pairs are requests too. Without a pace nobody knows how long it takes.
    for (requests, pairs, seconds, has_time) in [
        (100.0, 10.0, 5.0, true),
        (0.0, 0.0, 5.0, false),
        (1.0, 0.0, 1.0, true),
        (9.0, 0.0, 0.9, false),
    ] {
        let mut trial = Trial::new(&gates, 1);
        let new = Arm { requests, ..Arm::default() };
        let one = Interval { pairs, seconds, ..interval(5.0, new, arm(0.0)) };
        trial.add(&one, &gates, Assignment::ByRequest);
        trial.reach(10.0, &gates);
        assert_eq!(trial.evidence["failures"].proof_counts.requests, requests + pairs);
        assert_eq!(said(&trial).contains("more, "), has_time, "{requests} {seconds}");
    }
}

#[test]
fn a_reading_shows_the_counts_and_how_much_the_sides_differ() {
    let arm = |failures, slow, statuses, empty, out_seconds| Arm {
        requests: 1000.0,
        failures,
        helped: failures,
        slow,
        statuses,
        empty,
        out_seconds,
        ..Arm::default()
    };
    let new = arm(30.0, 20.0, [900.0, 40.0, 30.0], 9.0, 2.0);
    let old = arm(10.0, 10.0, [940.0, 20.0, 30.0], 3.0, 1.0);
    let slower = [(5.0, 5.0), (5.0, 5.0), (9.0, 1.0), (0.0, 0.0), (0.0, 0.0)];
    let slower = slower.map(|(new, old)| Alone { new, old });
    let failed = Alone { new: 4.0, old: 2.0 };
    let gates = gates();
    let play = |blocks: u32, assigned| {
        let mut trial = Trial::new(&gates, 1);
        for block in 1..=blocks {
            let end = 5.0 * f64::from(block);
            let one = Interval { pairs: 100.0, failed, slower, ..interval(end, new, old) };
            trial.add(&one, &gates, assigned);
            trial.reach(end + 5.0, &gates);
        }
        trial.readings(&gates)
    };
    let by_key = "the split is by key, so only pairs are compared";
    for (number, detail, of_keys) in [
        (0, "new 30 of 1000, old 10 of 1000", None),
        (1, "new 2 of 5 s, old 1 of 5 s", None),
        (2, "3xx: new 40 of 970, old 20 of 990", Some("2xx: new 900 of 970, old 940 of 990")),
        (3, "new 9 of 900, old 3 of 940", None),
        (4, "new 20 of 1000, old 10 of 1000", Some(by_key)),
        (5, "new alone 4 of 100, old alone 2 of 100", None),
        (6, "p95: new alone 9 of 100, old alone 1 of 100", None),
    ] {
        for (assigned, detail) in
            [(Assignment::ByRequest, detail), (Assignment::ByKey, of_keys.unwrap_or(detail))]
        {
            let reading = play(1, assigned).swap_remove(number);
            assert!(reading.detail.starts_with(detail), "{reading:?}");
        }
    }
    // The lower end is wrong with the probability of a rollback, which the three classes share; the upper one with 5 %.
    let readings = play(200, Assignment::ByRequest);
    let counts = |requests, events| Counts { requests, events };
    for (number, new, old, parts) in [
        (4, counts(1000.0, 20.0), counts(1000.0, 10.0), 1.0),
        (2, counts(970.0, 40.0), counts(990.0, 20.0), 3.0),
    ] {
        let (mut band, estimate) = (Band::new(0.01), new.rate() - old.rate());
        (0..200).for_each(|_| band.add(Block::new(Unit::Events, new, old)));
        let reading = &readings[number];
        let found = reading.difference.expect("a difference");
        assert!((found.estimate - estimate).abs() < 1e-9, "{found:?}");
        assert_eq!(reading.value, Some(found.estimate));
        assert_eq!((reading.limit, found.limit), (Some(0.01), 0.01));
        let (lower, upper) = band.ends(found.estimate, ALPHA / parts, 0.05);
        assert_eq!((found.lower, found.upper), (lower, upper));
        assert!(lower.is_some() && upper.is_some());
    }
    // Of the statuses and the empty answers of a split by key, only a large difference matters.
    let limits = play(1, Assignment::ByKey).iter().map(|it| it.limit).collect::<Vec<_>>();
    assert_eq!(limits[1..5], [0.02, 0.25, 0.25, 0.01].map(Some));
    let without = play(0, Assignment::ByRequest);
    assert!(without[..7].iter().all(|reading| reading.value == Some(0.0)), "{without:?}");
    let added = Trial::default().readings(&gates);
    assert_eq!(added[0].problem, "this test was added after the run began");
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
                Assignment::ByRequest,
            );
        }
        trial.reach(end + 5.0, &gates);
        trial.readings(&gates).into_iter().find(|it| it.gate == "statuses").unwrap().verdict
    };
    // Two refusals by chance hold a step until more requests come.
    assert_eq!(statuses([98.0, 0.0, 2.0], 1), Verdict::Inconclusive);
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
        assert_eq!(worse(arm(failures, slow), arm(10.0, 0.0), Assignment::ByRequest), None);
    }
    let failed = worse(arm(60.0, 0.0), arm(10.0, 0.0), Assignment::ByRequest);
    assert_eq!(failed.as_deref(), Some("failures"));
}

#[test]
fn what_fails_within_a_block_weighs_once_however_often_it_is_scraped() {
    let one = Arm { requests: 20.0, failures: 4.0, ..Arm::default() };
    let five = Arm { requests: 100.0, failures: 20.0, ..Arm::default() };
    let (gates, mut scraped) = (gates(), [Trial::new(&gates(), 1), Trial::new(&gates(), 1)]);
    for second in 1..=20 {
        let of_a_second = Interval { seconds: 1.0, ..interval(f64::from(second), one, one) };
        scraped[0].add(&of_a_second, &gates, Assignment::ByRequest);
        if second % 5 == 0 {
            let of_five = interval(f64::from(second), five, five);
            scraped[1].add(&of_five, &gates, Assignment::ByRequest);
        }
    }
    assert!(scraped[0].evidence == scraped[1].evidence);
}

#[test]
fn the_last_block_is_judged_once_it_is_over() {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    let arm = Arm { requests: 100.0, ..Arm::default() };
    trial.add(&interval(5.0, arm, arm), &gates, Assignment::ByRequest);
    let before = trial.evidence.clone();
    trial.reach(9.4, &gates);
    assert!(trial.evidence == before);
    trial.reach(9.6, &gates);
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
            Assignment::ByRequest,
        );
        for part in [interval(end, half, half), interval(end + 1.0, half, half), shadow] {
            counted[1].add(&part, &gates, Assignment::ByRequest);
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
        trial.add(&compared(f64::from(block) * 5.0, 4.0), &gates, Assignment::ByRequest);
        assert!(missing(&trial), "{block}");
    }
    let mut trial = Trial::new(&gates, 1);
    for block in 1..=60 {
        trial.add(&compared(f64::from(block) * 5.0, 1.0), &gates, Assignment::ByRequest);
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
    let (mut failed_at, mut counted_at) = (None, None);
    for block in 1..=60 {
        let end = f64::from(block) * 5.0;
        let own = interval(end, Arm::default(), Arm::default());
        let own = Interval { own_new: counts(50.0), own_old: counts(0.0), ..own };
        trial.add(&own, &gates, Assignment::ByRequest);
        failed_at = failed_at.or(trial.worse(&gates).map(|test| (test.name.clone(), end)));
        trial.reach(end + 5.0, &gates);
        let counts_own = trial.evidence["sessions"].parts[0].new.requests > 0.0;
        counted_at = counted_at.or(counts_own.then_some(end));
    }
    let (test, end) = failed_at.expect("they break");
    assert!(test == "sessions" && end > 120.0, "{test} {end}");
    assert_eq!(counted_at, Some(125.0));
}

#[test]
fn matches_of_a_shadow_that_gets_other_answers_than_clients_prove_nothing() {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    let mut end = 0.0;
    let mut after = |clients: [f64; 3], shadow: [f64; 4]| {
        end += 5.0;
        let old = Arm { requests: 300.0, statuses: clients, ..Arm::default() };
        let interval = Interval { shadow_statuses: shadow, ..interval(end, Arm::default(), old) };
        trial.add(&interval, &gates, Assignment::ByKey);
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
        trial.add(&failed(end), &gates, Assignment::ByRequest);
        assert_eq!(trial.asked(), 0.0);
    }
    let pairs = Interval { pairs: 7.0, ..failed(20.0) };
    trial.add(&pairs, &gates, Assignment::ByRequest);
    assert_eq!(trial.asked(), 107.0);
}
