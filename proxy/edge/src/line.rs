//! A line of the access log: twenty-four fields, separated by tabs. The README has the format.

use memchr::{memchr_iter, memmem};
use strum::{EnumCount, IntoStaticStr, VariantArray};

use crate::outages::Attempt;

/// The side that a request was assigned to by the split, or why the split did not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, IntoStaticStr, VariantArray)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Arm {
    New,
    Old,
    /// The client chose its side, so the request is not part of a random comparison.
    Chosen,
    None,
}

impl Arm {
    fn parse(field: &[u8]) -> Option<Self> {
        Some(match field {
            b"new" => Arm::New,
            b"old" => Arm::Old,
            b"none" | b"" | b"-" => Arm::None,
            _ => return None,
        })
    }
}

/// The side that answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, IntoStaticStr, VariantArray)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum ServedBy {
    New,
    Old,
    /// The old side, because the new side failed.
    Fallback,
    /// The new side, because the old side could not be reached.
    Rescue,
    /// The old side, because the new side declined the request.
    Declined,
    /// nginx itself.
    None,
}

impl ServedBy {
    pub(crate) fn parse(field: &[u8]) -> Option<Self> {
        Some(match field {
            b"new" => ServedBy::New,
            b"old" => ServedBy::Old,
            b"fallback" => ServedBy::Fallback,
            b"rescue" => ServedBy::Rescue,
            b"none" | b"" | b"-" => ServedBy::None,
            _ if field.starts_with(DECLINED) => ServedBy::Declined,
            _ => return None,
        })
    }
}

/// What precedes the reason if the new side declined.
const DECLINED: &[u8] = b"declined:";

/// The class of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, IntoStaticStr, VariantArray)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Code {
    #[strum(to_string = "2xx")]
    Success,
    #[strum(to_string = "3xx")]
    Redirection,
    #[strum(to_string = "4xx")]
    ClientError,
    #[strum(to_string = "5xx")]
    ServerError,
    /// 499: the client left before the answer.
    Aborted,
    /// No answer, or an informational one.
    None,
}

impl Code {
    pub(crate) fn of(status: u16) -> Self {
        match status {
            499 => Code::Aborted,
            200..=299 => Code::Success,
            300..=399 => Code::Redirection,
            400..=499 => Code::ClientError,
            500..=599 => Code::ServerError,
            _ => Code::None,
        }
    }
}

/// The statuses of errors that nginx makes when it has no upstream's answer, or refuses a request.
pub(crate) const OWN_ERRORS: [u16; 5] = [429, 500, 502, 503, 504];

const FIELDS: usize = 24;
/// The numbers of fields in logs of earlier versions: the first nine, which are enough to count a line, or those before
/// the body's length, before the side that the client chose, or before the key.
const FIELDS_BEFORE: [usize; 4] = [9, 17, 18, 19];

/// The longest name of a route.
const MAX_ROUTE_BYTES: usize = 64;

/// The label `route` of requests without a route, which nginx refused before it knew their route.
pub(crate) const NO_ROUTE: &[u8] = b"none";

/// A request as nginx logged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// When the request ended, since 1970.
    pub(crate) ended_ms: u64,
    pub(crate) route: &'a [u8],
    pub(crate) arm: Arm,
    pub(crate) side: ServedBy,
    pub(crate) status: u16,
    pub(crate) method: &'a [u8],
    /// The template of the path.
    pub(crate) path: &'a [u8],
    /// The names of query parameters, and of headers with credentials, separated by commas.
    pub(crate) names: &'a [u8],
    pub(crate) media_type: &'a [u8],
    /// If the request went to the app since it spells the route's path in another way: how.
    pub(crate) spelling: &'a [u8],
    pub(crate) duration_ms: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) tries: Tries,
    /// Whether the first server that was asked is known to have been too slow.
    pub(crate) has_timed_out: bool,
    /// Whether the answer is known to have no body.
    pub(crate) is_empty: bool,
    /// Why the new side declined; empty if it did not.
    pub(crate) declined: &'a [u8],
    /// The number of the client's connection.
    pub(crate) connection: Option<u64>,
    /// The address of the last server that was asked.
    pub(crate) server: &'a [u8],
    /// Whether this server ended its answer too soon.
    pub(crate) is_cut: bool,
    /// The hash of the key, if the route is split by one.
    pub(crate) key: Option<u64>,
}

/// The servers of the assigned side that nginx asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tries {
    /// Whether nginx asked at least one server.
    pub(crate) was_asked: bool,
    /// Whether nginx asked a second server, because the first one failed.
    pub(crate) has_retry: bool,
    /// Whether nginx found no server to ask at one of the tries, because it knew none or all were paused after
    /// failures.
    pub(crate) had_no_live: bool,
}

impl Tries {
    /// Reads `$upstream_addr`: addresses separated by commas, and after ` : ` those of the next location, such as a
    /// fallback's. If nginx had no server to ask, it writes the group's name, which has no colon.
    fn parse(field: &[u8]) -> Self {
        let assigned = memmem::find(field, b" : ").unwrap_or(field.len());
        let mut tries = Tries::default();
        for (number, server) in field[..assigned].split(|&byte| byte == b',').enumerate() {
            let is_server = server.contains(&b':');
            tries.was_asked |= is_server;
            tries.has_retry |= is_server && number > 0;
            tries.had_no_live |= !is_server && server.iter().any(u8::is_ascii_alphabetic);
        }
        tries
    }
}

impl<'a> Line<'a> {
    /// Parses a line without its newline; `None` if it is malformed.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        Self::of(&fields(line)?)
    }

    /// Makes a line of its fields; `None` if one is malformed. A location sets `$side` before nginx applies its limits.
    /// If nginx then refuses the request without asking an upstream, the error is nginx' own, and the side is
    /// [`ServedBy::None`].
    pub(crate) fn of(fields: &[&'a [u8]; FIELDS]) -> Option<Self> {
        let [ended, route, arm, side_field, status, duration, sent, upstream, method, rest @ ..] =
            *fields;
        let [_, _, path, _, statuses, _, _, _, body, chosen, rest @ ..] = rest;
        let [key, connection, names, media_type, spelling] = rest;
        let status = parse_status(status)?;
        let has_upstream = !matches!(upstream, b"" | b"-");
        let is_own_error = !has_upstream && OWN_ERRORS.contains(&status);
        let side = ServedBy::parse(side_field)?;
        Some(Line {
            ended_ms: milliseconds(ended)?,
            route: parse_route(route)?,
            arm: match Arm::parse(arm)? {
                Arm::New | Arm::Old if !matches!(chosen, b"" | b"-") => Arm::Chosen,
                arm => arm,
            },
            side: if is_own_error { ServedBy::None } else { side },
            status,
            method,
            path,
            names,
            media_type,
            spelling,
            duration_ms: milliseconds(duration)?,
            sent_bytes: number(sent)?,
            tries: Tries::parse(upstream),
            has_timed_out: statuses.starts_with(b"504"),
            is_empty: body == b"0",
            declined: side_field.strip_prefix(DECLINED).unwrap_or_default(),
            connection: number(connection),
            server: upstream.rsplit(|&byte| byte == b' ').next().unwrap_or_default(),
            is_cut: false, // `Counts` knows
            key: number(key),
        })
    }

    /// Whether the assigned side itself answered.
    pub(crate) fn is_own_answer(&self) -> bool {
        matches!((self.arm, self.side), (Arm::New, ServedBy::New) | (Arm::Old, ServedBy::Old))
    }

    /// The outcome of the attempt at the assigned side.
    pub(crate) fn attempt(&self) -> Attempt {
        match Code::of(self.status) {
            _ if !self.tries.was_asked || self.side == ServedBy::Declined => Attempt::None,
            Code::ServerError => Attempt::Failed,
            Code::Aborted | Code::None => Attempt::None,
            _ if self.is_own_answer() && !self.is_cut => Attempt::Answered,
            _ => Attempt::Failed,
        }
    }
}

/// The fields of a line; `None` if their number is wrong. Fields that a log of an earlier version lacks are empty.
pub(crate) fn fields(line: &[u8]) -> Option<[&[u8]; FIELDS]> {
    let mut fields: [&[u8]; FIELDS] = [&[]; FIELDS];
    let (mut count, mut start) = (0, 0);
    for end in memchr_iter(b'\t', line).chain([line.len()]) {
        *fields.get_mut(count)? = &line[start..end];
        (count, start) = (count + 1, end + 1);
    }
    (count == FIELDS || FIELDS_BEFORE.contains(&count)).then_some(fields)
}

/// Whether `name` is valid as a route's name and so as a label.
pub(crate) fn is_route(name: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    (1..=MAX_ROUTE_BYTES).contains(&name.len()) && name.iter().all(is_allowed)
}

fn parse_route(field: &[u8]) -> Option<&[u8]> {
    match field {
        b"" | b"-" => Some(NO_ROUTE),
        name => is_route(name).then_some(name),
    }
}

/// Three digits; nginx writes 000 if it has no status.
fn parse_status(field: &[u8]) -> Option<u16> {
    (field.len() == 3).then(|| number(field))?.map(|status| status as u16)
}

/// Seconds with three decimals, as nginx writes times.
fn milliseconds(field: &[u8]) -> Option<u64> {
    let (seconds, fraction) = field.split_at_checked(field.len().checked_sub(4)?)?;
    let [b'.', fraction @ ..] = fraction else { return None };
    Some(number(seconds)? * 1000 + number(fraction)?)
}

/// A number of at most 15 digits, so that it stays far below `u64::MAX`, in milliseconds too.
fn number(digits: &[u8]) -> Option<u64> {
    if !(1..=15).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |value, &digit| {
        digit.is_ascii_digit().then(|| value * 10 + u64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests;
