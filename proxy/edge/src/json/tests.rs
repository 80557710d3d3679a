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
