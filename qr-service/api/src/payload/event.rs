//! Events for the calendar: a VEVENT of iCalendar (RFC 5545).

use serde::Deserialize;
use utoipa::ToSchema;

use super::Payload;
use super::contact::card_value;
use crate::fault::{Code, Fault};

/// An event.
#[derive(Deserialize, ToSchema)]
pub(super) struct Event {
    /// What it is.
    #[schema(min_length = 1, max_length = 200)]
    summary: String,
    /// When it begins: `2026-05-01` for a whole day, `2026-05-01T18:30` on the clock of the place,
    /// `2026-05-01T16:30Z` in UTC.
    #[schema(min_length = 10, max_length = 20)]
    start: String,
    /// When it ends, written as `start`; the last day of several.
    #[schema(min_length = 10, max_length = 20)]
    end: Option<String>,
    /// Where it is.
    #[schema(min_length = 1, max_length = 200)]
    location: Option<String>,
    /// More about it.
    #[schema(min_length = 1, max_length = 1000)]
    description: Option<String>,
}

/// A day or a time as iCalendar writes it. Strings of one form are in the order of time.
#[derive(PartialEq)]
struct When {
    text: String,
    form: usize,
}

/// Reads `2026-05-01`, `2026-05-01T18:30[:00]`, or the latter with `Z`.
fn when(text: &str) -> Option<When> {
    let (date, time) = text.split_once('T').map_or((text, None), |(date, time)| (date, Some(time)));
    let numbers = |text: &str, separator: char, lengths: &[usize]| -> Option<Vec<u32>> {
        let parts: Vec<&str> = text.split(separator).collect();
        let is_shaped = parts.len() == lengths.len()
            && parts.iter().zip(lengths).all(|(part, length)| part.len() == *length)
            && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        is_shaped.then(|| parts.iter().filter_map(|part| part.parse().ok()).collect())
    };
    let date = numbers(date, '-', &[4, 2, 2])?;
    if date[0] == 0
        || !(1..=12).contains(&date[1])
        || date[2] == 0
        || date[2] > days(date[0], date[1])
    {
        return None;
    }
    let day = format!("{:04}{:02}{:02}", date[0], date[1], date[2]);
    let Some(time) = time else { return Some(When { text: day, form: 0 }) };
    let bare = time.strip_suffix('Z').unwrap_or(time);
    let time_of = numbers(bare, ':', &[2, 2]).or_else(|| numbers(bare, ':', &[2, 2, 2]))?;
    let second = time_of.get(2).copied().unwrap_or(0);
    if time_of[0] > 23 || time_of[1] > 59 || second > 59 {
        return None;
    }
    let zone = if bare.len() < time.len() { "Z" } else { "" };
    let text = format!("{day}T{:02}{:02}{second:02}{zone}", time_of[0], time_of[1]);
    Some(When { text, form: 1 + zone.len() })
}

/// Days of a month in the Gregorian calendar.
fn days(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day after one as iCalendar writes it: the end of an event of whole days is not part of it.
fn day_after(day: &str) -> Option<String> {
    let number = |range: std::ops::Range<usize>| day.get(range)?.parse::<u32>().ok();
    let (mut year, mut month, mut date) = (number(0..4)?, number(4..6)?, number(6..8)? + 1);
    if date > days(year, month) {
        (month, date) = (month + 1, 1);
    }
    if month > 12 {
        (year, month) = (year + 1, 1);
    }
    Some(format!("{year:04}{month:02}{date:02}"))
}

impl Payload for Event {
    fn compose(&self, faults: &mut Vec<Fault>) -> String {
        let mut read = |name: &str, text: &str| {
            let read = when(text);
            if read.is_none() {
                let detail = "use 2026-05-01, 2026-05-01T18:30 or 2026-05-01T16:30Z";
                faults.push(Fault::new(name, Code::Malformed, detail));
            }
            read
        };
        let start = read("start", &self.start);
        let end = self.end.as_deref().and_then(|end| read("end", end));
        if let (Some(start), Some(end)) = (&start, &end) {
            if start.form != end.form {
                let detail =
                    "it is not written as start: with or without a time, with or without Z";
                faults.push(Fault::new("end", Code::Contradictory, detail));
            } else if end.text < start.text {
                faults.push(Fault::new("end", Code::Contradictory, "it is before start"));
            }
        }
        let property = |name: &str, when: &When, is_end: bool| match when.form {
            0 => {
                let day = if is_end { day_after(&when.text) } else { None };
                format!("{name};VALUE=DATE:{}", day.unwrap_or(when.text.clone()))
            }
            _ => format!("{name}:{}", when.text),
        };
        let mut lines = vec!["BEGIN:VEVENT".to_owned()];
        lines.push(format!("SUMMARY:{}", card_value(&self.summary)));
        lines.extend(start.iter().map(|start| property("DTSTART", start, false)));
        lines.extend(end.iter().map(|end| property("DTEND", end, true)));
        lines.extend(self.location.iter().map(|text| format!("LOCATION:{}", card_value(text))));
        lines.extend(
            self.description.iter().map(|text| format!("DESCRIPTION:{}", card_value(text))),
        );
        lines.push("END:VEVENT".to_owned());
        lines.join("\r\n")
    }
}

#[cfg(test)]
mod tests {
    use super::super::test::{composed, refused};
    use super::Event;

    #[test]
    fn an_event_has_days_or_times() {
        let event = composed::<Event>(
            r#"{"summary": "A, b", "start": "2026-02-28", "end": "2026-02-28", "location": "x;y"}"#,
        );
        assert_eq!(
            event,
            "BEGIN:VEVENT\r\nSUMMARY:A\\, b\r\nDTSTART;VALUE=DATE:20260228\r\nDTEND;VALUE=DATE:20260301\r\n\
            LOCATION:x\\;y\r\nEND:VEVENT"
        );
        let timed = composed::<Event>(r#"{"summary": "s", "start": "2024-02-29T23:59Z"}"#);
        assert!(timed.contains("\r\nDTSTART:20240229T235900Z\r\n"), "{timed}");
    }

    #[test]
    fn times_that_do_not_exist_or_are_out_of_order_are_refused() {
        for (times, fault) in [
            (r#""start": "2026-02-29""#, "start"),
            (r#""start": "2026-13-01""#, "start"),
            (r#""start": "2026-05-01T24:00""#, "start"),
            (r#""start": "2026-05-01 18:30""#, "start"),
            (r#""start": "2026-05-01T18:30+02""#, "start"),
            (r#""start": "2026-05-01", "end": "2026-04-30""#, "end"),
            (r#""start": "2026-05-01", "end": "2026-05-01T18:30""#, "end"),
        ] {
            assert_eq!(
                refused::<Event>(&format!(r#"{{"summary": "s", {times}}}"#)),
                [fault],
                "{times}"
            );
        }
    }
}
