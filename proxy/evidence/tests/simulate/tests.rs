use super::*;

/// In how many blocks of 5 s six ramps of each of the first worse sides are rolled back. Their seeds are fixed, so the
/// numbers move only with the statistics.
fn blocks(change: fn(&mut Gates)) -> Vec<f64> {
    let of = |scenario: Scenario| {
        let mut gates = gates(scenario).expect("valid");
        change(&mut gates);
        let ends = simulate(&gates, (scenario, 100.0, Assignment::ByRequest), 6);
        let blocks = ends.iter().map(|end| match end {
            End::RolledBack { minutes, .. } => 12.0 * minutes,
            End::Done | End::Waiting => f64::INFINITY,
        });
        blocks.sum()
    };
    worse().into_iter().take(4).map(of).collect()
}

#[test]
fn a_factor_of_two_in_alpha_margin_or_block_moves_when_a_worse_side_goes_back() {
    let is_usual = |found: &[f64]| {
        let usual = [771.0, 683.0, 209.0, 188.0];
        found.iter().zip(usual).all(|(found, usual)| (found / usual - 1.0).abs() < 0.05)
    };
    let found = blocks(|_| {});
    assert!(is_usual(&found), "{found:?}");
    let changes: [fn(&mut Gates); 6] = [
        |gates| gates.alpha *= 2.0,
        |gates| gates.alpha /= 2.0,
        |gates| gates.tests.iter_mut().for_each(|test| test.excess *= 2.0),
        |gates| gates.tests.iter_mut().for_each(|test| test.excess /= 2.0),
        |gates| gates.block *= 2,
        |gates| gates.block /= 2,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let found = blocks(change);
        assert!(!is_usual(&found), "{number}: {found:?}");
    }
}

/// A cell of `make simulate` fails it if it is not as the documentation promises.
#[test]
fn thirteen_of_a_thousand_equal_ramps_may_go_back_and_fifty_worse_ones_may_stay() {
    let back = End::RolledBack { test: String::new(), minutes: 1.0, hurt: 1.0 };
    let cell = |count: usize| [vec![back.clone(); count], vec![End::Done; 1000 - count]].concat();
    assert!(is_kept(&cell(13), false, 5.0) && !is_kept(&cell(14), false, 5.0));
    assert!(is_kept(&cell(950), true, 100.0) && !is_kept(&cell(949), true, 100.0));
    assert!(is_kept(&cell(0), true, 5.0));
}
