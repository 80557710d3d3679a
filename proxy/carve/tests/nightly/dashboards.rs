//! Sends every query of the screens to a real Prometheus while both sides serve.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use carve::local::{Key, Share, Stack, http};
use serde_json::Value;
use service_kit::testing::repository;

use crate::support::prometheus::Prometheus;
use crate::support::{EndsLoad, client, get, holds_within, ramp_once, sources, start};

/// The files of the screens. Their queries are the values named `expr`, at any depth.
const SCREENS: [&str; 2] =
    ["dashboards/grafana/old-against-new.json", "dashboards/live/queries.json"];
/// Rates over a minute need a minute of load; the first results of the rules need a little more.
const LOAD: Duration = Duration::from_secs(80);
/// Limits for one scrape.
const MOST_BYTES: usize = 50_000;
const MOST_SERIES: f64 = 500.0;

#[test]
fn every_query_of_every_screen_has_data_and_the_ratios_are_those_of_the_raw_scrapes() {
    let stack = start(|it| {
        (it.wanted.share, it.wanted.mirror) = (Some(Share::percent(40).unwrap()), Some(Share::ALL));
        it.wanted.key = Some(Key::Request);
    });
    let prometheus =
        Prometheus(format!("http://{}/prometheus", stack.settings().addresses.prometheus));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for user in 0..4 {
            let (over, stack) = (&over, &stack);
            scope.spawn(move || ask_steadily(stack, user, over));
        }
        let _ends_load = EndsLoad(&over);
        let began = Instant::now();
        assert!(holds_within(LOAD + LOAD, || began.elapsed() > LOAD && has_ratios(&prometheus)));
        // A scrape that is stored late is among the raw samples, but the rule did not see it.
        let mut last = Ok(());
        let agrees = holds_within(Duration::from_secs(30), || {
            last = the_ratios_are_those_of_the_raw_scrapes(&prometheus);
            last.is_ok()
        });
        assert!(agrees, "{last:?}");
        ramp_once(&stack);
        every_query_has_data(&prometheus);
        every_scrape_is_small(&stack, &prometheus);
    });
}

/// Sends ten requests per second with different texts, which the split distributes to both sides.
fn ask_steadily(stack: &Stack, user: usize, over: &AtomicBool) {
    let client = client();
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let url = format!("{}/qrcode?text=https://example.com/{user}/{number}", stack.url());
        // nginx may close a connection as it reloads. Here a lost request does not matter.
        let _ = http::get(&client, &url, &[]);
        thread::sleep(Duration::from_millis(100));
    }
}

fn has_ratios(prometheus: &Prometheus) -> bool {
    prometheus.query("{__name__=~'route:old_over_new:.+',route='qrcode'}", None).len() == 6
}

fn every_query_has_data(prometheus: &Prometheus) {
    let of_a_side = |query: String| ["old", "new"].map(|side| query.replace("$side", side));
    let mut queries: Vec<String> =
        SCREENS.iter().flat_map(|screen| queries_of(screen)).flat_map(of_a_side).collect();
    queries.dedup();
    assert!(queries.len() > 60, "{}", queries.len());
    // Replaces Grafana's variables by all their values.
    for query in &mut queries {
        *query = query.replace("$__rate_interval", "1m").replace("$job", ".+");
        *query = query.replace("$instance", ".+");
        let of_sessions = query.contains("session") || query.contains("stranded");
        let route = if of_sessions { "relay" } else { "qrcode" };
        *query = query.replace("$route", route).replace("$detailed", route);
        *query = query.replace("$sessions", route);
    }
    let all_have = holds_within(Duration::from_secs(60), || {
        queries.retain(|query| prometheus.query(query, None).is_empty());
        queries.is_empty()
    });
    assert!(all_have, "no data: {queries:#?}");
}

/// Limits the size of each scrape. The times depend on the machine, so they are only printed.
fn every_scrape_is_small(stack: &Stack, prometheus: &Prometheus) {
    for (job, url) in sources(stack) {
        let number = |query: &str| prometheus.query(query, None)[0].1[0].1;
        let bytes = get(&url, &[]).body.len();
        let series = number(&format!("max(scrape_samples_scraped{{job='{job}'}})"));
        let taken = format!("scrape_duration_seconds{{job='{job}'}}[1m]");
        let median_ms = 1e3 * number(&format!("quantile_over_time(0.5, {taken})"));
        let most_ms = 1e3 * number(&format!("max_over_time({taken})"));
        println!("{job}: {series} series, {bytes} bytes, {median_ms:.1} ms, {most_ms:.1} at most");
        let is_small = bytes < MOST_BYTES && series < MOST_SERIES;
        assert!(is_small, "{job}: {bytes} bytes, {series} series");
    }
}

fn queries_of(screen: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join(screen)).unwrap();
    let mut found = Vec::new();
    collect(&serde_json::from_str(&text).unwrap(), &mut found);
    assert!(!found.is_empty(), "{screen}");
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("expr").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| collect(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

/// Computes the recorded ratios again from the raw samples, without Prometheus' functions.
fn the_ratios_are_those_of_the_raw_scrapes(prometheus: &Prometheus) -> Result<(), String> {
    let recorded = |name: &str| {
        let found =
            prometheus.query(&format!("route:old_over_new:{name}{{route='qrcode'}}[30s]"), None);
        *found[0].1.last().unwrap()
    };
    let resident = |job, at| {
        let metric = format!("process_resident_memory_bytes{{job='{job}'}}");
        prometheus.query(&metric, Some(at)).iter().map(|(_, samples)| samples[0].1).sum::<f64>()
    };
    let window = |metric: String, at| Window(prometheus.query(&format!("{metric}[1m]"), Some(at)));
    let cpu = |job, at| {
        window(format!("process_cpu_seconds_total{{job='{job}'}}"), at).slope()
            / window(format!("http_requests_total{{job='{job}'}}"), at).slope()
    };
    let seen = |metric, side, at| {
        window(format!("shadow_response_{metric}{{route='qrcode',side='{side}'}}"), at)
    };
    let bytes = |of, at| seen("bytes_sum", of, at).slope() / seen("bytes_count", of, at).slope();

    let (at, memory) = recorded("memory");
    agree("memory", memory, resident("legacy-node", at) / resident("qr-service", at))?;
    let (at, by_cpu) = recorded("cpu");
    agree("cpu", by_cpu, cpu("legacy-node", at) / cpu("qr-service", at))?;
    let (at, by_bytes) = recorded("bytes");
    agree("bytes", by_bytes, bytes("old", at) / bytes("new", at))?;
    for (name, share) in [("latency_p50", 0.5), ("latency_p90", 0.9), ("latency_p99", 0.99)] {
        let (at, latency) = recorded(name);
        let quantile = |of| seen("seconds_bucket", of, at).quantile(share);
        agree(name, latency, quantile("old") / quantile("new"))?;
    }
    Ok(())
}

fn agree(what: &str, recorded: f64, raw: f64) -> Result<(), String> {
    println!("{what}: {recorded:.3} recorded, {raw:.3} from raw scrapes");
    match (recorded / raw - 1.0).abs() < 0.05 {
        true => Ok(()),
        false => Err(format!("{what}: {recorded} is not {raw}")),
    }
}

/// The samples of one minute.
struct Window(Vec<crate::support::prometheus::Series>);

impl Window {
    /// The growth per second of all series together. Nothing restarts here, so counters only grow.
    fn slope(&self) -> f64 {
        self.0.iter().map(|(_, samples)| slope(samples)).sum()
    }

    /// The quantile by linear interpolation within the bucket, as Prometheus computes it.
    fn quantile(&self, share: f64) -> f64 {
        let bound = |labels: &Value| labels["le"].as_str().unwrap().parse::<f64>().unwrap();
        let mut buckets: Vec<(f64, f64)> =
            self.0.iter().map(|(labels, samples)| (bound(labels), slope(samples))).collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rank = share * buckets.last().unwrap().1;
        let mut below = (0.0, 0.0);
        for (bound, count) in buckets {
            if count >= rank {
                return below.0 + (bound - below.0) * (rank - below.1) / (count - below.1);
            }
            below = (bound, count);
        }
        f64::NAN
    }
}

fn slope(samples: &[(f64, f64)]) -> f64 {
    let ((from, first), (to, last)) = (samples[0], samples[samples.len() - 1]);
    (last - first) / (to - from)
}
