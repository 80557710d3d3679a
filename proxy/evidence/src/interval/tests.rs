use super::*;

fn arm(k: f64) -> Arm {
    let statuses = [60.0 * k, 20.0 * k, 4.0 * k];
    let (requests, refused, failures, helped) = (100.0 * k, 10.0 * k, 7.0 * k, 3.0 * k);
    let (slow, empty, outages, out_seconds) = (5.0 * k, 2.0 * k, k, 0.5 * k);
    let (declined, known, failed_keys, odd_keys) = (0.0, k, 6.0 * k, [k, 2.0 * k, 3.0 * k]);
    let [keys, moved_keys] = [8.0 * k, 9.0 * k];
    #[rustfmt::skip]
    let arm = Arm { requests, refused, declined, failures, helped, slow, statuses, empty, outages, out_seconds, keys,
                    moved_keys, failed_keys, odd_keys, known };
    arm
}

/// An interval with a number of its own for each count, times `k`.
fn interval(k: f64) -> Interval {
    let alone = |new: f64| Alone { new: k * new, old: k * (new + 1.0) };
    let counts = |events: f64| Counts { requests: k * 50.0, events: k * events };
    Interval {
        end: 1000.0,
        seconds: 5.0 * k,
        share: 25.0,
        new: arm(k),
        old: arm(2.0 * k),
        pairs: 40.0 * k,
        failed: alone(1.0),
        slower: [3.0, 5.0, 7.0, 9.0, 11.0].map(alone),
        shadow_statuses: [13.0, 14.0, 15.0, 16.0].map(|count| k * count),
        compared: counts(17.0),
        noise: counts(18.0),
        own_new: counts(19.0),
        own_old: counts(20.0),
    }
}

#[test]
fn intervals_add_up_in_every_count() {
    let mut sum = interval(1.0);
    sum.add(&interval(2.0));
    assert_eq!(sum, interval(3.0));
    // The shadow's scrapes are no time of the sides.
    let shadow = Interval { new: Arm::default(), old: Arm::default(), ..interval(1.0) };
    sum.add(&shadow);
    assert_eq!((sum.seconds, sum.pairs), (15.0, 160.0));
    for new in [arm(1.0), Arm::default()] {
        sum.add(&Interval { new, old: arm(0.0), ..interval(1.0) });
    }
    assert_eq!(sum.seconds, 20.0);
}

#[test]
fn an_interval_is_stored_without_what_it_did_not_count() {
    let nothing = toml::to_string(&Interval::default()).expect("TOML");
    assert_eq!(nothing, "end = 0.0\nseconds = 0.0\nshare = 0.0\n");
    let text = toml::to_string(&interval(1.0)).expect("TOML");
    assert_eq!(toml::from_str::<Interval>(&text).expect(&text), interval(1.0));
}

#[test]
fn each_test_counts_its_own_events_among_its_own_requests() {
    use Assignment::{ByKey, ByRequest};
    let interval = interval(1.0);
    let counted = |counted, assigned| -> Vec<[(f64, f64); 2]> {
        let blocks = interval.blocks(counted, assigned);
        let of = |counts: Counts| (counts.requests, counts.events);
        blocks.into_iter().map(|block| [of(block.new), of(block.old)]).collect()
    };
    let pairs = |new: f64| [(40.0, new), (40.0, new + 1.0)];
    for (test, assigned, expected) in [
        (Quantity::Failures, ByRequest, vec![[(90.0, 7.0), (180.0, 14.0)]]),
        // The second block has 90 % of all requests, divided by the share.
        (
            Quantity::Failures,
            ByKey,
            vec![[(90.0, 3.0), (180.0, 14.0)], [(67.5, 6.0), (202.5, 12.0)]],
        ),
        (Quantity::Slow, ByRequest, vec![[(100.0, 5.0), (200.0, 10.0)]]),
        (Quantity::Slow, ByKey, vec![[(0.0, 0.0); 2]]),
        (
            Quantity::Statuses,
            ByRequest,
            [60.0, 20.0, 4.0].map(|of| [(84.0, of), (168.0, 2.0 * of)]).to_vec(),
        ),
        (Quantity::Empty, ByRequest, vec![[(60.0, 2.0), (120.0, 4.0)]]),
        (Quantity::Outages, ByRequest, vec![[(5.0, 0.5), (5.0, 1.0)]]),
        (Quantity::PairFailures, ByRequest, vec![pairs(1.0)]),
        (Quantity::PairLatency, ByRequest, [3.0, 5.0, 7.0, 9.0, 11.0].map(pairs).to_vec()),
        (Quantity::Differences, ByRequest, vec![[(50.0, 17.0), (50.0, 18.0)]]),
        (Quantity::Own, ByRequest, vec![[(50.0, 19.0), (50.0, 20.0)]]),
        (Quantity::ShadowAnswers, ByRequest, vec![]),
        (Quantity::SampleRatio, ByRequest, vec![]),
    ] {
        assert_eq!(counted(test, assigned), expected, "{test:?} {assigned:?}");
    }
    let of = |counted| interval.blocks(counted, ByRequest)[0];
    assert_eq!((of(Quantity::Failures).attempted, of(Quantity::Slow).attempted), (0.9, 1.0));
    assert_eq!((of(Quantity::Outages).unit, of(Quantity::Own).unit), (Unit::Time, Unit::Events));
    let asked = interval.asked(ByRequest);
    assert_eq!(asked.new, Counts { requests: 130.0, events: 8.0 });
    assert_eq!(asked.old, Counts { requests: 220.0, events: 16.0 });
    // Without the shadow's pairs, and without failures that are the key's.
    let asked = interval.asked(ByKey);
    assert_eq!(asked.new, Counts { requests: 90.0, events: 6.0 });
    assert_eq!(asked.old, Counts { requests: 180.0, events: 12.0 });
    let declined = Arm { declined: 40.0, ..interval.new };
    assert_eq!(Interval { new: declined, ..interval }.asked(ByKey).new.requests, 50.0);
    assert_eq!([&Key::Request, &Key::Client].map(Assignment::from), [ByRequest, ByKey]);
}

#[test]
fn an_outage_counts_if_both_sides_have_the_requests_to_show_one() {
    for (new, old, seconds) in [(25.0, 25.0, 5.0), (24.9, 25.0, 0.0), (25.0, 24.9, 0.0)] {
        let arm = |requests| Arm { requests, ..Arm::default() };
        let interval =
            Interval { seconds: 5.0, new: arm(new), old: arm(old), ..Interval::default() };
        let block = interval.blocks(Quantity::Outages, Assignment::ByRequest)[0];
        assert_eq!([block.new, block.old].map(|it| it.requests), [seconds; 2], "{new} {old}");
    }
}

#[test]
fn beyond_the_limit_a_side_is_excused_by_the_old_one_or_by_its_few_keys() {
    use Assignment::{ByKey, ByRequest};
    let arm = |requests, failures| Arm { requests, failures, ..Arm::default() };
    for (new, old, assigned, counts) in [
        (arm(100.0, 9.0), arm(200.0, 10.0), ByRequest, true),
        (arm(100.0, 9.0), arm(200.0, 11.0), ByRequest, false),
        (arm(100.0, 9.0), arm(0.0, 0.0), ByRequest, true),
        (arm(100.0, 9.0), arm(101.0, 0.0), ByKey, false),
        (arm(100.0, 9.0), arm(100.0, 0.0), ByKey, true),
    ] {
        let block = Interval { new, old, ..Interval::default() }.above(0.05, assigned);
        assert_eq!(block.is_some(), counts, "{old:?} {assigned:?}");
        if let Some(block) = block {
            assert_eq!(
                (block.unit, block.new.requests, block.new.events),
                (Unit::Limit, 100.0, 9.0)
            );
        }
    }
}
