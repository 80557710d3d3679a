use super::*;
use crate::line::Tries;

const LINE: &str = "1732250000.123\tqrcode\tnew\tnew\t200\t0.003\t10\t10.0.0.1:80\tGET\n";

fn counts() -> Counts {
    Counts::new(&["qrcode".to_owned()])
}

fn take(counts: &mut Counts, bytes: impl AsRef<[u8]>) -> usize {
    counts.take(bytes.as_ref(), &mut false)
}

#[test]
fn a_line_counts_once_its_newline_is_there() {
    for cut in 0..LINE.len() {
        let mut counts = counts();
        assert_eq!(take(&mut counts, &LINE[..cut]), 0);
        assert_eq!(counts.lines, 0);
        let whole = format!("{LINE}{}", &LINE[..cut]);
        assert_eq!(take(&mut counts, whole), LINE.len());
        assert_eq!((counts.lines, counts.malformed), (1, 0));
    }
}

#[test]
fn a_line_counts_for_its_route_arm_side_and_code() {
    let mut counts = counts();
    take(&mut counts, LINE.repeat(3));
    let route = &counts.routes[0];
    let place = (Arm::New as usize, ServedBy::New as usize, Code::Success as usize);
    assert_eq!(route.requests[place.0][place.1][place.2], 3);
    assert_eq!(route.requests.as_flattened().as_flattened().iter().sum::<u64>(), 3);
    assert_eq!((route.response_bytes[0], route.durations[0].sum_ms), (30, 9));
    assert_eq!(counts.last_line_ms, Some(1_732_250_000_123));
}

#[test]
fn each_counter_of_a_route_counts_its_own_lines() {
    let fine = Line::parse(LINE.trim_end().as_bytes()).unwrap();
    let tried = |has_retry, had_no_live| Line {
        tries: Tries { has_retry, had_no_live, ..fine.tries },
        ..fine
    };
    let fallback = Line { side: ServedBy::Fallback, ..fine };
    let (slow, empty) = (Line { has_timed_out: true, ..fine }, Line { is_empty: true, ..fine });
    let cut = Line { is_cut: true, ..fine };
    for (line, expected) in [
        (fine, [0; 5]),
        (tried(true, false), [2, 0, 0, 0, 0]),
        (tried(false, true), [0, 2, 0, 0, 0]),
        (slow, [0; 5]),
        (Line { status: 504, ..fine }, [0; 5]),
        (Line { status: 504, ..slow }, [0, 0, 2, 0, 0]),
        (empty, [0, 0, 0, 2, 0]),
        (Line { status: 304, ..empty }, [0; 5]),
        (Line { is_empty: true, ..fallback }, [0; 5]),
        (cut, [0, 0, 0, 0, 2]),
        (Line { status: 502, ..cut }, [0; 5]),
        (Line { is_cut: true, ..fallback }, [0; 5]),
    ] {
        let mut counts = RouteCounts::new("qrcode", true);
        counts.count(&line);
        counts.count(&line);
        let RouteCounts { retries, no_live_upstreams, timeouts, empty, cut, .. } = counts;
        let all = [retries, no_live_upstreams, timeouts, empty, cut];
        assert_eq!(all.map(|by_arm| by_arm[Arm::New as usize]), expected, "{line:?}");
    }
}

#[test]
fn a_duration_counts_in_the_first_bucket_that_is_not_below_it() {
    for (duration_ms, bound) in [
        (0, Some(0.00005)),
        (1, Some(0.001)),
        (2, Some(0.0025)),
        (3, Some(0.005)),
        (5, Some(0.005)),
        (6, Some(0.01)),
        (25, Some(0.025)),
        (26, Some(0.05)),
        (2500, Some(2.5)),
        (2501, None),
        (u64::MAX, None),
    ] {
        let mut durations = Durations::default();
        durations.observe(duration_ms);
        let bucket = durations.buckets.iter().position(|&count| count == 1).unwrap();
        assert_eq!(DURATION_BUCKETS.get(bucket).copied(), bound, "{duration_ms}");
    }
}

#[test]
fn own_errors_are_those_of_no_side() {
    let mut counts = counts();
    let line = |side: &str, status: u16, upstream: &str| {
        format!("1.000\tqrcode\told\t{side}\t{status}\t0.001\t10\t{upstream}\tGET\n")
    };
    take(&mut counts, line("", 503, "-"));
    take(&mut counts, line("none", 429, "-"));
    take(&mut counts, line("old", 504, "-"));
    take(&mut counts, line("old", 502, "10.0.0.1:80"));
    take(&mut counts, line("", 404, "-"));
    assert_eq!(counts.routes[0].own_errors[Arm::Old as usize], [1, 0, 0, 1, 1]);
}

#[test]
fn malformed_lines_count_and_are_skipped() {
    let mut counts = counts();
    let bytes = format!("garbage\n{LINE}\n\u{0}\u{0}\n{LINE}");
    assert_eq!(take(&mut counts, &bytes), bytes.len());
    assert_eq!((counts.lines, counts.malformed), (5, 3));
}

#[test]
fn a_line_that_never_ends_counts_once_and_is_dropped() {
    let (mut counts, mut is_in_long_line) = (counts(), false);
    let part = vec![b'x'; 5000];
    for _ in 0..10 {
        assert_eq!(counts.take(&part, &mut is_in_long_line), part.len());
    }
    assert_eq!((counts.lines, counts.malformed), (1, 1));
    let end = format!("rest\n{LINE}");
    assert_eq!(counts.take(end.as_bytes(), &mut is_in_long_line), end.len());
    assert_eq!((counts.lines, counts.malformed, is_in_long_line), (2, 1, false));
}

#[test]
fn routes_beyond_the_bound_share_one_label() {
    let mut counts = counts();
    for i in 0..200 {
        take(&mut counts, LINE.replace("qrcode", &format!("route-{i}")));
    }
    assert_eq!(counts.routes.len(), 1 + MAX_ROUTES + 1, "qrcode is named");
    let overflow = counts.routes.last().unwrap();
    assert_eq!(&*overflow.name, OVERFLOW);
    assert_eq!(overflow.durations[0].buckets.iter().sum::<u64>(), 200 - 64);
    take(&mut counts, LINE);
    assert_eq!(counts.routes[0].response_bytes[0], 10);
    let named: Vec<String> = (0..100).map(|i| format!("route-{i}")).collect();
    let mut counts = Counts::new(&named);
    for i in 0..100 {
        take(&mut counts, LINE.replace("qrcode", &format!("route-{i}")));
    }
    take(&mut counts, LINE);
    assert_eq!(counts.routes.len(), 101, "each named one, and qrcode");
}
