use super::*;

/// The number of comparisons that start within ten seconds, by route. Each takes `cost`, and the rest of the process
/// takes `others` seconds of CPU per second. A busy route always has a request, any other route has one every 100 ms.
fn started(share: f64, cost: Duration, others: f64, busy: &[bool]) -> Vec<usize> {
    let begin = Instant::now();
    let (mut cpu, mut now) = (Duration::ZERO, begin);
    let budget = Budget::at(share, cpu, now);
    let mut turns: Vec<Turns> =
        busy.iter().map(|_| Turns { budget: budget.clone(), last: begin }).collect();
    let mut counts = vec![0; busy.len()];
    while now - begin < Duration::from_secs(10) {
        let mut shortest = Duration::from_millis(100);
        let mut took = Duration::ZERO;
        for (route, turns) in turns.iter_mut().enumerate() {
            let has_request =
                busy[route] || counts[route] as u128 * 100 <= (now - begin).as_millis();
            if !has_request {
                continue;
            }
            let wait = turns.wait(cpu, now, 0.0);
            if wait.is_zero() {
                counts[route] += 1;
                cpu += cost;
                took += cost;
            }
            shortest = shortest.min(wait);
        }
        let took = if took.is_zero() { shortest.max(SHORTEST_WAIT) } else { took };
        cpu += took.mul_f64(others);
        now += took;
    }
    counts
}

#[test]
fn as_many_start_as_the_share_pays_for() {
    for (cost_us, expected) in [(100, 11_000), (500, 2_200), (5_000, 220)] {
        let count = started(0.1, Duration::from_micros(cost_us), 0.0, &[true])[0];
        assert!(count.abs_diff(expected) <= expected / 20, "{cost_us} us: {count}");
    }
    let count = started(0.5, Duration::from_millis(5), 0.0, &[true])[0];
    assert!(count.abs_diff(1_100) <= 50, "{count}");
}

#[test]
fn what_is_left_of_the_longest_wait_may_be_next_to_nothing() {
    let begin = Instant::now();
    let mut turns = Turns { budget: Budget::at(0.01, Duration::ZERO, begin), last: begin };
    assert!(turns.wait(Duration::ZERO, begin, 0.0).is_zero());
    let left = Duration::from_micros(10);
    let wait = turns.wait(Duration::from_secs(1), begin + LONGEST_WAIT - left, 0.0);
    assert_eq!(wait, left);
}

#[test]
fn ten_a_second_start_even_if_they_cost_more() {
    for (cost_ms, others) in [(30, 0.0), (1, 0.5)] {
        let count = started(0.1, Duration::from_millis(cost_ms), others, &[true])[0];
        // The budget saved at the start pays for some more.
        assert!((90..=180).contains(&count), "{cost_ms} ms, {others}: {count}");
    }
}

#[test]
fn each_route_has_its_ten_a_second_beside_the_others() {
    // One route alone would take a quarter of a core.
    let counts = started(0.1, Duration::from_millis(5), 0.0, &[true, true, true]);
    assert!(counts.iter().all(|count| *count >= 90), "{counts:?}");
    let counts = started(0.1, Duration::from_millis(5), 0.0, &[true, false, false]);
    assert!(counts[1..].iter().all(|count| *count >= 90), "{counts:?}");
}

#[test]
fn what_is_saved_and_what_is_owed_are_bounded_and_pay_for_time_elsewhere_too() {
    let begin = Instant::now();
    let after = |seconds: u64, cpu: f64, elsewhere| {
        let now = begin + Duration::from_secs(seconds);
        let mut turns = Turns { budget: Budget::at(0.5, Duration::ZERO, begin), last: now };
        let wait = turns.wait(Duration::from_secs_f64(cpu), now, elsewhere);
        (turns.budget.0.lock().unwrap().saved, wait.as_millis())
    };
    assert_eq!(after(0, 0.0, 0.0), (0.5, 0));
    assert_eq!(after(9, 0.25, 0.0), (0.5, 0));
    assert_eq!(after(1, 1.0, 0.25), (-0.25, 100));
    assert_eq!(after(0, 0.5, 0.015_625), (-0.015_625, 31));
    assert_eq!(after(1, 100.0, 0.0), (-5.0, 100));
}
