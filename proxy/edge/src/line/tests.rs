use super::*;

fn parse(line: &str) -> Option<Line<'_>> {
    Line::parse(line.as_bytes())
}

#[test]
fn fields_of_a_line_are_counted() {
    let line = "1732250000.123\tqrcode\tnew\tfallback\t200\t1.042\t5120\t10.0.0.1:80, 10.0.0.2:80 : [::1]:3000\tGET";
    let expected = Line {
        ended_ms: 1_732_250_000_123,
        route: b"qrcode",
        arm: Arm::New,
        side: ServedBy::Fallback,
        status: 200,
        duration_ms: 1042,
        sent_bytes: 5120,
        tries: Tries { was_asked: true, has_retry: true, had_no_live: false },
        has_timed_out: false,
        is_empty: false,
        declined: b"",
        connection: None,
        method: b"GET",
        path: b"",
        names: b"",
        media_type: b"",
        spelling: b"",
        server: b"[::1]:3000",
        is_cut: false,
        key: None,
    };
    assert_eq!(parse(line), Some(expected));
    let expected = Line { path: b"x", ..expected };
    assert_eq!(parse(&format!("{line}{}", "\tx".repeat(8))), Some(expected));
    let unchosen = format!("{line}{}\t", "\tx".repeat(9));
    assert_eq!(parse(&unchosen), Some(expected));
    let chosen = format!("{line}{}\tnew", "\tx".repeat(9));
    assert_eq!(parse(&chosen), Some(Line { arm: Arm::Chosen, ..expected }));
    let slow = format!("{line}{}\t504, 502 : 200{}\t0", "\tx".repeat(4), "\tx".repeat(3));
    assert_eq!(parse(&slow), Some(Line { has_timed_out: true, is_empty: true, ..expected }));
}

#[test]
fn fields_may_be_empty_or_a_dash() {
    for line in [
        "1732250000.000\t\t\t\t400\t0.000\t0\t\t",
        "1732250000.000\t-\t-\t-\t400\t0.000\t0\t-\t-",
        "1732250000.000\tnone\tnone\tnone\t400\t0.000\t0\t-\tGET",
    ] {
        let line = parse(line).unwrap();
        assert_eq!((line.route, line.arm, line.side), (NO_ROUTE, Arm::None, ServedBy::None));
    }
}

#[test]
fn malformed_lines_are_refused() {
    for line in [
        "",
        "\t\t\t\t\t\t\t\t",
        "garbage",
        "1732250000.123\tqrcode\tnew\tnew\t200\t0.001\t10\t200",
        "1732250000.123\tqrcode\tnew\tnew\t200\t0.001\t10\t10.0.0.1:80\tGET\tmore",
        "1732250000.123\tqrcode\tnew\tnew\t200\t0.001\t10\t10.0.0.1:80\tGET\t\t\t\t\t\t\t\t\t\t\t",
        "1732250000\tqrcode\tnew\tnew\t200\t0.001\t10\t10.0.0.1:80\tGET",
        "x732250000.123\tqrcode\tnew\tnew\t200\t0.001\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqr code\tnew\tnew\t200\t0.001\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqr\"code\tnew\tnew\t200\t0.001\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqrcode\tblue\tnew\t200\t0.001\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqrcode\tnew\tboth\t200\t0.001\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqrcode\tnew\tnew\t20\t0.001\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqrcode\tnew\tnew\t2x0\t0.001\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqrcode\tnew\tnew\t200\t-\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqrcode\tnew\tnew\t200\t-0.001\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqrcode\tnew\tnew\t200\t0,001\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqrcode\tnew\tnew\t200\t.001\t10\t10.0.0.1:80\tGET",
        "1732250000.123\tqrcode\tnew\tnew\t200\t0.001\t\t200\tGET",
        "1732250000.123\tqrcode\tnew\tnew\t200\t0.001\t99999999999999999999\t10.0.0.1:80\tGET",
        "1732250000.123\t\u{0}\tnew\tnew\t200\t0.001\t10\t10.0.0.1:80\tGET",
    ] {
        assert_eq!(parse(line), None, "{line:?}");
    }
    let long = format!("1.000\t{}\tnew\tnew\t200\t0.001\t1\t10.0.0.1:80\tGET", "a".repeat(65));
    assert_eq!(parse(&long), None);
}

#[test]
fn every_byte_cut_from_or_changed_in_a_line_is_parsed_without_a_panic() {
    let line = b"1732250000.123\tqrcode\tnew\tnew\t200\t0.001\t10\t10.0.0.1:80\tGET";
    for at in 0..line.len() {
        let _ = Line::parse(&line[..at]);
        let _ = Line::parse(&line[at..]);
        for byte in 0..=255 {
            let mut changed = line.to_vec();
            changed[at] = byte;
            let _ = Line::parse(&changed);
        }
    }
}

#[test]
fn an_error_that_no_upstream_gave_is_nginx_own() {
    for (status, upstream, side) in [
        (503, "-", ServedBy::None),
        (429, "", ServedBy::None),
        (500, "-", ServedBy::None),
        (502, "new", ServedBy::New),
        (504, "10.0.0.1:80", ServedBy::New),
        (503, "10.0.0.1:80", ServedBy::New),
        (499, "-", ServedBy::New),
        (200, "-", ServedBy::New),
        (404, "-", ServedBy::New),
    ] {
        let line = format!("1.000\tqrcode\tnew\tnew\t{status}\t0.001\t10\t{upstream}\tGET");
        assert_eq!(parse(&line).unwrap().side, side, "{line}");
    }
}

#[test]
fn tries_are_those_on_the_assigned_side() {
    for (field, was_asked, has_retry, had_no_live) in [
        ("-", false, false, false),
        ("", false, false, false),
        ("10.0.0.1:80", true, false, false),
        ("10.0.0.1:80, [::1]:80", true, true, false),
        ("unix:/run/a, unix:/run/b", true, true, false),
        ("10.0.0.1:80 : 10.0.0.2:80, 10.0.0.3:80", true, false, false),
        ("new", false, false, true),
        ("new : 10.0.0.2:80", false, false, true),
        ("10.0.0.1:80, new : 10.0.0.2:80", true, false, true),
        ("10.0.0.1:80, 10.0.0.2:80, new", true, true, true),
        ("10.0.0.1:80 : qrcode_fallback", true, false, false),
        ("502, 200", false, false, false), // $upstream_status, as in the first version's format
    ] {
        let expected = Tries { was_asked, has_retry, had_no_live };
        assert_eq!(Tries::parse(field.as_bytes()), expected, "{field}");
    }
}

#[test]
fn an_attempt_is_of_the_assigned_side() {
    for (arm_and_side, status, upstream, attempt) in [
        ("new\tnew", 200, "10.0.0.1:80", Attempt::Answered),
        ("new\tnew", 404, "10.0.0.1:80", Attempt::Answered),
        ("new\tnew", 500, "10.0.0.1:80", Attempt::Failed),
        ("new\tfallback", 200, "10.0.0.1:80 : 10.0.0.2:80", Attempt::Failed),
        ("old\tnone", 502, "10.0.0.1:80 : 10.0.0.2:80", Attempt::Failed),
        ("new\tfallback", 200, "qrcode_new : 10.0.0.2:80", Attempt::None),
        ("new\tnew", 499, "10.0.0.1:80", Attempt::None),
        ("new\tnew", 200, "-", Attempt::None), // from nginx' cache
    ] {
        let line = format!("1.000\tqrcode\t{arm_and_side}\t{status}\t0.001\t10\t{upstream}\tGET");
        assert_eq!(parse(&line).unwrap().attempt(), attempt, "{line}");
    }
}

#[test]
fn statuses_have_classes() {
    for (status, code) in [
        (0, "none"),
        (101, "none"),
        (200, "2xx"),
        (304, "3xx"),
        (404, "4xx"),
        (499, "aborted"),
        (500, "5xx"),
        (599, "5xx"),
        (600, "none"),
        (999, "none"),
    ] {
        assert_eq!(Code::of(status).into_str(), code);
    }
}
