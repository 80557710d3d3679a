use super::*;

fn played(attempts: &[(u64, Attempt)]) -> (u64, u64) {
    let mut outages = Outages::default();
    for &(ended_ms, attempt) in attempts {
        outages.take(ended_ms, attempt);
    }
    (outages.count, outages.ms)
}

#[test]
fn five_failures_in_a_row_are_an_outage_until_an_answer() {
    use Attempt::{Answered, Failed, None};
    let failures: Vec<(u64, Attempt)> = (0..6).map(|i| (20_000 + 20 * i, Failed)).collect();
    let with = |before: u64, after: &[(u64, Attempt)]| {
        played(&[&[(before, Answered)], &failures[..], after].concat())
    };
    assert_eq!(with(19_000, &[(24_000, None), (26_000, Answered), (40_000, Answered)]), (1, 6000));
    // An outage in progress counts up to the time before which no line can follow.
    assert_eq!(with(19_000, &[(30_000, None)]), (1, 7010));
    // An answer whose line is written later, by another worker, ends the row of failures.
    assert_eq!(with(19_000, &[(22_000, None), (20_050, Answered), (40_000, Answered)]), (0, 0));
    assert_eq!(
        with(19_000, &[(22_000, None), (19_990, Answered), (26_000, Answered), (40_000, None)]),
        (1, 6000)
    );
    // Four failures are too few. An outage lasts through a long silence.
    assert_eq!(played(&failures[..4]), (0, 0));
    assert_eq!(with(1000, &[(1_000_000, Answered), (2_000_000, None)]), (1, 980_000));
}
