//! The JSON of a line of the access log.
//!
//! nginx' own JSON would cost it a regular expression, four maps and a look at every byte for each request, while
//! clients wait. So it writes the fields with tabs between them, and the line is made here, the same to the byte.

use std::hash::{DefaultHasher, Hasher};
use std::time::{Duration, UNIX_EPOCH};

use memchr::memchr_iter;

use crate::line::{Line, Side, fields};

/// What the admin server's requests have for a route. They are counted, and none of a client's.
const ADMIN: &[u8] = b"admin";
/// More than a line has besides its fields and what is escaped in them.
const NAMES_BYTES: usize = 384;
/// A date and a time without a fraction.
const SECOND_BYTES: usize = "2026-01-01T00:00:00".len();
/// The first second of the year 10000, which has no such text.
const END_OF_TIME: u64 = 253_402_300_800;

/// Makes the lines of one log.
#[derive(Clone)]
pub(crate) struct Lines {
    /// Hashes of ids from here on are left out, unless something went wrong.
    least_left_out: u64,
    /// The second of the last line since 1970, and as text: most lines have the same.
    second: Option<u64>,
    text: String,
}

impl Lines {
    /// Lines of so many percent of the requests, and of all failures, fallbacks and rescues.
    pub(crate) fn new(percent: f64) -> Self {
        // A cast of more than `u64::MAX` gives `u64::MAX`.
        let least_left_out = (percent / 100.0 * u64::MAX as f64) as u64;
        Lines { least_left_out, second: None, text: String::new() }
    }

    /// Appends the JSON of each of `lines`, which are whole; returns of how many. The others are of the admin server,
    /// of the share that is left out, malformed, or of a version of nginx' configuration that had another log for this.
    pub(crate) fn convert(&mut self, lines: &[u8], to: &mut Vec<u8>) -> u64 {
        let (mut count, mut start) = (0, 0);
        for end in memchr_iter(b'\n', lines).chain([lines.len()]) {
            count += u64::from(self.put_request(&lines[start..end], to).is_some());
            start = (end + 1).min(lines.len());
        }
        count
    }

    /// By its id, so that all proxies that a request passes choose alike.
    fn is_chosen(&self, id: &[u8]) -> bool {
        let hash = || {
            let mut hasher = DefaultHasher::new();
            hasher.write(id);
            hasher.finish()
        };
        self.least_left_out == u64::MAX || hash() < self.least_left_out
    }

    /// Appends the JSON of a line without a newline, or nothing.
    fn put_request(&mut self, line: &[u8], to: &mut Vec<u8>) -> Option<()> {
        let fields = fields(line)?;
        let Line { ended_ms, route, .. } = Line::of(&fields)?;
        let [time, _, _, side, status, duration, sent, upstream, method, id, rest @ ..] = fields;
        let [trace, path, address, statuses, connects, headers, responses, _] = rest;
        let is_error = status[0] == b'5';
        let went_wrong =
            is_error || matches!(Side::parse(side), Some(Side::Fallback | Side::Rescue));
        if route == ADMIN || id.is_empty() || !went_wrong && !self.is_chosen(id) {
            return None;
        }
        let time_text = self.text_of(ended_ms / 1000)?;
        let needs_escape = |byte: u8| matches!(byte, b'"' | b'\\' | 0..b' ') && byte != b'\t';
        // Over all bytes: many at once, which a search that ends early is not.
        let is_plain = line.iter().fold(true, |plain, &byte| plain & !needs_escape(byte));
        to.reserve(line.len() + NAMES_BYTES);
        to.extend_from_slice(b"{\"time\":\"");
        to.extend_from_slice(time_text.as_bytes());
        for (name, value) in [
            // The fraction of the second.
            ("", &time[time.len() - 4..]),
            ("+00:00\",\"level\":\"", if is_error { b"error" } else { &b"info"[..] }),
            ("\",\"msg\":\"request\",\"service\":\"nginx\",\"request_id\":\"", id),
            ("\",\"trace_id\":\"", trace),
            ("\",\"route\":\"", path),
            ("\",\"method\":\"", method),
            // 000 and 009, for requests without an answer, are no JSON numbers.
            ("\",\"status\":", if status[0] == b'0' { b"0" } else { status }),
            (",\"duration_seconds\":", duration),
            (",\"side\":\"", if side.is_empty() { b"none" } else { side }),
            ("\",\"remote_addr\":\"", address),
            ("\",\"bytes_sent\":", sent),
            (",\"upstream_addr\":\"", upstream),
            ("\",\"upstream_status\":\"", statuses),
            ("\",\"upstream_connect_seconds\":\"", connects),
            ("\",\"upstream_header_seconds\":\"", headers),
            ("\",\"upstream_response_seconds\":\"", responses),
        ] {
            to.extend_from_slice(name.as_bytes());
            if is_plain {
                to.extend_from_slice(value);
            } else {
                value.iter().for_each(|&byte| put_escaped(byte, to));
            }
        }
        to.extend_from_slice(b"\"}\n");
        Some(())
    }

    fn text_of(&mut self, second: u64) -> Option<&str> {
        if self.second != Some(second) && second < END_OF_TIME {
            let time = UNIX_EPOCH + Duration::from_secs(second);
            self.text = humantime::format_rfc3339_seconds(time).to_string();
            self.text.truncate(SECOND_BYTES);
            self.second = Some(second);
        }
        (self.second == Some(second)).then_some(&self.text)
    }
}

/// Escapes a byte as nginx does with `escape=json`.
fn put_escaped(byte: u8, to: &mut Vec<u8>) {
    const HEXADECIMAL: &[u8; 16] = b"0123456789ABCDEF";
    match byte {
        b'"' | b'\\' => to.extend_from_slice(&[b'\\', byte]),
        b'\r' => to.extend_from_slice(b"\\r"),
        8 => to.extend_from_slice(b"\\b"),
        12 => to.extend_from_slice(b"\\f"),
        0..b' ' => {
            to.extend_from_slice(b"\\u00");
            to.extend([byte >> 4, byte & 15].map(|digit| HEXADECIMAL[usize::from(digit)]));
        }
        _ => to.push(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "1732250000.123\tqrcode\tnew\tfallback\t200\t0.012\t512\tunix:/run/qr.sock : 10.0.0.2:80\tGET\t\
        id-1\t4bf92f3577b34da6a3ce929d0e0e4736\t/qrcode\t10.0.0.9\t502 : 200\t- : 0.001\t- : 0.011\t0.000 : 0.011";

    fn converted(lines: &str) -> String {
        let mut to = Vec::new();
        let count = Lines::new(100.0).convert(lines.as_bytes(), &mut to);
        let text = String::from_utf8(to).unwrap();
        assert_eq!(count, text.lines().count() as u64);
        text
    }

    #[test]
    fn a_line_becomes_json() {
        let expected = "{\"time\":\"2024-11-22T04:33:20.123+00:00\",\"level\":\"info\",\"msg\":\"request\",\
            \"service\":\"nginx\",\"request_id\":\"id-1\",\"trace_id\":\"4bf92f3577b34da6a3ce929d0e0e4736\",\
            \"route\":\"/qrcode\",\"method\":\"GET\",\"status\":200,\"duration_seconds\":0.012,\
            \"side\":\"fallback\",\"remote_addr\":\"10.0.0.9\",\"bytes_sent\":512,\
            \"upstream_addr\":\"unix:/run/qr.sock : 10.0.0.2:80\",\"upstream_status\":\"502 : 200\",\
            \"upstream_connect_seconds\":\"- : 0.001\",\"upstream_header_seconds\":\"- : 0.011\",\
            \"upstream_response_seconds\":\"0.000 : 0.011\"}\n";
        assert_eq!(converted(LINE), expected);
        assert_eq!(converted(&format!("{LINE}\n{LINE}\n")), expected.repeat(2));
    }

    #[test]
    fn levels_statuses_and_sides_are_as_the_other_logs_have_them() {
        for (status, level, number) in [
            ("200", "info", "200"),
            ("499", "info", "499"),
            ("500", "error", "500"),
            ("000", "info", "0"),
            ("009", "info", "0"),
        ] {
            let line = converted(&LINE.replace("\t200\t", &format!("\t{status}\t")));
            assert!(line.contains(&format!("\"level\":\"{level}\"")), "{line}");
            assert!(line.contains(&format!("\"status\":{number},")), "{line}");
        }
        assert!(converted(&LINE.replace("fallback", "")).contains("\"side\":\"none\""));
    }

    #[test]
    fn each_line_has_the_time_of_its_own_request() {
        let other = LINE.replace("1732250000.123", "1732250001.007");
        let lines = converted(&[LINE, &other, LINE].join("\n"));
        let times: Vec<&str> = lines.lines().map(|line| &line[9..32]).collect();
        let first = "2024-11-22T04:33:20.123";
        assert_eq!(times, [first, "2024-11-22T04:33:21.007", first]);
    }

    #[test]
    fn no_byte_of_a_field_ends_its_string() {
        let line = converted(&LINE.replace("id-1", "a\"b\\c\r\u{8}\u{c}\u{1}\u{1f}\u{7f}é"));
        assert!(line.contains(r#""request_id":"a\"b\\c\r\b\f\u0001\u001F"#), "{line}");
        assert!(line.contains("\u{7f}é\",\"trace_id\""), "{line}");
    }

    #[test]
    fn other_lines_have_no_json() {
        for line in [
            "",
            "1732250000.123\tqrcode\tnew\tnew\t200\t0.012\t512\t10.0.0.1:80\tGET",
            &LINE.replace("\tqrcode\t", "\tadmin\t"),
            &LINE.replace("0.012", "-"),
            &LINE.replace("\tid-1\t", "\t\t"),
            &LINE.replace("1732250000.123", "253402300800.000"),
            LINE.rsplit_once('\t').unwrap().0,
        ] {
            assert_eq!(converted(&format!("{line}\n{LINE}\n")), converted(LINE), "{line}");
        }
    }

    #[test]
    fn of_a_share_all_that_went_wrong_is_chosen_and_the_rest_by_id() {
        let chosen = |percent: f64, line: &str| {
            let lines: String =
                (0..1000).map(|id| line.replace("id-1", &id.to_string()) + "\n").collect();
            let (mut first, mut second) = (Vec::new(), Vec::new());
            let count = Lines::new(percent).convert(lines.as_bytes(), &mut first);
            Lines::new(percent).convert(lines.as_bytes(), &mut second);
            assert_eq!(first, second);
            count
        };
        let well = LINE.replace("fallback", "new");
        for (line, all) in [
            (LINE, true),
            (&LINE.replace("fallback", "rescue"), true),
            (&well.replace("\t200\t", "\t503\t"), true),
            (&well.replace("\t200\t", "\t404\t"), false),
            (&well, false),
        ] {
            assert_eq!(chosen(0.0, line), if all { 1000 } else { 0 }, "{line}");
            assert_eq!(chosen(100.0, line), 1000, "{line}");
            let of_ten = chosen(10.0, line);
            assert!(if all { of_ten == 1000 } else { (50..150).contains(&of_ten) }, "{of_ten}");
        }
    }

    #[test]
    fn any_byte_changed_in_a_line_leaves_one_line_or_none() {
        for at in 0..LINE.len() {
            for byte in (0..=255).filter(|&byte| byte != b'\n') {
                let mut line = LINE.as_bytes().to_vec();
                line[at] = byte;
                let mut to = Vec::new();
                let count = Lines::new(100.0).convert(&line, &mut to);
                let newlines = to.iter().filter(|&&byte| byte == b'\n').count() as u64;
                assert_eq!((newlines, to.last().copied()), (count, (count == 1).then_some(b'\n')));
            }
        }
    }
}
