//! The metrics of `edge`; the README has a table.
//!
//! For the routes that the setting names, every series exists from the start, because `rate` misses the first increment
//! of a new one. The series of other routes and arms appear once they have counted something.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeMetric, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use service_kit::metrics::{DURATION_BUCKETS, ProcessCollector, encode};
use strum::VariantArray;

use crate::counts::{Counts, Durations, Named, RouteCounts};
use crate::keys::EVENTS;
use crate::line::{Arm, Code, OWN_ERRORS, ServedBy};
use crate::loss::Connections;
use crate::position::Identity;
use crate::progress::{Done, FileProgress, Progress};

/// The arms of the routes that are split.
const SPLIT_ARMS: [Arm; 2] = [Arm::New, Arm::Old];

/// The sides that can answer a request of an arm.
fn sides(arm: Arm) -> &'static [ServedBy] {
    match arm {
        Arm::New => &[ServedBy::New, ServedBy::Fallback, ServedBy::Declined, ServedBy::None],
        Arm::Old => &[ServedBy::Old, ServedBy::Rescue, ServedBy::None],
        Arm::Chosen | Arm::None => &[ServedBy::Old],
    }
}

pub(crate) struct Metrics {
    registry: Registry,
    progress: Arc<Progress>,
}

impl Metrics {
    /// The metrics of `progress`, which is about the reader of `log`.
    pub(crate) fn new(log: PathBuf, progress: Arc<Progress>) -> Self {
        let mut registry = Registry::default();
        let edge = registry.sub_registry_with_prefix("edge");
        edge.register_collector(Box::new(Edge { log, progress: Arc::clone(&progress) }));
        let build = [("version", env!("CARGO_PKG_VERSION"))];
        edge.register("build", "Version of the program", Info::new(build));
        registry.register_collector(Box::new(ProcessCollector));
        Metrics { registry, progress }
    }

    /// All metrics in the OpenMetrics text format. Saves the counted lines as scraped.
    pub(crate) fn encode(&self) -> Result<String, fmt::Error> {
        let text = encode(&self.registry)?;
        // Ignores an error: the reader also saves at each poll, and logs errors.
        let _ = self.progress.save(false);
        Ok(text)
    }
}

#[derive(Debug)]
struct Edge {
    log: PathBuf,
    progress: Arc<Progress>,
}

impl Collector for Edge {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        let done = self.progress.scrape();
        encode_requests(encoder, &done.counts)?;
        encode_durations(encoder, &done.counts)?;
        let head = ("response", "Bytes sent to clients, heads and bodies", Some(&Unit::Bytes));
        encode_by_arm(encoder, head, &done.counts, |route, arm| route.response_bytes[arm])?;
        encode_own_errors(encoder, &done.counts)?;
        let help = "Requests for which a second server of the assigned side was asked";
        encode_by_arm(encoder, ("retries", help, None), &done.counts, |route, arm| {
            route.retries[arm]
        })?;
        let help = "Requests for which no server of the assigned side was left to ask";
        let head = ("no_live_upstreams", help, None);
        encode_by_arm(encoder, head, &done.counts, |route, arm| route.no_live_upstreams[arm])?;
        let head = ("timeouts", "Attempts at the assigned side that took too long", None);
        encode_by_arm(encoder, head, &done.counts, |route, arm| route.timeouts[arm])?;
        let head = ("empty_answers", "Answers of 2xx without a body, of the assigned side", None);
        encode_by_arm(encoder, head, &done.counts, |route, arm| route.empty[arm])?;
        let head = ("cut_answers", "Answers that the assigned side ended too soon", None);
        encode_by_arm(encoder, head, &done.counts, |route, arm| route.cut[arm])?;
        encode_keys(encoder, &done.counts)?;
        let help = "Requests that the new side declined and the old one answered, by reason";
        encode_named(encoder, ("declines", help, "reason"), &done.counts, |it| &it.declines)?;
        let help = "Requests whose method or spelling of the path is not the route's";
        encode_named(encoder, ("spellings", help, "spelling"), &done.counts, |it| &it.spellings)?;
        encode_classes(encoder, &done.counts)?;
        let head = ("outages", "Times that attempts failed five in a row", None);
        encode_by_arm(encoder, head, &done.counts, |route, arm| route.outages[arm].count)?;
        let help = "Time from the first of five failures in a row to an answer";
        let head = ("outage", help, Some(&Unit::Seconds));
        encode_by_arm(encoder, head, &done.counts, |route, arm| {
            route.outages[arm].ms as f64 / 1000.0
        })?;
        self.encode_reading(encoder, &done)?;
        self.encode_loss(encoder)
    }
}

impl Edge {
    fn encode_reading(&self, encoder: &mut DescriptorEncoder<'_>, done: &Done) -> fmt::Result {
        let counts = &done.counts;
        let lines = ConstCounter::new(counts.lines);
        encode_one(encoder, ("lines", "Lines read, malformed ones included", None), &lines)?;
        let malformed = ConstCounter::new(counts.malformed);
        encode_one(encoder, ("malformed_lines", "Lines that were not counted", None), &malformed)?;
        let restarts = ConstCounter::new(done.restarts_of_log);
        let help = "Times that the log was replaced, truncated or gone";
        encode_one(encoder, ("restarts_of_log", help, None), &restarts)?;
        let unread = ConstGauge::new(self.bytes_behind(done, |file| file.read).cast_signed());
        let help = "Bytes of the log that are not read yet";
        encode_one(encoder, ("unread", help, Some(&Unit::Bytes)), &unread)?;
        let unprinted = ConstGauge::new(self.bytes_behind(done, |file| file.printed).cast_signed());
        let help = "Bytes of the log that are not printed yet";
        encode_one(encoder, ("unprinted", help, Some(&Unit::Bytes)), &unprinted)?;
        let left_out = ConstCounter::new(done.left_out);
        let help = "Lines that were not printed, since nobody read them";
        encode_one(encoder, ("left_out_lines", help, None), &left_out)?;
        if let Some(last_ms) = counts.last_line_ms {
            let last = ConstGauge::new(last_ms as f64 / 1000.0);
            let help = "When the request of the last line ended, since 1970";
            encode_one(encoder, ("last_line_timestamp", help, Some(&Unit::Seconds)), &last)?;
        }
        Ok(())
    }

    /// The bytes of all files after `place`. Takes the log's length from the filesystem, so that a reader that hangs is
    /// noticed.
    fn bytes_behind(&self, done: &Done, place: impl Fn(&FileProgress) -> u64) -> u64 {
        let mut lengths: Vec<u64> = done.files.iter().map(|file| file.length).collect();
        if let (Ok(metadata), Some(file), Some(length)) =
            (self.log.metadata(), done.files.last(), lengths.last_mut())
        {
            if file.identity == Identity::of(&metadata) {
                *length = metadata.len();
            } else {
                *length += metadata.len(); // a new file that the reader has not opened
            }
        }
        let behind = done.files.iter().zip(lengths);
        behind.map(|(file, length)| length.saturating_sub(place(file))).sum()
    }

    fn encode_loss(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        if let Some((requests, connections)) = self.progress.nginx() {
            let requests = ConstCounter::new(requests);
            let help = "Requests that nginx has counted, absent while its status does not answer";
            encode_one(encoder, ("nginx_requests", help, None), &requests)?;
            let refused = ConstCounter::new(connections.refused);
            let help = "Connections that nginx closed for lack of room, absent likewise";
            encode_one(encoder, ("nginx_refused_connections", help, None), &refused)?;
            let help = "Open connections of clients by what nginx does with them, absent likewise";
            let kind = MetricType::Gauge;
            let mut family = encoder.encode_descriptor("nginx_connections", help, None, kind)?;
            let Connections { reading, writing, waiting, .. } = connections;
            for (state, open) in [("reading", reading), ("writing", writing), ("waiting", waiting)]
            {
                family.encode_family(&[("state", state)])?.encode_gauge(&open.cast_signed())?;
            }
        }
        let lost = ConstCounter::new(self.progress.lost());
        let help = "Requests that nginx counted and that never became a line, at least";
        encode_one(encoder, ("lost", help, None), &lost)
    }
}

fn encode_one(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, unit): (&str, &str, Option<&Unit>),
    metric: &impl EncodeMetric,
) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name, help, unit, metric.metric_type())?)
}

fn encode_requests(encoder: &mut DescriptorEncoder<'_>, counts: &Counts) -> fmt::Result {
    let help = "Requests of clients, by assigned side, answering side and status";
    let mut family = encoder.encode_descriptor("requests", help, None, MetricType::Counter)?;
    for route in &counts.routes {
        let sides_of = |&arm: &Arm| ServedBy::VARIANTS.iter().map(move |&side| (arm, side));
        for (arm, side) in Arm::VARIANTS.iter().flat_map(sides_of) {
            let by_code = &route.requests[arm as usize][side as usize];
            let is_expected = route.is_named && sides(arm).contains(&side);
            let has_series = is_expected || by_code.iter().any(|&count| count > 0);
            for (&code, &count) in Code::VARIANTS.iter().zip(by_code) {
                if count == 0 && (!has_series || code == Code::None) {
                    continue;
                }
                let labels = [
                    ("route", &*route.name),
                    ("arm", arm.into_str()),
                    ("side", side.into_str()),
                    ("code", code.into_str()),
                ];
                let mut series = family.encode_family(&labels)?;
                series.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
            }
        }
    }
    Ok(())
}

/// The arms that have series: both sides of each named route, and all arms with requests.
fn arms(counts: &Counts) -> impl Iterator<Item = (&RouteCounts, Arm, &Durations)> {
    counts.routes.iter().flat_map(|route| {
        Arm::VARIANTS.iter().zip(&route.durations).filter_map(move |(&arm, durations)| {
            let is_expected = route.is_named && SPLIT_ARMS.contains(&arm);
            let has_series = is_expected || durations.buckets.iter().any(|&count| count > 0);
            has_series.then_some((route, arm, durations))
        })
    })
}

fn encode_durations(encoder: &mut DescriptorEncoder<'_>, counts: &Counts) -> fmt::Result {
    let help = "Time from a request's first byte to its answer's last, as the client saw it";
    let unit = Some(&Unit::Seconds);
    let mut family = encoder.encode_descriptor("request", help, unit, MetricType::Histogram)?;
    for (route, arm, durations) in arms(counts) {
        let bounds = DURATION_BUCKETS.into_iter().chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(durations.buckets).collect();
        let (sum, count) = (durations.sum_ms as f64 / 1000.0, durations.buckets.iter().sum());
        let labels = [("route", &*route.name), ("arm", arm.into_str())];
        let mut series = family.encode_family(&labels)?;
        series.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
    }
    Ok(())
}

fn encode_by_arm<N: EncodeCounterValue>(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, unit): (&str, &str, Option<&Unit>),
    counts: &Counts,
    of: fn(&RouteCounts, usize) -> N,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, unit, MetricType::Counter)?;
    for (route, arm, _) in arms(counts) {
        let labels = [("route", &*route.name), ("arm", arm.into_str())];
        let count = of(route, arm as usize);
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
    }
    Ok(())
}

fn encode_keys(encoder: &mut DescriptorEncoder<'_>, counts: &Counts) -> fmt::Result {
    let head = ("keys", "Keys of the split that came for the first time", None);
    encode_by_arm(encoder, head, counts, |route, arm| route.keys.seen[arm])?;
    let head = ("moved_keys", "Keys of the split whose requests another side had before", None);
    encode_by_arm(encoder, head, counts, |route, arm| route.keys.moved[arm])?;
    let head = ("failed_keys", "Keys of the split that failed for the first time", None);
    encode_by_arm(encoder, head, counts, |route, arm| route.keys.failed[arm])?;
    let help = "Failed attempts with keys that the old side had failed most of the time";
    let head = ("known_failures", help, None);
    encode_by_arm(encoder, head, counts, |route, arm| route.keys.known_failures[arm])?;
    let help = "Keys of the split that got mostly this in three slots of 5 s in a row";
    let mut family = encoder.encode_descriptor("odd_keys", help, None, MetricType::Counter)?;
    for (route, arm, _) in arms(counts) {
        for (event, &count) in EVENTS.iter().zip(&route.keys.odd[arm as usize]) {
            let labels = [("route", &*route.name), ("arm", arm.into_str()), ("event", *event)];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
    }
    Ok(())
}

fn encode_named(
    encoder: &mut DescriptorEncoder<'_>,
    (name, help, label): (&str, &str, &str),
    counts: &Counts,
    of: fn(&RouteCounts) -> &Named,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for route in &counts.routes {
        for (name, &count) in &of(route).0 {
            let labels = [("route", &*route.name), (label, &**name)];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
    }
    Ok(())
}

fn encode_classes(encoder: &mut DescriptorEncoder<'_>, counts: &Counts) -> fmt::Result {
    let help = "Answers of the sides that are no failures, by method, status and media type";
    let mut family = encoder.encode_descriptor("classes", help, None, MetricType::Counter)?;
    for route in &counts.routes {
        for (class, count) in route.classes.all() {
            let labels = [("route", &*route.name), ("class", &*class)];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
    }
    Ok(())
}

fn encode_own_errors(encoder: &mut DescriptorEncoder<'_>, counts: &Counts) -> fmt::Result {
    let help = "Errors that nginx itself made, by status";
    let mut family = encoder.encode_descriptor("own_errors", help, None, MetricType::Counter)?;
    for (route, arm, _) in arms(counts) {
        for (status, &count) in OWN_ERRORS.iter().zip(&route.own_errors[arm as usize]) {
            let is_expected = route.is_named && SPLIT_ARMS.contains(&arm);
            if count == 0 && !is_expected {
                continue;
            }
            let status = status.to_string();
            let labels = [("route", &*route.name), ("arm", arm.into_str()), ("status", &status)];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
