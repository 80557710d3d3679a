use super::*;
use crate::interval::Arm;

fn after(new: f64, old: f64, share: f64) -> SampleRatio {
    let arm = |requests, keys| Arm { requests, keys, ..Arm::default() };
    let interval =
        Interval { share, new: arm(new, 1.0), old: arm(old, 1.0), ..Interval::default() };
    let mut ratio = SampleRatio::default();
    ratio.add(&interval, Assignment::ByRequest);
    ratio
}

#[test]
fn a_mixture_of_chances_is_worth_one_coin_on_average() {
    for share in [5.0_f64, 50.0] {
        let (n, p) = (60_u32, share / 100.0);
        let choose = |k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
        let chance = |k: u32| choose(k) * p.powf(f64::from(k)) * (1.0 - p).powf(f64::from(n - k));
        let e = |k: u32| after(f64::from(k), f64::from(n - k), share).log().exp();
        let mean: f64 = (0..=n).map(|k| chance(k) * e(k)).sum();
        assert!((mean - 1.0).abs() < 1e-9, "{share}: {mean}");
    }
}

#[test]
fn a_share_that_chance_does_not_explain_voids_the_counts() {
    for (new, old, share, is_void) in [
        (500.0, 9500.0, 5.0, false),
        (560.0, 9440.0, 5.0, false),
        (700.0, 9300.0, 5.0, true),
        (300.0, 9700.0, 5.0, true),
        (5000.0, 5000.0, 25.0, true),
        (3.0, 0.0, 5.0, false),
        // Certain, but too small a difference to matter.
        (20_080_000.0, 19_920_000.0, 50.25, false),
        // At these shares there is no split.
        (10.0, 1000.0, 0.0, false),
        (1000.0, 10.0, 100.0, false),
    ] {
        assert_eq!(after(new, old, share).is_void(0.001, 4), is_void, "{new} {old} {share}");
    }
}

/// In how many of 1,000 ramps of four steps of ten minutes, at 100 requests a second, the counts are void at any time.
/// `kept` is the part of the old side's lines that are counted.
fn void_ramps(kept: f64) -> usize {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut normal = move || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
    let mut count = |n: f64, p: f64| (n * p + (n * p * (1.0 - p)).sqrt() * normal()).round();
    let mut is_void = |share: f64| {
        let mut ratio = SampleRatio::default();
        (0..120).any(|_| {
            let new = count(500.0, share / 100.0);
            let old = count(500.0 - new, kept.min(1.0 - 1e-9));
            let arm = |requests| Arm { requests, ..Arm::default() };
            let block = Interval { share, new: arm(new), old: arm(old), ..Interval::default() };
            ratio.add(&block, Assignment::ByRequest);
            ratio.is_void(0.001, 4)
        })
    };
    (0..1000).filter(|_| [5.0, 25.0, 50.0, 75.0].into_iter().any(&mut is_void)).count()
}

#[test]
fn no_equal_ramp_is_held_and_one_that_loses_a_tenth_of_a_sides_lines_is() {
    assert_eq!((void_ramps(1.0), void_ramps(0.9)), (0, 1000));
}
