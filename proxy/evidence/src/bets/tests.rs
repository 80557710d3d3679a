use super::*;

fn block(new: (f64, f64), old: (f64, f64)) -> Block {
    let counts = |(requests, events)| Counts { requests, events };
    Block::new(Unit::Events, counts(new), counts(old))
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// The numbers g of the module's head, and their bounds.
#[test]
fn each_unit_bets_on_its_own_number() {
    use Unit::{Events, Limit, Time};
    // 3 of 20 beside 1 of 60, so t = 1/4 and k = 4; half of the requests became attempts.
    let usual = ((20.0, 3.0), (60.0, 1.0), 0.5, 1.0);
    for (unit, (new, old, attempted, least), above, worse, better) in [
        (Events, usual, 0.0, (0.25, 0.25), (1.0 / 3.0 - 3.0, 2.0)),
        (Events, usual, 0.02, (0.85 / 4.0, 0.4), (22.0 / 30.0 - 3.0, 2.0)),
        (Events, usual, 0.1, (0.25 / 4.0, 1.0), (-2.0 / 7.0, 2.0)),
        (Events, usual, -0.02, (9.2 / 10.2, 2.0), (-1.15 / 4.0, 0.9)),
        (Events, (usual.0, usual.1, 0.5, 10.0), 0.02, (0.085, 0.4), (22.0 / 30.0 - 3.0, 2.0)),
        // A share of 1 %: one failure wins a factor of 5 at most. More than 1 is never lost.
        (Events, ((1.0, 1.0), (99.0, 0.0), 1.0, 1.0), 0.0, (0.99, 0.225), (-1.0, 2.0)),
        (Events, ((90.0, 0.0), (10.0, 0.0), 1.0, 1.0), 0.1, (-0.9, 1.0), (1.0, 2.0)),
        (Time, ((5.0, 2.0), (5.0, 0.5), 1.0, 1.0), 0.02, (0.28, 0.27), (-0.28, 1.0)),
        (Time, ((5.0, 2.0), (5.0, 3.0), 1.0, 1.0), 0.02, (0.13, 0.27), (0.22, 1.0)),
        (Limit, ((20.0, 3.0), (0.0, 0.0), 1.0, 1.0), 0.05, (0.1, 0.05), (-0.1, 1.0)),
    ] {
        let one = Block { unit, attempted, least, ..block(new, old) };
        for ((gain, bound), expected) in [(one.worse(above), worse), (one.better(above), better)] {
            let is_it = is_near(gain, expected.0) && is_near(bound, expected.1);
            assert!(is_it, "{one:?} {above}: {gain} {bound}, not {expected:?}");
        }
    }
    assert_eq!(Block { unit: Limit, ..block((20.0, 3.0), (0.0, 0.0)) }.surplus(), (3.0, 20.0));
    assert_eq!(Counts::default().rate(), 0.0);
    for (unit, new, old, compares) in [
        (Events, 9.0, 9.0, true),
        (Events, 0.0, 9.0, false),
        (Events, 9.0, 0.0, false),
        (Limit, 9.0, 0.0, true),
        (Limit, 0.0, 9.0, false),
    ] {
        let one = Block { unit, ..block((new, 0.0), (old, 0.0)) };
        assert_eq!(one.compares(), compares, "{one:?}");
    }
}

#[test]
fn a_bet_stakes_four_parts_of_what_it_can_lose() {
    let stakes = [0.03, 0.1, 0.3, 0.9];
    for (gain, bound, part) in [(0.1, 0.4, 0.25), (-0.1, 0.4, -0.25), (-3.0, 2.0, -1.0)] {
        let wealth = Wealth::of((gain, bound));
        for (log, stake) in wealth.0.into_iter().zip(stakes) {
            assert!(is_near(log, f64::ln(1.0 + stake * part)), "{gain}: {log}");
        }
        let mean = stakes.map(|stake| 1.0 + stake * part).iter().sum::<f64>() / 4.0;
        assert!(is_near(wealth.log(), mean.ln()));
        assert_eq!(wealth.most(), wealth.0[if part > 0.0 { 3 } else { 0 }]);
    }
    assert!(is_near(log_mean(&[1000.0, 1000.0 + 3_f64.ln()]), 1000.0 + 2_f64.ln()));
    assert_eq!(log_mean(&[f64::NEG_INFINITY; 2]), f64::NEG_INFINITY);
}

#[test]
fn an_end_lies_between_the_last_refuted_difference_and_the_first_possible_one() {
    let grid = [(-1.0, 9.0), (0.0, 5.0), (1.0, 2.0)];
    for (refuted, estimate, needed, expected) in [
        (3, 2.0, 4.0, Some(2.0 - 2.0 * 0.8_f64.sqrt())),
        (3, 10.0, 4.0, Some(1.0)),
        (3, -0.5, 4.0, Some(0.0)),
        (3, 2.0, 9.5, None),
        (2, 2.0, 5.0, Some(0.0)),
    ] {
        let found = end(grid.into_iter().take(refuted), estimate, needed);
        let is_it = found.zip(expected).map_or(found == expected, |(a, b)| is_near(a, b));
        assert!(is_it, "{estimate} {needed}: {found:?}");
    }
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

/// The mean of g and of k for equal sides with room for so many requests, which stop at their first failure.
fn mean_of_stopping(rooms: (u32, u32), p: f64, attempted: bool, least: f64) -> (f64, f64) {
    // Each number of attempts, with its chance and its failures.
    let ends = |room: u32| {
        let fails = move |n: u32| (p * (1.0 - p).powf(f64::from(n - 1)), f64::from(n), 1.0);
        (1..=room).map(fails).chain([((1.0 - p).powf(f64::from(room)), f64::from(room), 0.0)])
    };
    let (mut gains, mut events) = (0.0, 0.0);
    for ((of_new, n, x), (of_old, m, y)) in
        ends(rooms.0).flat_map(|new| ends(rooms.1).map(move |old| (new, old)))
    {
        let share = if attempted { (n + m) / f64::from(rooms.0 + rooms.1) } else { 1.0 };
        let one = Block { attempted: share, least, ..block((n, x), (m, y)) };
        gains += of_new * of_old * one.worse(0.0).0;
        events += of_new * of_old * (x + y);
    }
    (gains, events)
}

#[test]
fn a_side_with_more_traffic_would_look_worse_if_attempts_that_stop_counted_like_others() {
    for (rooms, p) in [((100, 4), 0.2), ((95, 5), 0.05), ((50, 5), 0.05)] {
        let (as_others, k) = mean_of_stopping(rooms, p, false, 1.0);
        let (without_least, _) = mean_of_stopping(rooms, p, true, 1.0);
        let (without_attempted, _) = mean_of_stopping(rooms, p, false, 2.0 * k);
        assert!(as_others > 0.1 && without_least > 0.007 && without_attempted > 0.02, "{rooms:?}");
        let (fair, _) = mean_of_stopping(rooms, p, true, 2.0 * k);
        assert!(fair.abs() < 1e-9, "{rooms:?}: {fair}");
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
    let (lower, upper) = band.ends(0.005, 0.001, 0.05);
    let (lower, upper) = (lower.unwrap(), upper.unwrap());
    assert!((lower - 0.004313).abs() < 1e-6 && (upper - 0.005775).abs() < 1e-6, "{lower} {upper}");
}
