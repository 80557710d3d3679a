use super::*;
use crate::position::offset_files;

fn metrics(routes: &[&str], lines: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let routes: Vec<String> = routes.iter().map(ToString::to_string).collect();
    let log = folder.path().join("edge.log");
    let progress = Arc::new(Progress::new(&routes, offset_files(&log), 1 << 20));
    progress.done().counts.take(lines.as_bytes(), &mut false);
    Metrics::new(log, progress).encode().unwrap()
}

#[test]
fn the_series_of_named_routes_exist_from_the_start() {
    let text = metrics(&["qrcode", "prices"], "");
    for route in ["qrcode", "prices"] {
        for (arm, sides) in
            [("new", ["new", "fallback", "none"]), ("old", ["old", "rescue", "none"])]
        {
            let labels = format!("route=\"{route}\",arm=\"{arm}\"");
            for side in sides {
                for code in ["2xx", "3xx", "4xx", "5xx", "aborted"] {
                    let series = format!("{labels},side=\"{side}\",code=\"{code}\"}} 0\n");
                    assert!(text.contains(&format!("edge_requests_total{{{series}")), "{text}");
                }
            }
            for status in OWN_ERRORS {
                let series = format!("edge_own_errors_total{{{labels},status=\"{status}\"}} 0\n");
                assert!(text.contains(&series), "{text}");
            }
            for name in [
                "response_bytes",
                "retries",
                "no_live_upstreams",
                "timeouts",
                "empty_answers",
                "cut_answers",
                "keys",
                "moved_keys",
                "failed_keys",
                "known_failures",
                "outages",
            ] {
                assert!(text.contains(&format!("edge_{name}_total{{{labels}}} 0\n")));
            }
            assert!(text.contains(&format!("edge_request_seconds_count{{{labels}}} 0\n")));
        }
    }
    assert_eq!(text.matches("edge_requests_total{").count(), 90); // and those of arms to which nothing was assigned
    for name in [
        "lines_total",
        "malformed_lines_total",
        "restarts_of_log_total",
        "lost_total",
        "left_out_lines_total",
        "unread_bytes",
        "unprinted_bytes",
    ] {
        assert!(text.contains(&format!("\nedge_{name} 0\n")), "{text}");
    }
    assert!(text.contains("edge_build_info{version="));
    assert!(text.contains("process_resident_memory_bytes") && text.ends_with("# EOF\n"));
    assert!(!text.contains("edge_nginx_requests_total ") && !text.contains("timestamp_seconds "));
}

#[test]
fn a_line_is_in_each_of_its_series() {
    let line = "1732250000.123\tqrcode\tnew\tfallback\t200\t0.030\t512\t10.0.0.1:80, new : 10.0.0.2:80\tGET\n";
    let own = "1732250001.500\tother\t\t\t503\t0.000\t100\t-\tGET\n";
    let text = metrics(&["qrcode"], &format!("{line}{own}"));
    for series in [
        "requests_total{route=\"qrcode\",arm=\"new\",side=\"fallback\",code=\"2xx\"} 1",
        "requests_total{route=\"other\",arm=\"none\",side=\"none\",code=\"5xx\"} 1",
        "requests_total{route=\"other\",arm=\"none\",side=\"none\",code=\"2xx\"} 0",
        "request_seconds_sum{route=\"qrcode\",arm=\"new\"} 0.03",
        "request_seconds_count{route=\"qrcode\",arm=\"new\"} 1",
        "request_seconds_bucket{le=\"0.025\",route=\"qrcode\",arm=\"new\"} 0",
        "request_seconds_bucket{le=\"0.05\",route=\"qrcode\",arm=\"new\"} 1",
        "request_seconds_bucket{le=\"+Inf\",route=\"qrcode\",arm=\"new\"} 1",
        "response_bytes_total{route=\"qrcode\",arm=\"new\"} 512",
        "retries_total{route=\"qrcode\",arm=\"new\"} 0",
        "no_live_upstreams_total{route=\"qrcode\",arm=\"new\"} 1",
        "outage_seconds_total{route=\"qrcode\",arm=\"new\"} 0.0",
        "own_errors_total{route=\"other\",arm=\"none\",status=\"503\"} 1",
        "lines_total 2",
        "malformed_lines_total 0",
        "last_line_timestamp_seconds 1732250001.5",
    ] {
        assert!(text.contains(&format!("\nedge_{series}\n")), "{series}\n{text}");
    }
    assert!(!text.contains("code=\"none\""), "{text}");
}

#[test]
fn a_class_has_what_shapes_a_request_and_its_answer() {
    let line = |names: &str, status: u16| {
        format!(
            "1732250000.123\tqrcode\tnew\tnew\t{status}\t0.030\t512\t10.0.0.1:80\tGET\ti\t\t/a/*/*\t::1\t{status}\t0\t0\t0\t9\t\t\t7\t{names}\timage/png\t\n"
        )
    };
    let lines = [("text,a,,,,+cookie", 200), ("a,text,a,,,+cookie", 200), (",,,,,", 404)];
    let lines: String = lines.into_iter().map(|(names, status)| line(names, status)).collect();
    let text = metrics(&["qrcode"], &(lines + &line("", 304)));
    for (class, count) in
        [("GET /a/*/* +cookie ?a ?text 200 image/png", 2), ("GET /a/*/* 404 image/png", 1)]
    {
        let series = format!("edge_classes_total{{route=\"qrcode\",class=\"{class}\"}} {count}\n");
        assert!(text.contains(&series), "{series}{text}");
    }
    assert_eq!(text.matches("edge_classes_total{").count(), 2);
}
