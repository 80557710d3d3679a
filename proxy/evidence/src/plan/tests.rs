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
    assert_eq!(lengths(0.0), [None]);
}

#[test]
fn steps_that_end_in_time_leave_out_the_slowest() {
    let (gates, steps) = (gates(), shares(&[1, 5, 25, 50]));
    let within = |requests: f64, minutes: u32| {
        within(&gates, &pace(requests), &steps, MINUTE, minutes * MINUTE)
    };
    let (all, hold) = within(1000.0, 60).expect("steps");
    assert_eq!((all, hold), (&steps[..], 15 * MINUTE));
    let (some, hold) = within(10.0, 30).expect("steps");
    assert!(some.len() < 4 && some.last() == steps.last() && hold >= MINUTE, "{some:?} {hold:?}");
    let all: Option<Duration> = lengths(&gates, &pace(10.0), some, hold).into_iter().sum();
    assert!(all.is_some_and(|all| all <= 30 * MINUTE), "{all:?}");
    assert_eq!(within(0.01, 30), None);
}
