use super::*;

fn block(new: (f64, f64), old: (f64, f64)) -> Block {
    let counts = |(requests, events)| Counts { requests, events };
    Block::new(Unit::Events, counts(new), counts(old))
}

fn after(blocks: usize, one: Block, above: f64) -> f64 {
    let mut wealth = Wealth::default();
    (0..blocks).for_each(|_| wealth.bet(Wealth::of_worse(one, above)));
    wealth.log()
}

/// The mean of g over every x and y, for two binomials.
fn mean(n: u32, m: u32, rates: (f64, f64), g: impl Fn(Block) -> (f64, f64)) -> f64 {
    let choose = |n: u32, k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
    let chance = |n: u32, x: u32, p: f64| {
        choose(n, x) * p.powf(f64::from(x)) * (1.0 - p).powf(f64::from(n - x))
    };
    let mut mean = 0.0;
    for (x, y) in (0..=n).flat_map(|x| (0..=m).map(move |y| (x, y))) {
        let one = block((f64::from(n), f64::from(x)), (f64::from(m), f64::from(y)));
        let (gain, floor) = g(one);
        mean += chance(n, x, rates.0) * chance(m, y, rates.1) * gain.max(-floor);
    }
    mean
}

#[test]
fn a_bet_is_fair() {
    for (n, m) in [(3, 30), (10, 10), (30, 3)] {
        for p in [0.01, 0.1, 0.5] {
            let equal = mean(n, m, (p, p), |one| one.worse(0.0));
            assert!(equal.abs() < 1e-9, "{n} {m} {p}: {equal}");
            let margin = mean(n, m, (p + 0.05, p), |one| one.worse(0.05));
            assert!(margin < if p < 0.5 { 0.0 } else { 1e-3 }, "{n} {m} {p}: {margin}");
            let better = mean(n, m, (p + 0.05, p), |one| one.better(0.05));
            // Not exactly 0, since x beyond a + 2 max(1, a) does not count.
            assert!(better < 0.02, "{n} {m} {p}: {better}");
        }
    }
}

#[test]
fn equal_sides_lose_and_worse_ones_win() {
    let equal = after(100, block((100.0, 2.0), (100.0, 2.0)), 0.001);
    let worse = after(100, block((100.0, 4.0), (100.0, 2.0)), 0.001);
    let better = after(100, block((100.0, 1.0), (100.0, 2.0)), 0.001);
    assert!(better < equal && equal < 0.0 && worse > 1000_f64.ln(), "{better} {equal} {worse}");
    // An incident of both sides; an old side without events; and an old side without requests.
    assert!(after(1, block((10.0, 5.0), (990.0, 495.0)), 0.0).abs() < 1e-9);
    assert!(after(9, block((50.0, 1.0), (950.0, 0.0)), 0.001) > 1000_f64.ln());
    assert!(!block((1000.0, 900.0), (0.0, 0.0)).compares());
}

#[test]
fn a_bunch_weighs_as_much_as_one_failure() {
    let one = after(1, block((100.0, 1.0), (300.0, 0.0)), 0.0);
    assert!((after(1, block((100.0, 60.0), (300.0, 0.0)), 0.0) - one).abs() < 1e-9);
}

#[test]
fn a_band_narrows_around_the_difference() {
    let (mut band, mut width) = (Band::new(0.001), f64::INFINITY);
    for blocks in 1..=400 {
        band.add(block((1000.0, 8.0), (1000.0, 3.0)));
        if blocks % 100 == 0 {
            let (Some(lower), Some(upper)) = band.ends(0.005, 0.001, 0.05) else {
                panic!("no ends")
            };
            assert!(lower < 0.005 && 0.005 < upper && upper - lower < width, "{lower} {upper}");
            width = upper - lower;
        }
    }
    assert!(width < 0.008, "{width}");
}
