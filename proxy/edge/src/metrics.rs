//! The metrics of `edge`; the README has a table.
//!
//! For the routes that the setting names, every series exists from the start, because `rate` misses the first increment
//! of a new one. The series of other routes and arms appear once they have counted something.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeLabelSet, EncodeMetric, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use service_kit::metrics::{DURATION_BUCKETS, ProcessCollector, encode};
use strum::{EnumCount, VariantArray};

use crate::counts::{Counts, Durations, RouteCounts};
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
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let done = self.progress.scrape();
        let mut families = Families { encoder, counts: &done.counts };
        families.requests()?;
        families.durations()?;
        let head = ("response", "Bytes sent to clients, heads and bodies", Some(&Unit::Bytes));
        families.by_arm(head, |it| it.response_bytes)?;
        families.own_errors()?;
        let help = "Requests for which a second server of the assigned side was asked";
        families.by_arm(("retries", help, None), |it| it.retries)?;
        let help = "Requests for which no server of the assigned side was left to ask";
        families.by_arm(("no_live_upstreams", help, None), |it| it.no_live_upstreams)?;
        let help = "Attempts at the assigned side that took too long";
        families.by_arm(("timeouts", help, None), |it| it.timeouts)?;
        let help = "Answers of 2xx without a body, of the assigned side";
        families.by_arm(("empty_answers", help, None), |it| it.empty)?;
        let help = "Answers that the assigned side ended too soon";
        families.by_arm(("cut_answers", help, None), |it| it.cut)?;
        families.keys()?;
        let help = "Requests that the new side declined and the old one answered, by reason";
        families.by_name(("declines", help, "reason"), |it| it.declines.0.clone())?;
        let help = "Requests whose method or spelling of the path is not the route's";
        families.by_name(("spellings", help, "spelling"), |it| it.spellings.0.clone())?;
        let help = "Answers of the sides that are no failures, by method, status and media type";
        families.by_name(("classes", help, "class"), |it| it.classes.all())?;
        let head = ("outages", "Times that attempts failed five in a row", None);
        families.by_arm(head, |it| it.outages.each_ref().map(|outages| outages.count))?;
        let help = "Time from the first of five failures in a row to an answer";
        families.by_arm(("outage", help, Some(&Unit::Seconds)), |it| {
            it.outages.each_ref().map(|outages| outages.ms as f64 / 1000.0)
        })?;
        self.encode_reading(&mut families, &done)?;
        self.encode_loss(&mut families)
    }
}

impl Edge {
    fn encode_reading(&self, families: &mut Families<'_, '_>, done: &Done) -> fmt::Result {
        let Counts { lines, malformed, last_line_ms, .. } = done.counts;
        families.count(("lines", "Lines read, malformed ones included", None), lines)?;
        families.count(("malformed_lines", "Lines that were not counted", None), malformed)?;
        let help = "Times that the log was replaced, truncated or gone";
        families.count(("restarts_of_log", help, None), done.restarts_of_log)?;
        let unread = ConstGauge::new(self.bytes_behind(done, |file| file.read).cast_signed());
        let help = "Bytes of the log that are not read yet";
        families.one(("unread", help, Some(&Unit::Bytes)), &unread)?;
        let unprinted = ConstGauge::new(self.bytes_behind(done, |file| file.printed).cast_signed());
        let help = "Bytes of the log that are not printed yet";
        families.one(("unprinted", help, Some(&Unit::Bytes)), &unprinted)?;
        let help = "Lines that were not printed, since nobody read them";
        families.count(("left_out_lines", help, None), done.left_out)?;
        if let Some(last_ms) = last_line_ms {
            let last = ConstGauge::new(last_ms as f64 / 1000.0);
            let help = "When the request of the last line ended, since 1970";
            families.one(("last_line_timestamp", help, Some(&Unit::Seconds)), &last)?;
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

    fn encode_loss(&self, families: &mut Families<'_, '_>) -> fmt::Result {
        if let Some((requests, connections)) = self.progress.nginx() {
            let help = "Requests that nginx has counted, absent while its status does not answer";
            families.count(("nginx_requests", help, None), requests)?;
            let Connections { refused, reading, writing, waiting } = connections;
            let help = "Connections that nginx closed for lack of room, absent likewise";
            families.count(("nginx_refused_connections", help, None), refused)?;
            let help = "Open connections of clients by what nginx does with them, absent likewise";
            let (encoder, kind) = (&mut families.encoder, MetricType::Gauge);
            let mut family = encoder.encode_descriptor("nginx_connections", help, None, kind)?;
            for (state, open) in [("reading", reading), ("writing", writing), ("waiting", waiting)]
            {
                family.encode_family(&[("state", state)])?.encode_gauge(&open.cast_signed())?;
            }
        }
        let help = "Requests that nginx counted and that never became a line, at least";
        families.count(("lost", help, None), self.progress.lost())
    }
}

/// The name of a family, its help and its unit.
type Head<'a> = (&'a str, &'a str, Option<&'a Unit>);

/// Encodes one family after the other.
struct Families<'e, 'c> {
    encoder: DescriptorEncoder<'e>,
    counts: &'c Counts,
}

fn labels(route: &RouteCounts, arm: Arm) -> [(&'static str, &str); 2] {
    [("route", &route.name), ("arm", arm.into_str())]
}

impl Families<'_, '_> {
    fn one(&mut self, (name, help, unit): Head<'_>, metric: &impl EncodeMetric) -> fmt::Result {
        metric.encode(self.encoder.encode_descriptor(name, help, unit, metric.metric_type())?)
    }

    fn count(&mut self, head: Head<'_>, count: u64) -> fmt::Result {
        self.one(head, &ConstCounter::new(count))
    }

    fn series<L: EncodeLabelSet>(
        &mut self,
        (name, help, unit): Head<'_>,
        series: impl Iterator<Item = (L, impl EncodeCounterValue)>,
    ) -> fmt::Result {
        let kind = MetricType::Counter;
        let mut family = self.encoder.encode_descriptor(name, help, unit, kind)?;
        for (labels, count) in series {
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
        }
        Ok(())
    }

    fn by_arm<N: EncodeCounterValue + Copy>(
        &mut self,
        head: Head<'_>,
        of: fn(&RouteCounts) -> [N; Arm::COUNT],
    ) -> fmt::Result {
        let count = |(route, arm, _)| (labels(route, arm), of(route)[arm as usize]);
        self.series(head, arms(self.counts).map(count))
    }

    /// By route and by a name that others choose.
    fn by_name<K: Into<String>>(
        &mut self,
        (name, help, label): (&str, &str, &'static str),
        of: fn(&RouteCounts) -> BTreeMap<K, u64>,
    ) -> fmt::Result {
        let all = self.counts.routes.iter().flat_map(|route| {
            let labels = |name: K| [("route", route.name.to_string()), (label, name.into())];
            of(route).into_iter().map(move |(name, count)| (labels(name), count))
        });
        self.series((name, help, None), all)
    }

    fn requests(&mut self) -> fmt::Result {
        let mut series = Vec::new();
        let all = |route| Arm::VARIANTS.iter().map(move |&arm| (route, arm));
        for (route, arm) in self.counts.routes.iter().flat_map(all) {
            for (&side, by_code) in ServedBy::VARIANTS.iter().zip(&route.requests[arm as usize]) {
                let is_expected = route.is_named && sides(arm).contains(&side);
                let has_series = is_expected || by_code.iter().any(|&count| count > 0);
                for (&code, &count) in Code::VARIANTS.iter().zip(by_code) {
                    if count > 0 || has_series && code != Code::None {
                        let of = [("side", side.into_str()), ("code", code.into_str())];
                        series.push(((labels(route, arm), of), count));
                    }
                }
            }
        }
        let help = "Requests of clients, by assigned side, answering side and status";
        self.series(("requests", help, None), series.into_iter())
    }

    fn durations(&mut self) -> fmt::Result {
        let help = "Time from a request's first byte to its answer's last, as the client saw it";
        let (unit, kind) = (Some(&Unit::Seconds), MetricType::Histogram);
        let mut family = self.encoder.encode_descriptor("request", help, unit, kind)?;
        for (route, arm, durations) in arms(self.counts) {
            let bounds = DURATION_BUCKETS.into_iter().chain([f64::INFINITY]);
            let buckets: Vec<(f64, u64)> = bounds.zip(durations.buckets).collect();
            let (sum, count) = (durations.sum_ms as f64 / 1000.0, durations.buckets.iter().sum());
            let labels = labels(route, arm);
            let mut series = family.encode_family(&labels)?;
            series.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }

    fn keys(&mut self) -> fmt::Result {
        let help = "Keys of the split that came for the first time";
        self.by_arm(("keys", help, None), |it| it.keys.seen)?;
        let help = "Keys of the split whose requests another side had before";
        self.by_arm(("moved_keys", help, None), |it| it.keys.moved)?;
        let help = "Keys of the split that failed for the first time";
        self.by_arm(("failed_keys", help, None), |it| it.keys.failed)?;
        let help = "Failed attempts with keys that the old side had failed most of the time";
        self.by_arm(("known_failures", help, None), |it| it.keys.known_failures)?;
        let odd = arms(self.counts).flat_map(|(route, arm, _)| {
            let counts = EVENTS.iter().zip(route.keys.odd[arm as usize]);
            counts.map(move |(event, count)| ((labels(route, arm), [("event", *event)]), count))
        });
        let help = "Keys of the split that got mostly this in three slots of 5 s in a row";
        self.series(("odd_keys", help, None), odd)
    }

    fn own_errors(&mut self) -> fmt::Result {
        let errors = arms(self.counts).flat_map(|(route, arm, _)| {
            let is_expected = route.is_named && SPLIT_ARMS.contains(&arm);
            let counts = OWN_ERRORS.iter().zip(route.own_errors[arm as usize]);
            let counts = counts.filter(move |(_, count)| *count > 0 || is_expected);
            counts.map(move |(status, count)| ((labels(route, arm), [("status", *status)]), count))
        });
        let help = "Errors that nginx itself made, by status";
        self.series(("own_errors", help, None), errors)
    }
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

#[cfg(test)]
mod tests;
