use std::time::Duration;

use super::*;

fn series(end: &str, samples: &[(f64, f64)]) -> Series {
    let labels = BTreeMap::from([("end".to_owned(), end.to_owned())]);
    Series { labels, samples: samples.to_vec() }
}

#[test]
fn an_interval_ends_when_both_sides_were_scraped_late_enough() {
    let good = BTreeMap::from([("end".to_owned(), "whole".to_owned())]);
    let own = Own { new: "a".to_owned(), old: "b".to_owned(), good, lasts: Duration::ZERO };
    let mut sampler = OwnSampler::new(own);
    let new =
        [series("whole", &[(1.0, 100.0), (6.0, 130.0)]), series("cut", &[(1.0, 5.0), (6.0, 7.0)])];
    assert_eq!(sampler.count(&new, &[series("whole", &[(3.0, 10.0)])], false), None);
    // The old side has restarted.
    let old = [series("whole", &[(3.0, 10.0), (8.0, 4.0)])];
    let interval = sampler.count(&new, &old, false).unwrap();
    let counts = |requests, events| Counts { requests, events };
    assert_eq!((interval.own_new, interval.own_old), (counts(32.0, 2.0), counts(4.0, 0.0)));
    assert_eq!((interval.end, interval.seconds), (8.0, 7.0));
    assert_eq!(interval.new, Interval::default().new);
    // The same samples again count once.
    assert_eq!(sampler.count(&new, &old, false), None);
    let new = [series("whole", &[(11.0, 131.0)])];
    let old = [series("whole", &[(13.0, 9.0)])];
    let interval = sampler.count(&new, &old, false).unwrap();
    assert_eq!((interval.own_new, interval.own_old), (counts(1.0, 0.0), counts(5.0, 0.0)));
}
