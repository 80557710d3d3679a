use proptest::prelude::*;

use super::*;

const FREE: Answers = Answers { old: Answer::Free, new: Answer::Free, given: None };

#[test]
fn a_side_that_is_away_gets_no_new_key() {
    use Answer::{Away, Free, Held};
    let now = Instant::now();
    for (old, new, share, expected) in [
        (Free, Free, "0", Side::Old),
        (Free, Free, "100", Side::New),
        (Free, Away, "100", Side::Old),
        (Away, Free, "0", Side::New),
        (Held, Free, "100", Side::Old),
        (Free, Held, "0", Side::New),
        (Away, Held, "0", Side::New),
        (Away, Away, "0", Side::Old),
    ] {
        let share = KeyShare::parse(share).unwrap();
        let answers = Answers { old, new, given: None };
        let side = Homes::default().give("/p/x", answers, (None, share), now);
        assert_eq!(side, expected, "{old:?} {new:?}");
    }
}

#[test]
fn a_client_chooses_the_side_of_a_key_that_nobody_has() {
    use Answer::{Away, Free, Held};
    let now = Instant::now();
    let share = KeyShare::parse("0").unwrap();
    for (old, new, choice, expected) in [
        (Free, Free, Side::New, Side::New),
        (Free, Free, Side::Old, Side::Old),
        (Held, Free, Side::New, Side::Old),
        (Free, Held, Side::Old, Side::New),
        (Free, Away, Side::New, Side::Old),
    ] {
        let answers = Answers { old, new, given: None };
        let side = Homes::default().give("/p/x", answers, (Some(choice), share), now);
        assert_eq!(side, expected, "{old:?} {new:?} {choice:?}");
    }
}

/// While a side restarts, two homes may get different answers from it.
#[test]
fn what_another_home_gave_holds_unless_a_side_holds_the_key() {
    use Answer::{Away, Free, Held};
    let now = Instant::now();
    for (old, new, share, expected) in [
        (Free, Free, "100", Side::Old),
        (Away, Free, "100", Side::Old),
        (Free, Held, "0", Side::New),
    ] {
        let share = KeyShare::parse(share).unwrap();
        let answers = Answers { old, new, given: Some(Side::Old) };
        let side = Homes::default().give("/p/x", answers, (None, share), now);
        assert_eq!(side, expected, "{old:?} {new:?}");
    }
}

#[test]
fn a_stop_leaves_a_key_where_it_was_given_and_no_longer() {
    let (mut homes, now) = (Homes::default(), Instant::now());
    let all = KeyShare::parse("100").unwrap();
    assert_eq!(homes.give("/p/x", FREE, (None, all), now), Side::New);
    for asked in [now, now + LEASE / 2, now + LEASE - Duration::from_millis(1)] {
        assert_eq!(homes.given("/p/x", asked), Some(Side::New));
    }
    assert_eq!(homes.given("/p/x", now + LEASE), None);
    assert_eq!(homes.given("/p/y", now), None);
}

#[test]
fn a_share_has_two_decimals() {
    for (text, expected) in
        [("0", 0), ("100", 10_000), ("25", 2500), ("0.5", 50), ("0.05", 5), ("99.99", 9999)]
    {
        assert_eq!(KeyShare::parse(text), Ok(KeyShare(expected)), "{text}");
    }
    for text in ["", "-1", "101", "100.01", "1.", ".5", "0.123", "x", "1e1", "99999999999999999999"]
    {
        assert!(KeyShare::parse(text).is_err(), "{text}");
    }
}

#[test]
fn at_0_percent_every_key_is_old_and_at_100_percent_every_key_is_new() {
    let sides = ["0", "100"].map(|share| KeyShare::parse(share).unwrap());
    // Ten times as many keys as there are buckets.
    for i in 0..100_000 {
        let key = format!("/p/{i}");
        assert_eq!(sides.map(|share| share.side(&key)), [Side::Old, Side::New], "{key}");
    }
}

#[test]
fn the_hash_follows_the_share() {
    let share = KeyShare::parse("25").unwrap();
    let new = (0..100_000).filter(|i| share.side(&format!("/p/{i}")) == Side::New).count();
    assert!((24_000..26_000).contains(&new), "{new}");
}

proptest! {
    #[test]
    fn a_key_that_is_new_stays_new_while_the_share_grows(key in ".*", a in 0..=BUCKETS, b in 0..=BUCKETS) {
        let (small, large) = (KeyShare(a.min(b)), KeyShare(a.max(b)));
        if small.side(&key) == Side::New {
            prop_assert_eq!(large.side(&key), Side::New);
        }
    }

    /// Whatever the share does, a key's side changes only after a whole lease without a request, or after
    /// the longest lease, and never while a side holds it.
    #[test]
    fn a_key_moves_only_when_nobody_has_it(
        events in prop::collection::vec((0..=BUCKETS, 0_u64..15_000, any::<bool>()), 1..50),
    ) {
        let (mut homes, mut now) = (Homes::default(), Instant::now());
        let (mut before, mut given): (Option<Side>, _) = (None, now);
        for (share, pause_ms, is_held) in events {
            now += Duration::from_millis(pause_ms);
            let held = |side| if is_held && before == Some(side) { Answer::Held } else { Answer::Free };
            let answers = Answers { old: held(Side::Old), new: held(Side::New), given: None };
            let leased = homes.leased("/p/x", now);
            let held_so_long = now - given;
            let side = leased.unwrap_or_else(|| {
                given = now;
                homes.give("/p/x", answers, (None, KeyShare(share)), now)
            });
            let is_leased = Duration::from_millis(pause_ms) < LEASE && held_so_long < LONGEST_LEASE;
            if let Some(before) = before && (is_held || is_leased) {
                prop_assert_eq!(side, before);
            }
            before = Some(side);
        }
    }
}

#[test]
fn a_client_that_tries_again_leaves_a_side_that_went_away() {
    let (mut homes, begin) = (Homes::default(), Instant::now());
    let all = KeyShare::parse("100").unwrap();
    let mut now = begin;
    assert_eq!(homes.give("/p/x", FREE, (None, all), now), Side::New);
    while homes.leased("/p/x", now) == Some(Side::New) {
        now += Duration::from_secs(1);
        assert!(now - begin <= LONGEST_LEASE);
    }
    let away = Answers { new: Answer::Away, ..FREE };
    assert_eq!(homes.give("/p/x", away, (None, all), now), Side::Old);
}

#[test]
fn old_answers_are_forgotten() {
    let (mut homes, now) = (Homes::default(), Instant::now());
    let share = KeyShare::parse("50").unwrap();
    for i in 0..100_000 {
        homes.give(&format!("/p/{i}"), FREE, (None, share), now);
    }
    assert_eq!(homes.forget_old(now), 100_000);
    assert_eq!(homes.forget_old(now + LEASE), 0);
    assert!(homes.leases.capacity() < 2048);
}
