//! A histogram as plain data, so that each thread can have its own and a scrape can sum them.
//!
//! The library's own are behind locks that all threads take, and cannot be summed. Its encoders are used.

use std::fmt;
use std::time::SystemTime;

use prometheus_client::encoding::{
    EncodeMetric, MetricEncoder, NativeHistogram, NativeHistogramBuckets, NoLabelSet,
};
use prometheus_client::metrics::MetricType;

/// The most classic buckets, the one without a bound included.
pub const MAX_BUCKETS: usize = 16;
/// The native buckets of a [`Distribution`] that has them: from a nanosecond to 1024 seconds. What is beyond
/// is counted in the first or the last.
pub const NATIVE: usize = (LAST - FIRST + 1) as usize;
const FIRST: i32 = -30 * PER_DOUBLING;
const LAST: i32 = 10 * PER_DOUBLING;

/// Native buckets to a doubling: each is less than a tenth wider than the one before.
const PER_DOUBLING: i32 = 8;
/// 2^SCHEMA is [`PER_DOUBLING`].
const SCHEMA: i32 = 3;
/// The least schema that Prometheus has.
const LEAST_SCHEMA: i32 = -4;
/// More native buckets are merged, by two, for a scrape: these keep a histogram below 2 kB.
const MAX_NATIVE: usize = 160;
/// Observations up to 2^-128 are zero, as the libraries have it.
const ZERO: f64 = 2.938_735_877_055_719e-39;
/// Upper bounds of the buckets between 1/2 and 1: 2^(i/8 - 1).
const BOUNDS: [f64; 8] = [
    0.5,
    0.545_253_866_332_628_8,
    0.594_603_557_501_360_5,
    0.648_419_777_325_504_8,
    0.707_106_781_186_547_5,
    0.771_105_412_703_970_4,
    0.840_896_415_253_714_4,
    0.917_004_043_204_671_1,
];

/// Observations in classic buckets and, if `N` is [`NATIVE`], in native ones; `N` is 0 otherwise.
#[derive(Clone, Debug)]
pub struct Distribution<const N: usize> {
    bounds: &'static [f64],
    sum: f64,
    count: u64,
    classic: [u64; MAX_BUCKETS],
    zeros: u64,
    native: [u64; N],
    created: SystemTime,
}

impl<const N: usize> Distribution<N> {
    /// None yet; `bounds` are those of the classic buckets, [`MAX_BUCKETS`] - 1 at most, in order.
    pub fn new(bounds: &'static [f64]) -> Self {
        debug_assert!(bounds.len() < MAX_BUCKETS && (N == 0 || N == NATIVE));
        Distribution {
            bounds,
            sum: 0.0,
            count: 0,
            classic: [0; MAX_BUCKETS],
            zeros: 0,
            native: [0; N],
            created: SystemTime::now(),
        }
    }

    /// Adds an observation, which must not be negative; returns the index of its classic bucket.
    pub fn observe(&mut self, value: f64) -> usize {
        self.sum += value;
        self.count += 1;
        let bucket = self.bounds.iter().take_while(|&&bound| bound < value).count();
        self.classic[bucket] += 1;
        if N == 0 {
        } else if value <= ZERO {
            self.zeros += 1;
        } else {
            self.native[(native_index(value).clamp(FIRST, LAST) - FIRST) as usize] += 1;
        }
        bucket
    }

    /// Adds the observations of another thread.
    pub fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.count += other.count;
        self.zeros += other.zeros;
        self.created = self.created.min(other.created);
        let classic = self.classic.iter_mut().zip(&other.classic);
        classic.chain(self.native.iter_mut().zip(&other.native)).for_each(|(own, it)| *own += it);
    }

    /// How many observations there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many classic buckets there are, the one without a bound included.
    pub fn buckets(&self) -> usize {
        self.bounds.len() + 1
    }
}

impl<const N: usize> EncodeMetric for Distribution<N> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        let classic: Vec<(f64, u64)> = bounds.zip(self.classic).collect();
        if N == 0 {
            return encoder.encode_histogram::<NoLabelSet>(self.sum, self.count, &classic, None);
        }
        let (schema, buckets) = few_enough((FIRST..).zip(self.native));
        let (spans, deltas) = spans(&buckets)?;
        let native = NativeHistogram {
            schema,
            zero_threshold: ZERO,
            zero_count: self.zeros,
            negative: NativeHistogramBuckets { spans: &[], deltas: &[] },
            positive: NativeHistogramBuckets { spans: &spans, deltas: &deltas },
            created: Some(self.created),
        };
        let (sum, count) = (self.sum, self.count);
        encoder.encode_histogram_with_native::<NoLabelSet>(sum, count, &classic, None, native)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// The native bucket of a positive number: bucket i reaches from 2^((i-1)/8), exclusive, to 2^(i/8).
/// Prometheus' specification of native histograms, "Standard schemas".
fn native_index(value: f64) -> i32 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = value.to_bits();
    // As fraction * 2^exponent with a fraction in [1/2, 1). Numbers without an exponent are below `FIRST`.
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1022;
    let fraction = f64::from_bits(bits & MANTISSA | 1022 << 52);
    let above = BOUNDS.iter().take_while(|&&bound| bound < fraction).count();
    above as i32 + (exponent - 1) * PER_DOUBLING
}

/// The buckets that are not empty, merged by two until they are few enough, and their schema.
fn few_enough(all: impl Iterator<Item = (i32, u64)>) -> (i32, Vec<(i32, u64)>) {
    let (mut schema, mut buckets) = (SCHEMA, Vec::new());
    buckets.extend(all.filter(|&(_, count)| count > 0));
    while buckets.len() > MAX_NATIVE && schema > LEAST_SCHEMA {
        schema -= 1;
        let mut merged: Vec<(i32, u64)> = Vec::with_capacity(buckets.len());
        for (index, count) in buckets {
            // Upper bounds belong to their buckets, so 2i - 1 and 2i become i.
            let index = (index + 1).div_euclid(2);
            match merged.last_mut() {
                Some((last, sum)) if *last == index => *sum += count,
                _ => merged.push((index, count)),
            }
        }
        buckets = merged;
    }
    (schema, buckets)
}

/// Runs of native buckets, and the differences of their counts; see [`spans`].
type Spans = (Vec<(i32, u32)>, Vec<i64>);

/// Runs of buckets as (distance from the run before, length), and each count less the one before it. Up to two
/// empty buckets do not end a run: two zeros take less than a new run.
fn spans(buckets: &[(i32, u64)]) -> Result<Spans, fmt::Error> {
    const SHORT: i32 = 2;
    let (mut spans, mut counts): Spans = (Vec::new(), Vec::new());
    let mut next = 0;
    for &(index, count) in buckets {
        let gap = index - next;
        match spans.last_mut() {
            Some((_, length)) if gap <= SHORT => {
                counts.extend((0..gap).map(|_| 0));
                *length += gap.unsigned_abs() + 1;
            }
            _ => spans.push((gap, 1)),
        }
        counts.push(count.try_into().map_err(|_| fmt::Error)?);
        next = index + 1;
    }
    let before = std::iter::once(0).chain(counts.iter().copied());
    let deltas = counts.iter().zip(before).map(|(count, before)| count - before).collect();
    Ok((spans, deltas))
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::prometheus_protobuf::encode;
    use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model::Histogram;
    use prometheus_client::registry::{Metric, Registry};

    use super::*;
    use crate::DURATION_BUCKETS;

    /// As Prometheus gets it.
    fn scraped(metric: impl Metric) -> Histogram {
        let mut registry = Registry::default();
        registry.register("a", "a", metric);
        let mut histogram = encode(&registry).unwrap()[0].metric[0].histogram.clone().unwrap();
        histogram.start_timestamp = None;
        histogram
    }

    /// The sum of two threads' observations, and the library's histogram of all.
    fn both(values: impl Iterator<Item = f64>) -> (Histogram, Histogram) {
        let library = super::super::metrics::histogram(DURATION_BUCKETS);
        let mut threads = [(); 2].map(|()| Distribution::<NATIVE>::new(&DURATION_BUCKETS));
        for (at, value) in values.enumerate() {
            library.observe(value);
            threads[at % 2].observe(value);
        }
        let [mut sum, other] = threads;
        sum.add(&other);
        let (mut own, mut library) = (scraped(sum), scraped(library));
        // Added in another order.
        let take = std::mem::take::<f64>;
        let (a, b) = (take(&mut own.sample_sum), take(&mut library.sample_sum));
        assert!((a - b).abs() <= a.abs() * 1e-9, "{a} {b}");
        (own, library)
    }

    #[test]
    fn the_sum_of_threads_is_what_the_library_makes_of_all() {
        let some = [0.0, 1e-9, 0.00005, 0.000_050_1, 0.5, 1.0, 1.0, 2.0, 3.0, 1000.0];
        let (own, library) = both(some.into_iter());
        assert_eq!(own, library);
        // Bounds belong to the bucket below.
        let bounds = (-200..80).step_by(3).map(|i| 2f64.powf(f64::from(i) / 8.0));
        let (own, library) = both(bounds);
        assert_eq!(own, library);
        let (own, library) = both(std::iter::empty());
        assert_eq!(own, library);
    }

    #[test]
    fn random_observations_are_counted_as_by_the_library() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        // Within 160 buckets, and beyond, where buckets are merged.
        for octaves in [6.0, 38.0] {
            let values = (0..20_000).map(|_| 2f64.powf(9.0 - octaves * random()));
            let (own, library) = both(values);
            assert_eq!(own, library, "{octaves}");
            assert!(own.positive_delta.len() > 40, "{}", own.positive_delta.len());
        }
    }

    #[test]
    fn without_native_buckets_it_is_classic() {
        let mut sizes = Distribution::<0>::new(&DURATION_BUCKETS);
        assert_eq!((sizes.observe(0.0), sizes.observe(0.00005), sizes.observe(9.0)), (0, 0, 15));
        let library = prometheus_client::metrics::histogram::Histogram::new(DURATION_BUCKETS);
        [0.0, 0.00005, 9.0].into_iter().for_each(|value| library.observe(value));
        assert_eq!(scraped(sizes), scraped(library));
    }
}
