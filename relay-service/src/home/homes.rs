//! The decision, without I/O.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::xxh3_64;

/// How long an answer holds. It bridges the time until the request has reached its side, which holds the
/// key from then on.
pub const LEASE: Duration = Duration::from_secs(10);
/// How long an answer may hold however often it is asked for. Else clients that try again would stay with a side
/// that has gone away.
const LONGEST_LEASE: Duration = Duration::from_secs(30);
/// Buckets of the hash: a share has two decimals.
const BUCKETS: u64 = 10_000;

/// Who serves a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The legacy app.
    Old,
    /// The new service.
    New,
}

impl Side {
    /// `old` or `new`.
    pub fn as_str(self) -> &'static str {
        match self {
            Side::Old => "old",
            Side::New => "new",
        }
    }
}

/// What a side says about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Somebody waits there, or a pair is under way.
    Held,
    /// Nobody has it there.
    Free,
    /// The side cannot be reached, or takes no new keys any more.
    Away,
}

/// What both sides and the other homes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    /// The old side's.
    pub old: Answer,
    /// The new side's.
    pub new: Answer,
    /// The side that another home gave a moment ago.
    pub given: Option<Side>,
}

impl Answers {
    /// The side that holds the key, else the one that another home gave, else the only one that can take it.
    fn side(self) -> Option<Side> {
        match (self.old, self.new) {
            (_, Answer::Held) => Some(Side::New),
            (Answer::Held, _) => Some(Side::Old),
            _ if self.given.is_some() => self.given,
            (Answer::Free, Answer::Away) => Some(Side::Old),
            (Answer::Away, Answer::Free) => Some(Side::New),
            _ => None,
        }
    }
}

/// The new side's part of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShare(u64);

impl KeyShare {
    /// Reads a percentage such as `25` or `0.5`.
    ///
    /// # Errors
    /// One line, if it is not a number from 0 to 100 with at most two decimals.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a share from 0 to 100 with at most two decimals");
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !are_digits(whole) || !are_digits(decimals) || decimals.len() > 2 {
            return Err(wrong());
        }
        let hundredths: u64 = format!("{decimals:0<2}").parse().map_err(|_| wrong())?;
        let share = whole.parse::<u64>().map_err(|_| wrong())?.saturating_mul(100) + hundredths;
        if share > BUCKETS { Err(wrong()) } else { Ok(KeyShare(share)) }
    }

    /// The side of a key that nobody holds. A key that is new at a share is new at every larger one.
    pub fn side(self, key: &str) -> Side {
        if xxh3_64(key.as_bytes()) % BUCKETS < self.0 { Side::New } else { Side::Old }
    }
}

/// The answers of the last moments.
#[derive(Debug, Default)]
pub struct Homes {
    leases: HashMap<String, Lease>,
}

#[derive(Debug)]
struct Lease {
    side: Side,
    given: Instant,
    until: Instant,
}

impl Homes {
    /// The side that was given for the key a moment ago; the moment begins anew, for `LONGEST_LEASE` in all.
    pub fn leased(&mut self, key: &str, now: Instant) -> Option<Side> {
        let lease = self.leases.get_mut(key)?;
        if lease.until <= now || lease.given + LONGEST_LEASE <= now {
            return None;
        }
        lease.until = now + LEASE;
        Some(lease.side)
    }

    /// The side that was given for the key a moment ago, for another home, or while the route is stopped. The moment
    /// does not begin anew, so a stop is complete after [`LEASE`].
    pub fn given(&self, key: &str, now: Instant) -> Option<Side> {
        let lease = self.leases.get(key)?;
        (lease.until > now).then_some(lease.side)
    }

    /// Gives the key to the side that holds it, else to the one that the client chooses, else to the one of
    /// its hash, or the other if that one is away. If another request has got an answer meanwhile, that one holds.
    pub fn give(
        &mut self,
        key: &str,
        answers: Answers,
        (choice, share): (Option<Side>, KeyShare),
        now: Instant,
    ) -> Side {
        if let Some(side) = self.leased(key, now) {
            return side;
        }
        let side = answers.side().or(choice).unwrap_or_else(|| share.side(key));
        let lease = Lease { side, given: now, until: now + LEASE };
        self.leases.insert(key.to_owned(), lease);
        side
    }

    /// Forgets what no longer holds. Returns how many are left.
    pub fn forget_old(&mut self, now: Instant) -> usize {
        self.leases.retain(|_, lease| lease.until > now);
        if self.leases.capacity() > 4 * self.leases.len() + 1024 {
            self.leases.shrink_to_fit();
        }
        self.leases.len()
    }
}

#[cfg(test)]
mod tests {
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

    /// Two homes may see a side that restarts differently.
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
        for text in
            ["", "-1", "101", "100.01", "1.", ".5", "0.123", "x", "1e1", "99999999999999999999"]
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
}
