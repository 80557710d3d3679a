use super::*;

fn series(labels: &[(&str, &str)], samples: &[(f64, f64)]) -> Series {
    let all = labels.iter().chain(&[("job", "edge"), ("instance", "a")]);
    let labels = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Series { labels, samples: samples.to_vec() }
}

fn requests(arm: &str, side: &str, code: &str, samples: &[(f64, f64)]) -> Series {
    let name = ("__name__", "edge_requests_total");
    series(&[name, ("arm", arm), ("side", side), ("code", code)], samples)
}

fn sampler() -> Sampler {
    Sampler {
        query: String::new(),
        bounds: Bounds { fast: 0.25, in_time: None },
        last: BTreeMap::new(),
        scraped: BTreeMap::new(),
        own: None,
        counters: None,
    }
}

#[test]
fn samples_become_counts_by_scrape() {
    let mut sampler = sampler();
    assert_eq!(sampler.count(&[requests("new", "new", "2xx", &[(1.0, 100.0)])]), []);
    let bucket = |le: &str, samples: &[(f64, f64)]| {
        let name = ("__name__", "edge_request_seconds_bucket");
        series(&[name, ("arm", "old"), ("le", le)], samples)
    };
    let count = series(
        &[("__name__", "edge_request_seconds_count"), ("arm", "old")],
        &[(1.0, 5.0), (2.0, 9.0)],
    );
    let found = sampler.count(&[
        // The service restarted between the fourth and the fifth scrape.
        requests(
            "new",
            "new",
            "2xx",
            &[(1.0, 100.0), (2.0, 130.0), (3.0, 140.0), (4.0, 150.0), (5.0, 7.0)],
        ),
        // New series: it was 0 at the scrapes before.
        requests("new", "fallback", "2xx", &[(3.0, 2.0), (4.0, 5.0)]),
        // nginx refused two of the second fallbacks' requests before it sent them to a server.
        series(
            &[("__name__", "edge_no_live_upstreams_total"), ("arm", "new")],
            &[(1.0, 0.0), (3.0, 0.0), (4.0, 2.0)],
        ),
        requests("old", "old", "5xx", &[(2.0, 1.0)]),
        // Requests of clients that chose their side do not count.
        requests("chosen", "new", "5xx", &[(2.0, 50.0)]),
        bucket("0.25", &[(2.0, 3.0)]),
        bucket("+Inf", &[(2.0, 4.0)]),
        count,
    ]);
    assert_eq!(found.len(), 3);
    assert_eq!((found[0].new.requests, found[0].new.failures), (30.0, 0.0));
    assert_eq!((found[0].old.requests, found[0].old.failures), (1.0, 1.0));
    assert_eq!(found[0].old.slow, 9.0 - 3.0);
    assert_eq!((found[0].end, found[0].seconds), (2.0, 1.0));
    assert_eq!((found[0].new.statuses, found[0].old.statuses), ([30.0, 0.0, 0.0], [0.0; 3]));
    let new = found[1].new;
    assert_eq!((new.requests, new.failures, new.helped), (12.0, 2.0, 2.0));
    let new = found[2].new;
    assert_eq!((new.requests, new.refused, new.failures, new.helped), (13.0, 2.0, 1.0, 1.0));
    // The same samples again count once: a Prometheus that no longer scrapes adds no evidence.
    assert_eq!(sampler.count(&[requests("new", "new", "2xx", &[(5.0, 7.0)])]), []);
}

#[test]
fn with_different_timeouts_what_is_too_slow_for_one_side_fails_on_both() {
    let bounds = Bounds { fast: 0.25, in_time: Some(1.0) };
    let mut interval = Interval::default();
    let mut count = |name: &str, arm: &str, le: &str, more: f64| {
        let labels = [("__name__", name), ("arm", arm), ("le", le), ("side", arm), ("code", "5xx")];
        add(&mut interval, &series(&labels, &[]), more, bounds);
    };
    // Two of 100 answers take longer than a second. On the new side both time out, on the old side only one.
    for (arm, failed) in [("new", 2.0), ("old", 1.0)] {
        count("edge_requests_total", arm, "", failed);
        count("edge_timeouts_total", arm, "", failed);
        count("edge_request_seconds_count", arm, "", 100.0);
        count("edge_request_seconds_bucket", arm, "1", 98.0);
    }
    assert_eq!((interval.new.failures, interval.old.failures), (2.0, 2.0));
}

#[test]
fn a_gateways_counters_count_as_the_edges() {
    let found = |status: &str, samples: &[(f64, f64)]| {
        let labels = [("__name__", "gateway_requests_total"), ("code", status)];
        as_of_edge(series(&labels, samples), "new", "code")
    };
    let mut sampler = sampler();
    let scrapes = [(1.0, 10.0), (2.0, 13.0)];
    let all = ["200", "204", "302", "503"].map(|status| found(status, &scrapes));
    let new = sampler.count(&all)[0].new;
    assert_eq!((new.requests, new.failures, new.statuses), (12.0, 3.0, [6.0, 3.0, 0.0]));
}
