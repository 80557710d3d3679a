//! Decides which side gets a key, without I/O.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use strum::{EnumString, IntoStaticStr};
use xxhash_rust::xxh3::xxh3_64;

/// How long an answer stays valid. It covers the time until the request has reached its side, which holds the key from
/// then on.
pub const LEASE: Duration = Duration::from_secs(10);
/// Longest validity of an answer, however often clients ask. Without it, clients that retry would stay with a side that
/// is away.
const LONGEST_LEASE: Duration = Duration::from_secs(30);
/// Buckets of the hash: a share has two decimals.
const BUCKETS: u64 = 10_000;

/// Who serves a key.
#[derive(Clone, Copy, Debug, EnumString, IntoStaticStr, PartialEq, Eq)]
#[strum(serialize_all = "lowercase")]
pub enum Side {
    /// The legacy app.
    Old,
    /// The new service.
    New,
}

/// What a side says about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Somebody waits there, or a pair is under way.
    Held,
    /// Nobody has it there.
    Free,
    /// The side cannot be reached, or takes no new keys.
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
    /// The side that holds the key, or else the one that another home gave, or else the only one that can take it.
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

/// The new side's share of the keys, in hundredths of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShare(u64);

impl KeyShare {
    /// Parses a percentage such as `25` or `0.5`. Fails with a one-line message unless it is a number from 0 to 100
    /// with at most two decimals.
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

    /// The side of a key that nobody holds. A key that goes to the new side at one share also does at every larger one.
    pub fn side(self, key: &str) -> Side {
        if xxh3_64(key.as_bytes()) % BUCKETS < self.0 { Side::New } else { Side::Old }
    }
}

/// The answers that are still valid.
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
    /// The side of the key's lease, if it has one. Renews the lease, for `LONGEST_LEASE` in all.
    pub fn leased(&mut self, key: &str, now: Instant) -> Option<Side> {
        let lease = self.leases.get_mut(key)?;
        if lease.until <= now || lease.given + LONGEST_LEASE <= now {
            return None;
        }
        lease.until = now + LEASE;
        Some(lease.side)
    }

    /// The side of the key's lease, if it has one, for another home or while the route is stopped. Does not renew the
    /// lease, so a stop is complete after [`LEASE`].
    pub fn given(&self, key: &str, now: Instant) -> Option<Side> {
        let lease = self.leases.get(key)?;
        (lease.until > now).then_some(lease.side)
    }

    /// Gives the key to the side that [`Answers`] name, or else to the client's choice, or else to the side of its
    /// hash. If another request has got an answer meanwhile, that answer stays valid.
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

    /// Removes expired leases. Returns how many are left.
    pub fn forget_old(&mut self, now: Instant) -> usize {
        self.leases.retain(|_, lease| lease.until > now);
        if self.leases.capacity() > 4 * self.leases.len() + 1024 {
            self.leases.shrink_to_fit();
        }
        self.leases.len()
    }
}

#[cfg(test)]
mod tests;
