//! Counts from Prometheus, scrape by scrape. It reads raw samples, since `increase()` extrapolates and a test needs
//! exact counts.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::bets::Counts;
use evidence::gates::Gates;
use evidence::interval::{CLASSES, Interval, SLOWER};
use evidence::keys::ODD;

use route::Counters;

use crate::own::OwnSampler;
use crate::prometheus::{Labels, NoNumber, Prometheus, Reach, Series};

/// How far back each query reaches. If Prometheus was unreachable for longer, earlier counts are lost.
const REACH: Duration = Duration::from_secs(120);
/// How much of the past one query of [`Sampler::between`] covers, in seconds.
const PART: f64 = 600.0;

/// Follows the counters of a route.
#[derive(Debug)]
pub(crate) struct Sampler {
    query: String,
    bounds: Bounds,
    last: BTreeMap<Labels, (f64, f64)>,
    /// The last scrape of each instance.
    scraped: BTreeMap<String, f64>,
    own: Option<OwnSampler>,
    counters: Option<Counters>,
}

/// The upper bounds of the latency buckets in use, in seconds.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Answers in this bucket are not slow.
    fast: f64,
    /// The bucket of answers that both sides' timeouts allow; `None` if the timeouts are equal.
    in_time: Option<f64>,
}

impl Sampler {
    pub(crate) fn new(route: &str, gates: &Gates) -> Self {
        let names = "edge_(requests|no_live_upstreams|timeouts|(empty|cut)_answers|outages|outage_seconds|\
                     ((moved|failed|odd)_)?keys|known_failures)_total|\
                     edge_request_seconds_(bucket|count)|shadow_(pairs|discordant|comparisons|noise|answers)_total";
        let fast = gates.tests.iter().find_map(|test| test.above).unwrap_or(Duration::MAX);
        let own = gates.tests.iter().find_map(|test| test.own.clone());
        Sampler {
            query: format!("{{__name__=~\"{names}\",route=\"{route}\"}}"),
            bounds: Bounds { fast: fast.as_secs_f64(), in_time: gates.equal_timeout },
            last: BTreeMap::new(),
            scraped: BTreeMap::new(),
            own: own.map(OwnSampler::new),
            counters: gates.counters.clone(),
        }
    }

    /// The intervals since the last call. The first call returns none; it only records the counters. Fails if
    /// Prometheus does not answer.
    pub(crate) fn take(&mut self, prometheus: &Prometheus) -> Result<Vec<Interval>, NoNumber> {
        let is_first = self.scraped.is_empty();
        let intervals = self.ask(prometheus, Reach::past(REACH), is_first)?;
        Ok(if is_first { Vec::new() } else { intervals })
    }

    /// The intervals of the last `window`. Fails if Prometheus does not answer.
    pub(crate) fn past(
        &mut self,
        prometheus: &Prometheus,
        window: Duration,
    ) -> Result<Vec<Interval>, NoNumber> {
        self.ask(prometheus, Reach::past(window), true)
    }

    /// The intervals between two times, in seconds since 1970, each with its share. Leaves out intervals in which the
    /// share changed. Fails if Prometheus does not answer.
    pub(crate) fn between(
        &mut self,
        prometheus: &Prometheus,
        route: &str,
        from: f64,
        to: f64,
    ) -> Result<Vec<Interval>, NoNumber> {
        let share = format!("ramp_share_percent{{route=\"{route}\"}}");
        let (mut intervals, mut shares) = (Vec::new(), Vec::new());
        let mut end = from;
        while end < to {
            let length = PART.min(to - end);
            end += length;
            let reach = Reach { length: Duration::from_secs_f64(length), end: Some(end) };
            intervals.extend(self.ask(prometheus, reach, false)?);
            let found = prometheus.samples(&share, reach)?;
            shares.extend(found.into_iter().flat_map(|series| series.samples));
        }
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(with_shares(intervals, &shares))
    }

    /// The intervals of a range that were not counted yet, in the order in which they ended. With `is_whole`, the
    /// interval of [`OwnSampler`] ends with the range.
    fn ask(
        &mut self,
        prometheus: &Prometheus,
        reach: Reach,
        is_whole: bool,
    ) -> Result<Vec<Interval>, NoNumber> {
        let mut series = prometheus.samples(&self.query, reach)?;
        if let Some(Counters { new, old, status }) = &self.counters {
            for (arm, selector) in [("new", new), ("old", old)] {
                let found = prometheus.samples(selector, reach)?;
                series.extend(found.into_iter().map(|one| as_of_edge(one, arm, status)));
            }
        }
        let mut intervals = self.count(&series);
        if let Some(own) = &mut self.own {
            intervals.extend(own.take(prometheus, reach, is_whole)?);
        }
        intervals.sort_by(|a, b| a.end.total_cmp(&b.end));
        Ok(intervals)
    }

    /// The differences between samples, as one interval for each scrape of each instance. Leaves out intervals in which
    /// a counter restarted from 0, since the counts before the restart are lost.
    fn count(&mut self, series: &[Series]) -> Vec<Interval> {
        let mut intervals: BTreeMap<(String, u64), Interval> = BTreeMap::new();
        let mut scraped = self.scraped.clone();
        let mut restarts = Vec::new();
        for one in series {
            let instance = format!("{} {}", one.label("job"), one.label("instance"));
            let known = self.last.entry(one.labels.clone()).or_insert_with(|| {
                // A new series of a known instance began at 0.
                match self.scraped.get(&instance) {
                    Some(time) => (*time, 0.0),
                    None => (f64::INFINITY, 0.0),
                }
            });
            for &(time, value) in &one.samples {
                if known.0.is_infinite() {
                    *known = (time, value);
                } else if time > known.0 {
                    let at = (instance.clone(), time.to_bits());
                    if value < known.1 {
                        restarts.push(at.clone());
                    }
                    let interval = intervals.entry(at).or_default();
                    (interval.end, interval.seconds) = (time, time - known.0);
                    add(interval, one, value - known.1, self.bounds);
                    *known = (time, value);
                }
                let latest = scraped.entry(instance.clone()).or_insert(time);
                *latest = latest.max(time);
            }
        }
        self.scraped = scraped;
        for at in &restarts {
            intervals.remove(at);
        }
        let proxies = self.scraped.keys().filter(|name| name.starts_with("edge ")).count().max(1);
        let counted = |interval| only_attempts(interval, proxies as f64);
        intervals.into_values().map(counted).collect()
    }
}

/// A gateway's counter of a side's requests as the edge has it: an answer of the side itself, by class of status.
fn as_of_edge(mut series: Series, arm: &str, status: &str) -> Series {
    let class = format!("{}xx", series.label(status).chars().next().unwrap_or('0'));
    let labels = [("__name__", "edge_requests_total"), ("arm", arm), ("side", arm)];
    let status = series.labels.remove(status).unwrap_or_default();
    let more = labels.into_iter().map(|(label, value)| (label.to_owned(), value.to_owned()));
    series.labels.extend(more);
    // Two statuses of a class remain two series.
    series.labels.extend([("code".to_owned(), class), ("status".to_owned(), status)]);
    series
}

/// Gives each interval the last share scraped before it ended. Drops intervals that overlap the time between two
/// scrapes with different shares, in which the share changed at some unknown time.
fn with_shares(intervals: Vec<Interval>, shares: &[(f64, f64)]) -> Vec<Interval> {
    let of = |interval: Interval| {
        let began = interval.end - interval.seconds;
        let is_moving = |pair: &&[(f64, f64)]| {
            pair[0].1 != pair[1].1 && began < pair[1].0 && interval.end > pair[0].0
        };
        if shares.windows(2).any(|pair| is_moving(&pair)) {
            return None;
        }
        let after = shares.partition_point(|(time, _)| *time <= interval.end);
        let share = shares.get(after.saturating_sub(1)).map_or(0.0, |(_, share)| *share);
        Some(Interval { share, ..interval })
    };
    intervals.into_iter().filter_map(of).collect()
}

/// Subtracts the requests that nginx refused from the failures. They end with a fallback or a 5xx like failures, but
/// were never sent to a server. Counts a key once, which each proxy may have counted.
fn only_attempts(mut interval: Interval, proxies: f64) -> Interval {
    for arm in [&mut interval.new, &mut interval.old] {
        arm.failures = (arm.failures - arm.refused).max(0.0);
        arm.helped = (arm.helped - arm.refused).clamp(0.0, arm.failures);
        arm.failed_keys /= proxies;
        arm.odd_keys = arm.odd_keys.map(|keys| keys / proxies);
    }
    interval
}

fn add(interval: &mut Interval, series: &Series, more: f64, bounds: Bounds) {
    let of_new = series.label("arm") == "new";
    let arm = match series.label("arm") {
        "new" => &mut interval.new,
        "old" => &mut interval.old,
        _ => &mut Default::default(), // a series without an arm
    };
    let is_bucket = |bound: f64| series.label("le").parse() == Ok(bound);
    match series.label("__name__") {
        "edge_requests_total" => {
            arm.requests += more;
            let helped = if of_new { "fallback" } else { "rescue" };
            let (was_helped, is_5xx) =
                (series.label("side") == helped, series.label("code") == "5xx");
            if series.label("side") == "declined" {
                arm.declined += more;
            } else if was_helped || is_5xx {
                arm.failures += more;
            }
            if was_helped && !is_5xx {
                arm.helped += more;
            }
            let class = CLASSES.iter().position(|class| *class == series.label("code"));
            if let Some(class) = class.filter(|_| series.label("side") == series.label("arm")) {
                arm.statuses[class] += more;
            }
        }
        "edge_no_live_upstreams_total" => arm.refused += more,
        "edge_empty_answers_total" => arm.empty += more,
        "edge_cut_answers_total" => arm.failures += more,
        "edge_keys_total" => arm.keys += more,
        "edge_moved_keys_total" => arm.moved_keys += more,
        "edge_failed_keys_total" => arm.failed_keys += more,
        "edge_known_failures_total" => arm.known += more,
        "edge_odd_keys_total" => {
            let event = ODD.iter().position(|event| *event == series.label("event"));
            arm.odd_keys[event.unwrap_or_default()] += more;
        }
        "edge_outages_total" => arm.outages += more,
        "edge_outage_seconds_total" => arm.out_seconds += more,
        // Slow answers are the count minus the bucket `fast`. If the sides' timeouts differ, the same is done for
        // failures by time, with the bucket `in_time` instead of each side's own timeouts.
        "edge_timeouts_total" if bounds.in_time.is_some() => arm.failures -= more,
        "edge_request_seconds_count" => {
            arm.slow += more;
            arm.failures += bounds.in_time.map_or(0.0, |_| more);
        }
        "edge_request_seconds_bucket" => {
            if is_bucket(bounds.fast) {
                arm.slow -= more;
            }
            if bounds.in_time.is_some_and(is_bucket) {
                arm.failures -= more;
            }
        }
        "shadow_pairs_total" => interval.pairs += more,
        "shadow_comparisons_total" => differing(&mut interval.compared, series, more),
        "shadow_answers_total" if series.label("side") == "old" => {
            let class = CLASSES.iter().position(|class| *class == series.label("class"));
            interval.shadow_statuses[class.unwrap_or(CLASSES.len())] += more;
        }
        "shadow_noise_total" => differing(&mut interval.noise, series, more),
        "shadow_discordant_total" => {
            let event = series.label("event");
            let alone = match SLOWER.iter().position(|name| *name == event) {
                Some(threshold) => &mut interval.slower[threshold],
                None if event == "failure" => &mut interval.failed,
                None => return,
            };
            match series.label("worse") {
                "new" => alone.new += more,
                _ => alone.old += more,
            }
        }
        _ => {}
    }
}

/// Adds judged pairs, with mismatches as events.
fn differing(pairs: &mut Counts, series: &Series, more: f64) {
    let result = series.label("result");
    if ["match", "mismatch"].contains(&result) {
        let events = if result == "mismatch" { more } else { 0.0 };
        pairs.add(Counts { requests: more, events });
    }
}

#[cfg(test)]
mod tests;
