//! Counts from Prometheus, scrape by scrape: raw samples, since `increase()` extrapolates, and a test needs
//! what was counted.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::bets::Counts;
use evidence::gates::Gates;
use evidence::trial::{Interval, SLOWER};

use crate::own::OwnSampler;
use crate::prometheus::{NoNumber, Prometheus, Series};

/// How far back each question goes. A Prometheus that was away for longer loses what came before.
const REACH: Duration = Duration::from_secs(120);

/// Follows the counters of a route.
#[derive(Debug)]
pub(crate) struct Sampler {
    query: String,
    /// The bucket of answers that are not slow.
    fast: f64,
    last: BTreeMap<String, (f64, f64)>,
    /// The last scrape of each instance.
    scraped: BTreeMap<String, f64>,
    own: Option<OwnSampler>,
}

impl Sampler {
    pub(crate) fn new(route: &str, gates: &Gates) -> Self {
        let names = "edge_requests_total|edge_request_seconds_(bucket|count)|shadow_pairs_total|\
                     shadow_(discordant|comparisons|noise)_total";
        let fast = gates.tests.iter().find_map(|test| test.above).unwrap_or(Duration::MAX);
        let own = gates.tests.iter().find_map(|test| test.own.clone());
        Sampler {
            query: format!("{{__name__=~\"{names}\",route=\"{route}\"}}"),
            fast: fast.as_secs_f64(),
            last: BTreeMap::new(),
            scraped: BTreeMap::new(),
            own: own.map(OwnSampler::new),
        }
    }

    /// The intervals since the last call; at the first, none: it remembers where the counters stand.
    pub(crate) fn take(&mut self, prometheus: &Prometheus) -> Result<Vec<Interval>, NoNumber> {
        let is_first = self.scraped.is_empty();
        let series = self.ask(prometheus, REACH)?;
        let mut intervals = self.count(&series);
        if is_first {
            intervals.clear();
        }
        let own = self.own(prometheus, REACH, is_first)?;
        intervals.extend(own.filter(|_| !is_first));
        Ok(intervals)
    }

    /// The intervals of the time just past.
    pub(crate) fn past(
        &mut self,
        prometheus: &Prometheus,
        window: Duration,
    ) -> Result<Vec<Interval>, NoNumber> {
        let series = self.ask(prometheus, window)?;
        let mut intervals = self.count(&series);
        intervals.extend(self.own(prometheus, window, true)?);
        Ok(intervals)
    }

    fn own(
        &mut self,
        prometheus: &Prometheus,
        reach: Duration,
        is_whole: bool,
    ) -> Result<Option<Interval>, NoNumber> {
        let Some(own) = &mut self.own else { return Ok(None) };
        own.take(prometheus, reach, is_whole)
    }

    fn ask(&self, prometheus: &Prometheus, reach: Duration) -> Result<Vec<Series>, NoNumber> {
        prometheus.samples(&format!("{}[{}ms]", self.query, reach.as_millis()))
    }

    /// The differences between samples, one interval for each scrape of each instance.
    fn count(&mut self, series: &[Series]) -> Vec<Interval> {
        let mut intervals: BTreeMap<(String, u64), Interval> = BTreeMap::new();
        let mut scraped = self.scraped.clone();
        for one in series {
            let instance = format!("{} {}", one.label("job"), one.label("instance"));
            let known = self.last.entry(one.name()).or_insert_with(|| {
                // A series that is new although its instance is known began at 0.
                match self.scraped.get(&instance) {
                    Some(time) => (*time, 0.0),
                    None => (f64::INFINITY, 0.0),
                }
            });
            for &(time, value) in &one.samples {
                if known.0.is_infinite() {
                    *known = (time, value);
                } else if time > known.0 {
                    // A counter that fell has started again from 0.
                    let more = if value >= known.1 { value - known.1 } else { value };
                    *known = (time, value);
                    let at = (instance.clone(), time.to_bits());
                    add(intervals.entry(at).or_default(), one, more, self.fast);
                }
                let latest = scraped.entry(instance.clone()).or_insert(time);
                *latest = latest.max(time);
            }
        }
        self.scraped = scraped;
        intervals.into_values().collect()
    }
}

fn add(interval: &mut Interval, series: &Series, more: f64, fast: f64) {
    let of_new = series.label("arm") == "new";
    let arm = match series.label("arm") {
        "new" => &mut interval.new,
        "old" => &mut interval.old,
        _ => &mut Default::default(), // of a series without an arm, or of neither
    };
    match series.label("__name__") {
        "edge_requests_total" => {
            arm.requests += more;
            let helped = if of_new { "fallback" } else { "rescue" };
            let (was_helped, is_5xx) =
                (series.label("side") == helped, series.label("code") == "5xx");
            if was_helped || is_5xx {
                arm.failures += more;
            }
            if was_helped && !is_5xx {
                arm.helped += more;
            }
        }
        // Slow are all but those in the bucket.
        "edge_request_seconds_count" => arm.slow += more,
        "edge_request_seconds_bucket" if series.label("le").parse() == Ok(fast) => arm.slow -= more,
        "shadow_pairs_total" => interval.pairs += more,
        "shadow_comparisons_total" => differing(&mut interval.compared, series, more),
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

/// Pairs that were judged, and those that differ.
fn differing(pairs: &mut Counts, series: &Series, more: f64) {
    let result = series.label("result");
    if ["match", "mismatch"].contains(&result) {
        let events = if result == "mismatch" { more } else { 0.0 };
        pairs.add(Counts { requests: more, events });
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn samples_become_counts_by_scrape() {
        let mut sampler = Sampler {
            query: String::new(),
            fast: 0.25,
            last: BTreeMap::new(),
            scraped: BTreeMap::new(),
            own: None,
        };
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
            // The service restarted between the third and the fourth scrape.
            requests("new", "new", "2xx", &[(1.0, 100.0), (2.0, 130.0), (3.0, 140.0), (4.0, 7.0)]),
            // New series: it was 0 at the scrapes before.
            requests("new", "fallback", "2xx", &[(3.0, 2.0), (4.0, 2.0)]),
            requests("old", "old", "5xx", &[(2.0, 1.0)]),
            bucket("0.25", &[(2.0, 3.0)]),
            bucket("+Inf", &[(2.0, 4.0)]),
            count,
        ]);
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].new.requests, found[0].new.failures), (30.0, 0.0));
        assert_eq!((found[0].old.requests, found[0].old.failures), (1.0, 1.0));
        assert_eq!(found[0].old.slow, 9.0 - 3.0);
        let new = found[1].new;
        assert_eq!((new.requests, new.failures, new.helped), (12.0, 2.0, 2.0));
        assert_eq!((found[2].new.requests, found[2].new.failures), (7.0, 0.0));
        // The same samples again are no news: a Prometheus that stands still proves nothing.
        assert_eq!(sampler.count(&[requests("new", "new", "2xx", &[(4.0, 7.0)])]), []);
    }
}
