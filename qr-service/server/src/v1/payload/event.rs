//! Events for a calendar: a VEVENT of iCalendar (RFC 5545).

use chrono::{Days, FixedOffset, NaiveDate, NaiveTime};

use super::contact::card_value;
use super::{Payload, TIME, parameters, text};
use crate::v1::fault::{Code, Fault};

parameters! {
    /// An event.
    #[derive(serde::Deserialize)]
    pub(super) Event {
        /// Title of the event.
        summary: String = text(1, 200),
        /// Start: `2026-05-01` for a whole day, `2026-05-01T18:30` in the local time of the place, `2026-05-01T16:30Z`
        /// in UTC, `2026-05-01T18:30+02:00` with an offset from UTC. Fractions of a second are ignored.
        start: String = text(10, 35).pattern(TIME),
        /// End, in the same notation as `start`; for whole days the last day.
        end: Option<String> = text(10, 35).pattern(TIME),
        /// Place of the event.
        location: Option<String> = text(1, 200),
        /// Further details.
        description: Option<String> = text(1, 1000),
    }
}

/// A whole day, or a time of it.
struct When {
    day: NaiveDate,
    time: Option<NaiveTime>,
    is_utc: bool,
}

/// Reads `2026-05-01`, `2026-05-01T18:30[:00[.000]]`, or the latter with `Z` or an offset. An offset is converted to
/// UTC.
fn when(text: &str) -> Option<When> {
    // chrono also accepts shorter numbers.
    let day = |text: &str| {
        let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        (day.to_string() == text).then_some(day)
    };
    let Some((date, time)) = text.split_once('T') else {
        return Some(When { day: day(text)?, time: None, is_utc: false });
    };
    let (clock, zone) = time.split_at(time.find(['Z', '+', '-']).unwrap_or(time.len()));
    let (clock, parts) = clock.split_once('.').unwrap_or((clock, "0"));
    if !(1..=9).contains(&parts.len()) || !parts.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let read = |form| {
        let time = NaiveTime::parse_from_str(clock, form).ok()?;
        (time.format(form).to_string() == clock).then_some(time)
    };
    let local = day(date)?.and_time(read("%H:%M:%S").or_else(|| read("%H:%M"))?);
    let at = match zone {
        "" | "Z" => local,
        zone => local.checked_sub_offset(offset(zone)?)?,
    };
    Some(When { day: at.date(), time: Some(at.time()), is_utc: !zone.is_empty() })
}

/// An offset from UTC such as `+02:00`.
fn offset(zone: &str) -> Option<FixedOffset> {
    let (sign, clock) = zone.split_at(1);
    let time = NaiveTime::parse_from_str(clock, "%H:%M").ok()?;
    let seconds = time.signed_duration_since(NaiveTime::MIN).num_seconds() as i32;
    let is_right = time.format("%H:%M").to_string() == clock;
    FixedOffset::east_opt(if sign == "-" { -seconds } else { seconds }).filter(|_| is_right)
}

impl Payload for Event {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let mut read = |name: &str, text: &str| {
            let read = when(text);
            if read.is_none() {
                let detail =
                    "use 2026-05-01, 2026-05-01T18:30, 2026-05-01T16:30Z or 2026-05-01T18:30+02:00";
                faults.push(Fault::new(name, Code::Malformed, detail));
            }
            read
        };
        let start = read("start", &self.start);
        let end = self.end.as_deref().and_then(|end| read("end", end));
        if let (Some(start), Some(end)) = (&start, &end) {
            if (start.time.is_some(), start.is_utc) != (end.time.is_some(), end.is_utc) {
                let detail = "it does not match start: a time, and Z or an offset, belong to both or to neither";
                faults.push(Fault::new("end", Code::Contradictory, detail));
            } else if (end.day, end.time) < (start.day, start.time) {
                faults.push(Fault::new("end", Code::Contradictory, "it is before start"));
            }
        }
        let property = |name: &str, when: &When, days: u64| match when.time {
            // In iCalendar, DTEND is the day after the last whole day.
            None => {
                let day = when.day.checked_add_days(Days::new(days)).unwrap_or(when.day);
                format!("{name};VALUE=DATE:{}", day.format("%Y%m%d"))
            }
            Some(time) => {
                let zone = if when.is_utc { "Z" } else { "" };
                format!("{name}:{}{zone}", when.day.and_time(time).format("%Y%m%dT%H%M%S"))
            }
        };
        let mut lines = vec!["BEGIN:VEVENT".to_owned()];
        lines.push(format!("SUMMARY:{}", card_value(&self.summary)));
        lines.extend(start.iter().map(|start| property("DTSTART", start, 0)));
        lines.extend(end.iter().map(|end| property("DTEND", end, 1)));
        lines.extend(self.location.iter().map(|text| format!("LOCATION:{}", card_value(text))));
        lines.extend(
            self.description.iter().map(|text| format!("DESCRIPTION:{}", card_value(text))),
        );
        lines.push("END:VEVENT".to_owned());
        lines.join("\r\n")
    }
}
