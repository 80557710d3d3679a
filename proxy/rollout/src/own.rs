//! Counts that the sides of a route export themselves: joins the counters of the new side and the old side, each from
//! its own scrapes, into intervals.

use std::collections::BTreeMap;

use evidence::bets::Counts;
use evidence::gates::Own;
use evidence::interval::Interval;

use crate::prometheus::{Labels, NoNumber, Prometheus, Reach, Series};

/// The shortest interval, in seconds. The sides are scraped at different times, so an interval ends once both were
/// scraped this long after it began.
const SPAN: f64 = 5.0;

/// Follows the counters.
#[derive(Debug)]
pub(crate) struct OwnSampler {
    own: Own,
    new: SideCounters,
    old: SideCounters,
}

#[derive(Debug, Default)]
struct SideCounters {
    last: BTreeMap<Labels, (f64, f64)>,
    counted: Counts,
    began: Option<f64>,
    scraped: f64,
}

impl OwnSampler {
    pub(crate) fn new(own: Own) -> Self {
        OwnSampler { own, new: SideCounters::default(), old: SideCounters::default() }
    }

    /// The counts since the last call that returned some; `None` until an interval is complete. With `is_whole`, the
    /// interval ends now. Fails if Prometheus does not answer.
    pub(crate) fn take(
        &mut self,
        prometheus: &Prometheus,
        reach: Reach,
        is_whole: bool,
    ) -> Result<Option<Interval>, NoNumber> {
        let ask = |selector: &str| prometheus.samples(selector, reach);
        let (new, old) = (ask(&self.own.new)?, ask(&self.own.old)?);
        Ok(self.count(&new, &old, is_whole))
    }

    fn count(&mut self, new: &[Series], old: &[Series], is_whole: bool) -> Option<Interval> {
        let good = &self.own.good;
        self.new.add(new, good);
        self.old.add(old, good);
        if !(is_whole || self.new.has_spanned() && self.old.has_spanned()) {
            return None;
        }
        let began = [&self.new, &self.old].map(|side| side.began.unwrap_or(side.scraped));
        let (began, end) = (began[0].min(began[1]), self.new.scraped.max(self.old.scraped));
        let (own_new, own_old) = (self.new.take(), self.old.take());
        Some(Interval { end, seconds: end - began, own_new, own_old, ..Interval::default() })
    }
}

impl SideCounters {
    fn add(&mut self, series: &[Series], good: &BTreeMap<String, String>) {
        for one in series {
            let is_good = good.iter().all(|(label, value)| one.label(label) == value);
            let known = self.last.entry(one.labels.clone()).or_insert((f64::INFINITY, 0.0));
            for &(time, value) in &one.samples {
                // The first sample only sets the starting point.
                let more = match *known {
                    (last, _) if last.is_infinite() => 0.0,
                    (last, _) if time <= last => continue,
                    // A counter that fell has restarted from 0.
                    (_, before) if value < before => value,
                    (_, before) => value - before,
                };
                *known = (time, value);
                let events = if is_good { 0.0 } else { more };
                self.counted.add(Counts { requests: more, events });
                self.began.get_or_insert(time);
                self.scraped = self.scraped.max(time);
            }
        }
    }

    fn has_spanned(&self) -> bool {
        self.began.is_some_and(|began| self.scraped - began >= SPAN)
    }

    fn take(&mut self) -> Counts {
        self.began = self.began.map(|_| self.scraped);
        std::mem::take(&mut self.counted)
    }
}

#[cfg(test)]
mod tests;
