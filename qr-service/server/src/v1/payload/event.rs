//! Events for a calendar: a VEVENT of iCalendar (RFC 5545).

use chrono::{Days, FixedOffset, NaiveDate, NaiveTime};

use super::contact::card_value;
use super::syntax::TIME;
use super::{Payload, parameters, text};
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

/// Reads a text of the syntax [`TIME`]. An offset is converted to UTC. `None` if there is no such day, time or offset.
fn when(text: &str) -> Option<When> {
    let (date, time) = text.split_once('T').unwrap_or((text, ""));
    let day: NaiveDate = date.parse().ok()?;
    if time.is_empty() {
        return Some(When { day, time: None, is_utc: false });
    }
    let (clock, zone) = time.split_at(time.find(['Z', '+', '-']).unwrap_or(time.len()));
    let clock = clock.split('.').next().unwrap_or_default();
    let read = |form| NaiveTime::parse_from_str(clock, form).ok();
    let local = day.and_time(read("%H:%M:%S").or_else(|| read("%H:%M"))?);
    let at = match zone {
        "" | "Z" => local,
        zone => local.checked_sub_offset(zone.parse::<FixedOffset>().ok()?)?,
    };
    Some(When { day: at.date(), time: Some(at.time()), is_utc: !zone.is_empty() })
}

impl Payload for Event {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let mut read = |name: &str, text: &str| {
            let read = when(text);
            if read.is_none() {
                faults.push(Fault::new(name, Code::Malformed, "there is no such day or time"));
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
