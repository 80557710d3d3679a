use route::Route;

use super::*;

fn gates() -> Gates {
    Gates::of(&Route::parse("report", "path = \"/report\"\n").expect("a route")).expect("valid")
}

fn pace(requests: f64) -> Pace {
    let pairs = requests / 10.0;
    Pace { requests, pairs, compared: pairs, ..Pace::default() }
}

fn shares(percents: &[u8]) -> Vec<Share> {
    percents.iter().map(|percent| percent.to_string().parse().expect("a share")).collect()
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_step_takes_its_time_or_as_long_as_its_proof_needs() {
    let steps = shares(&[1, 5, 25]);
    let lengths = |requests: f64| lengths(&gates(), &pace(requests), &steps, MINUTE);
    assert_eq!(lengths(1000.0)[1..], [Some(MINUTE); 2]);
    // The proof of the first step also counts for the others, which then only wait for the requests of their gates.
    let slow = lengths(2.0);
    let at_least = |step: usize, seconds: u64| slow[step] >= Some(Duration::from_secs(seconds));
    assert!(at_least(0, 5000) && at_least(1, 1000) && at_least(2, 500), "{slow:?}");
    assert!(slow[2] < slow[1], "{slow:?}");
}

/// The gates that wait for 100 requests and comparisons, without tests and in long blocks.
fn waiting(block: Duration) -> Gates {
    Gates { block, tests: Vec::new(), ..gates() }
}

#[test]
fn a_step_that_takes_longer_than_a_week_never_ends() {
    const HOUR: Duration = Duration::from_secs(3600);
    let steps = shares(&[1, 5]);
    let lengths = |pace: Pace, hold: u32| lengths(&waiting(HOUR), &pace, &steps, hold * HOUR);
    let with = |requests, compared| Pace { requests, compared, ..Pace::default() };
    // 100 of the new side's requests need 10,000 of all at 1 %, and 2000 at 5 %.
    assert_eq!(lengths(with(10_000.0 / 3600.0, 1.0), 1), [Some(HOUR); 2]);
    assert_eq!(lengths(with(100.0 / 3600.0, 1.0), 1), [Some(100 * HOUR), Some(20 * HOUR)]);
    assert_eq!(lengths(with(100.0 / 3600.0, 1.0), 30), [Some(100 * HOUR), Some(30 * HOUR)]);
    assert_eq!(
        lengths(with(10_000.0 / 168.5 / 3600.0, 1.0), 1),
        [Some(169 * HOUR), Some(34 * HOUR)]
    );
    assert_eq!(lengths(with(10_000.0 / 170.5 / 3600.0, 1.0), 1), [None]);
    assert_eq!(lengths(with(1.0, 100.0 / 1800.0), 1)[0], Some(3 * HOUR), "by its requests");
    assert_eq!(lengths(with(100.0, 100.0 / 9000.0), 1)[0], Some(3 * HOUR), "by its comparisons");
    assert_eq!(lengths(with(100.0, 1.0), 240), [Some(240 * HOUR); 2], "as long as its hold");
    assert_eq!(lengths(Pace::default(), 1), [None]);
}

#[test]
fn the_past_is_played_with_its_failures_and_pairs() {
    let pace = Pace { requests: 10.0, failures: 0.1, pairs: 2.0, compared: 1.0, ..Pace::default() };
    let Interval { new, old, pairs, compared, end, seconds, .. } = interval(&pace, 4.0, 20.0, 5.0);
    assert_eq!((new.requests, new.failures, old.requests, old.failures), (20.0, 2.0, 30.0, 3.0));
    assert_eq!((pairs, compared.requests, compared.events), (10.0, 5.0, 0.0));
    assert_eq!((end, seconds), (20.0, 5.0));
}

#[test]
fn steps_that_end_in_time_leave_out_the_slowest() {
    let (gates, steps) = (gates(), shares(&[1, 5, 25, 50]));
    let within = |requests: f64, minutes: u32| {
        within(&gates, &pace(requests), &steps, MINUTE, minutes * MINUTE)
    };
    let (all, hold) = within(1000.0, 62).expect("steps");
    assert_eq!((all, hold), (&steps[..], 62 * MINUTE / 4));
    let (some, hold) = within(10.0, 30).expect("steps");
    assert!(some.len() < 4 && some.last() == steps.last() && hold >= MINUTE, "{some:?} {hold:?}");
    let all: Option<Duration> = lengths(&gates, &pace(10.0), some, hold).into_iter().sum();
    assert!(all.is_some_and(|all| all <= 30 * MINUTE), "{all:?}");
    assert_eq!(within(0.01, 30), None);
}
