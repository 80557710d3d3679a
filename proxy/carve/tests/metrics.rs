//! Compares the metrics of the parts with the table in dashboards/README.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use carve::local::{Share, Stack};
use service_kit::testing::repository;

use crate::support::prometheus::Prometheus;
use crate::support::{get, holds_within, ramp_once, sources, start};

const LONG: Duration = Duration::from_secs(30);

type Labels = BTreeSet<String>;
/// Metrics with their labels, without `le` and `quantile`.
type Exposed = BTreeMap<String, Labels>;

#[test]
fn the_metrics_are_those_of_the_table_with_equal_buckets_and_ids_beside_durations() {
    let stack = start(|it| {
        (it.wanted.share, it.wanted.mirror) = (Some(Share::percent(40).unwrap()), Some(Share::ALL));
    });
    for side in ["new", "old"] {
        let headers = [("X-Route-Arm", side), ("X-Request-Id", "an-exemplar")];
        let answer = get(&format!("{}/qrcode?text=a", stack.url()), &headers);
        assert_eq!(answer.status, 200);
    }
    // ramp's gates have numbers after two scrapes.
    let prometheus = prometheus_of(&stack);
    let scraped = || !prometheus.query("increase(qr_fallback_requests_total[1m])", None).is_empty();
    assert!(holds_within(LONG, scraped), "legacy-node is not scraped");
    ramp_once(&stack);
    let scrapes: BTreeMap<&str, String> =
        sources(&stack).into_iter().map(|(source, url)| (source, get(&url, &[]).text())).collect();
    let table = table();
    for (source, text) in &scrapes {
        compare(source, &table, &exposed(text));
    }
    let buckets = |source, metric| buckets(&scrapes[source], metric);
    let durations = buckets("qr-service", "http_request_duration_seconds");
    assert_eq!((durations.len(), durations[0], durations[14]), (16, 0.00005, 2.5));
    assert_eq!(buckets("legacy-node", "http_request_duration_seconds"), durations);
    assert_eq!(buckets("shadow", "shadow_response_seconds"), durations);
    assert_eq!(buckets("edge", "edge_request_seconds"), durations);
    assert_eq!(buckets("qr-service", "qr_generate_seconds"), durations);
    assert_eq!(buckets("legacy-node", "qr_generate_seconds"), durations);
    let sizes = buckets("qr-service", "qr_png_bytes");
    assert_eq!(buckets("legacy-node", "qr_png_bytes"), sizes);
    assert_eq!(buckets("shadow", "shadow_response_bytes"), sizes);

    prometheus_has_the_id_beside_the_duration(&prometheus);
}

/// The table's rows: metric, labels and sources.
fn table() -> Vec<(String, Labels, Vec<String>)> {
    let readme = fs::read_to_string(repository().join("dashboards/README.md")).unwrap();
    let (_, table) = readme.split_once("| metric | labels | from |\n").unwrap();
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let words = |cell: &str| -> Vec<String> {
        let words = cell
            .split(';')
            .next()
            .unwrap()
            .split(',')
            .map(|word| word.trim().trim_matches('`').to_owned());
        words.filter(|word| !word.is_empty()).collect()
    };
    let mut found = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').collect();
        for metric in words(cells[1]) {
            found.push((metric, words(cells[2]).into_iter().collect(), words(cells[3])));
        }
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

/// Checks that the table has every metric of the source with its labels, and no others.
fn compare(source: &str, table: &[(String, Labels, Vec<String>)], exposed: &Exposed) {
    let rows: Vec<_> =
        table.iter().filter(|(_, _, from)| from.iter().any(|f| f == source)).collect();
    let has = |row: &str, metric: &str| match row.strip_suffix('*') {
        Some(start) => metric.starts_with(start),
        None => metric == row,
    };
    for (metric, labels) in exposed {
        let row = rows.iter().find(|(row, _, _)| has(row, metric));
        let (row, listed, _) = row.unwrap_or_else(|| panic!("{source}: {metric} is not listed"));
        assert!(row.ends_with('*') || labels == listed, "{source}: {metric} has {labels:?}");
    }
    // The band of a test comes with its first block of time, which this run of two seconds does not reach, and
    // reasons to decline, classes and spellings with the first request of theirs.
    let bands = [
        "ramp_gate_lower",
        "ramp_gate_upper",
        "edge_declines_total",
        "edge_classes_total",
        "edge_spellings_total",
        "shadow_classes_total",
    ];
    for (row, _, _) in rows.iter().filter(|(row, _, _)| !bands.contains(&row.as_str())) {
        assert!(exposed.keys().any(|metric| has(row, metric)), "{source}: no {row}");
    }
}

fn exposed(text: &str) -> Exposed {
    let mut found = Exposed::new();
    let distributions: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .filter(|(_, kind)| matches!(*kind, "histogram" | "summary"))
        .map(|(name, _)| name)
        .collect();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let name = line.split(['{', ' ']).next().unwrap();
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let base = base.filter(|base| distributions.contains(base)).unwrap_or(name);
        let labels = found.entry(base.to_owned()).or_default();
        labels
            .extend(label_names(line).filter(|label| !matches!(label.as_str(), "le" | "quantile")));
    }
    found
}

/// The label names in a sample's braces. Every second part between quotes is a value.
fn label_names(line: &str) -> impl Iterator<Item = String> {
    let braces = line.split(" # ").next().unwrap().split_once('{').map_or("", |(_, rest)| rest);
    let names = braces.split('"').step_by(2).filter_map(|part| part.strip_suffix('='));
    names.map(|name| name.trim_start_matches(',').to_owned()).collect::<Vec<_>>().into_iter()
}

fn buckets(text: &str, metric: &str) -> Vec<f64> {
    let start = format!("{metric}_bucket{{");
    let bounds = text
        .lines()
        .filter(|line| line.starts_with(&start))
        .filter_map(|line| line.split_once("le=\"")?.1.split_once('"')?.0.parse::<f64>().ok());
    let mut bounds: Vec<f64> = bounds.collect();
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    assert!(!bounds.is_empty(), "{metric} has no buckets");
    bounds
}

fn prometheus_of(stack: &Stack) -> Prometheus {
    Prometheus(format!("http://{}/prometheus", stack.settings().addresses.prometheus))
}

fn prometheus_has_the_id_beside_the_duration(prometheus: &Prometheus) {
    let query = "http_request_duration_seconds_bucket{job='qr-service',route='/qrcode'}";
    let form = [("query", query.to_owned()), ("start", "0".to_owned()), ("end", far().to_owned())];
    let has = || prometheus.post("query_exemplars", &form).to_string().contains("an-exemplar");
    assert!(holds_within(LONG, has), "no exemplar");
}

/// A time after every sample of a test.
fn far() -> &'static str {
    "9999999999"
}
