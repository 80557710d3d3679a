use super::*;

/// Comparisons that start within ten seconds, if each takes `cost` and the process `others` a second besides.
fn started(share: f64, cost: Duration, others: f64) -> usize {
    let begin = Instant::now();
    let (mut cpu, mut now, mut count) = (Duration::ZERO, begin, 0);
    let mut budget = Budget::at(share, cpu, now);
    while now - begin < Duration::from_secs(10) {
        let wait = budget.wait(cpu, now);
        let took = if wait.is_zero() { cost } else { wait };
        cpu += took.mul_f64(others) + if wait.is_zero() { cost } else { Duration::ZERO };
        count += usize::from(wait.is_zero());
        now += took;
    }
    count
}

#[test]
fn as_many_start_as_the_share_pays_for() {
    for (cost_us, expected) in [(100, 11_000), (500, 2_200), (5_000, 220)] {
        let count = started(0.1, Duration::from_micros(cost_us), 0.0);
        assert!(count.abs_diff(expected) <= expected / 20, "{cost_us} us: {count}");
    }
    let count = started(0.5, Duration::from_millis(5), 0.0);
    assert!(count.abs_diff(1_100) <= 50, "{count}");
}

#[test]
fn what_is_left_of_the_longest_wait_may_be_next_to_nothing() {
    let begin = Instant::now();
    let mut budget = Budget::at(0.01, Duration::ZERO, begin);
    assert!(budget.wait(Duration::ZERO, begin).is_zero());
    let left = Duration::from_micros(10);
    let wait = budget.wait(Duration::from_secs(1), begin + LONGEST_WAIT - left);
    assert_eq!(wait, left);
}

#[test]
fn ten_a_second_start_even_if_they_cost_more() {
    for (cost_ms, others) in [(30, 0.0), (1, 0.5)] {
        let count = started(0.1, Duration::from_millis(cost_ms), others);
        // What is saved up at first pays for some more.
        assert!((90..=180).contains(&count), "{cost_ms} ms, {others}: {count}");
    }
}
