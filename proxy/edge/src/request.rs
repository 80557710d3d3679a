//! The line about a request that [`crate::pipe`] hands on: JSON, made of the fields that nginx writes.
//!
//! nginx' own JSON costs it a regular expression, four maps and a look at every byte for each request, while
//! clients wait. So it writes the fields with tabs between them (`compact` in `nginx.conf`), and the line is made
//! here. It is the same to the byte as `json` there, which is what nginx writes if nobody stands behind it.

use std::mem::take;
use std::time::{Duration, UNIX_EPOCH};

/// Fields of a line, with the word `request` that it begins with.
const FIELDS: usize = 16;
/// More than a line has besides its fields and what is escaped in them.
const NAMES_BYTES: usize = 384;
/// A date and a time without a fraction.
const SECOND_BYTES: usize = "2026-01-01T00:00:00".len();

/// Makes the lines of one log.
#[derive(Default)]
pub(crate) struct Lines {
    /// The second of the last line as nginx wrote it, and as text: most lines have the same.
    second: Vec<u8>,
    text: Vec<u8>,
}

impl Lines {
    /// Appends a line for each of `lines`, which are whole. What nginx did not write as `compact` is passed on
    /// as it is.
    pub(crate) fn convert(&mut self, lines: &[u8], to: &mut Vec<u8>) {
        let mut rest = lines;
        while !rest.is_empty() {
            let line = Line::first_of(rest);
            if self.put_request(&line, to).is_none() {
                to.extend_from_slice(line.bytes);
            }
            to.push(b'\n');
            rest = rest.get(line.bytes.len() + 1..).unwrap_or_default();
        }
    }

    /// Appends the JSON of a line, or nothing if the line is not about a request.
    fn put_request(&mut self, line: &Line<'_>, to: &mut Vec<u8>) -> Option<()> {
        let [
            word,
            time,
            id,
            trace,
            route,
            method,
            status,
            duration,
            side,
            address,
            sent,
            tried @ ..,
        ] = line.fields()?;
        let is_status = status.len() == 3 && is_number(status);
        if word != b"request" || !is_status || !is_decimal(duration) || !is_number(sent) {
            return None;
        }
        let (second, fraction) = split_decimal(time)?;
        self.turn_to(second)?;
        let json = Json { to, is_plain: line.is_plain };
        json.to.reserve(line.bytes.len() + NAMES_BYTES);
        json.to.extend_from_slice(b"{\"time\":\"");
        json.to.extend_from_slice(&self.text);
        json.to.extend_from_slice(fraction);
        json.to.extend_from_slice(if status[0] == b'5' {
            b"+00:00\",\"level\":\"error"
        } else {
            b"+00:00\",\"level\":\"info"
        });
        json.string(b"\",\"msg\":\"request\",\"service\":\"nginx\",\"request_id\":\"", id)
            .string(b"\",\"trace_id\":\"", trace)
            .string(b"\",\"route\":\"", route)
            .string(b"\",\"method\":\"", method)
            // 000 and 009, for requests without an answer, are no JSON numbers.
            .number(b"\",\"status\":", if status[0] == b'0' { b"0" } else { status })
            .number(b",\"duration_seconds\":", duration)
            .string(b",\"side\":\"", if side.is_empty() { b"none" } else { side })
            .string(b"\",\"remote_addr\":\"", address)
            .number(b"\",\"bytes_sent\":", sent)
            .string(b",\"upstream_addr\":\"", tried[0])
            .string(b"\",\"upstream_status\":\"", tried[1])
            .string(b"\",\"upstream_connect_seconds\":\"", tried[2])
            .string(b"\",\"upstream_header_seconds\":\"", tried[3])
            .string(b"\",\"upstream_response_seconds\":\"", tried[4])
            .to
            .extend_from_slice(b"\"}");
        Some(())
    }

    /// Makes `self.text` the text of this second since 1970.
    fn turn_to(&mut self, second: &[u8]) -> Option<()> {
        if self.second != second {
            // What fails must not be taken for the text of the second before.
            take(&mut self.second);
            let since = Duration::from_secs(std::str::from_utf8(second).ok()?.parse().ok()?);
            let time = UNIX_EPOCH.checked_add(since)?;
            // humantime's own limit: the year 9999.
            if since.as_secs() >= 253_402_300_800 {
                return None;
            }
            let text = humantime::format_rfc3339_seconds(time).to_string();
            self.text = text.as_bytes().get(..SECOND_BYTES)?.to_vec();
            self.second = second.to_vec();
        }
        Some(())
    }
}

/// A line without its newline.
struct Line<'a> {
    bytes: &'a [u8],
    /// Where its tabs are, and how many: more may follow those that fit.
    tabs: [usize; FIELDS - 1],
    tab_count: usize,
    /// Nothing in it needs an escape.
    is_plain: bool,
}

impl<'a> Line<'a> {
    /// The line up to the first newline, or all. Looks at each byte once.
    fn first_of(lines: &'a [u8]) -> Self {
        let mut line = Line { bytes: lines, tabs: [0; FIELDS - 1], tab_count: 0, is_plain: true };
        for (at, &byte) in lines.iter().enumerate() {
            if !IS_SPECIAL[usize::from(byte)] {
                continue;
            }
            match byte {
                b'\n' => {
                    line.bytes = &lines[..at];
                    break;
                }
                b'\t' => {
                    if let Some(tab) = line.tabs.get_mut(line.tab_count) {
                        *tab = at;
                    }
                    line.tab_count += 1;
                }
                _ => line.is_plain = false,
            }
        }
        line
    }

    /// Its fields, if it has as many as a line about a request.
    fn fields(&self) -> Option<[&'a [u8]; FIELDS]> {
        if self.tab_count != FIELDS - 1 {
            return None;
        }
        let mut start = 0;
        let mut ends = self.tabs.iter().copied().chain([self.bytes.len()]);
        let mut fields: [&[u8]; FIELDS] = [&[]; FIELDS];
        for field in &mut fields {
            let end = ends.next()?;
            *field = self.bytes.get(start..end)?;
            start = end + 1;
        }
        Some(fields)
    }
}

/// Where a line is appended.
struct Json<'a> {
    to: &'a mut Vec<u8>,
    /// Nothing in the line needs an escape.
    is_plain: bool,
}

impl Json<'_> {
    /// Appends the `name` as it is, and a string.
    #[inline(always)]
    fn string(self, name: &[u8], value: &[u8]) -> Self {
        self.to.extend_from_slice(name);
        if self.is_plain {
            self.to.extend_from_slice(value);
        } else {
            value.iter().for_each(|&byte| put_escaped(byte, self.to));
        }
        self
    }

    /// Appends the `name` as it is, and a number.
    #[inline(always)]
    fn number(self, name: &[u8], value: &[u8]) -> Self {
        self.to.extend_from_slice(name);
        self.to.extend_from_slice(value);
        self
    }
}

/// Bytes that end a field or a line, or that a string cannot have as they are.
const IS_SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < b' ' as usize {
        special[byte] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special
};

/// Escapes a byte as nginx does with `escape=json`.
fn put_escaped(byte: u8, to: &mut Vec<u8>) {
    const HEXADECIMAL: &[u8; 16] = b"0123456789ABCDEF";
    match byte {
        b'"' | b'\\' => to.extend_from_slice(&[b'\\', byte]),
        b'\n' => to.extend_from_slice(b"\\n"),
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

fn is_number(field: &[u8]) -> bool {
    !field.is_empty() && field.iter().all(u8::is_ascii_digit)
}

/// Whether it is seconds with three decimals, as nginx writes times.
fn is_decimal(field: &[u8]) -> bool {
    split_decimal(field).is_some()
}

/// Splits seconds before their point.
fn split_decimal(field: &[u8]) -> Option<(&[u8], &[u8])> {
    let (seconds, fraction) = field.split_at_checked(field.len().checked_sub(4)?)?;
    let [b'.', decimals @ ..] = fraction else { return None };
    (is_number(seconds) && is_number(decimals)).then_some((seconds, fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "request\t1732250000.123\tid-1\t4bf92f3577b34da6a3ce929d0e0e4736\t/qrcode\tGET\t200\t0.012\t\
        fallback\t10.0.0.9\t512\tunix:/run/qr.sock : 10.0.0.2:80\t502 : 200\t- : 0.001\t- : 0.011\t0.000 : 0.011";

    fn converted(lines: &str) -> String {
        let mut to = Vec::new();
        Lines::default().convert(lines.as_bytes(), &mut to);
        String::from_utf8(to).unwrap()
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
    fn other_lines_are_passed_on_as_they_are() {
        for line in [
            "",
            "request",
            "request\t",
            "{\"time\":\"2026\"}",
            "2026/11/24 10:00:00 [error] 7#7: *1 connect() failed",
            &LINE.replace("request\t", "requests\t"),
            &LINE.replace("0.012", "0,012"),
            &LINE.replace("0.012", "-"),
            &LINE.replace("1732250000.123", "now"),
            &LINE.replace("1732250000.123", "99999999999999999999.123"),
            &LINE.replace("1732250000.123", "253402300800.000"),
            &LINE.replace("\t200\t", "\t20\t"),
            &LINE.replace("\t512\t", "\t5\"2\t"),
            &format!("{LINE}\t"),
            LINE.rsplit_once('\t').unwrap().0,
        ] {
            assert_eq!(converted(&format!("{line}\n")), format!("{line}\n"));
        }
    }

    #[test]
    fn any_byte_changed_in_a_line_leaves_one_line() {
        for at in 0..LINE.len() {
            for byte in (0..=255).filter(|&byte| byte != b'\n') {
                let mut line = LINE.as_bytes().to_vec();
                line[at] = byte;
                let mut to = Vec::new();
                Lines::default().convert(&line, &mut to);
                let newlines = to.iter().filter(|&&byte| byte == b'\n').count();
                assert_eq!((newlines, to.last()), (1, Some(&b'\n')));
            }
        }
    }
}
