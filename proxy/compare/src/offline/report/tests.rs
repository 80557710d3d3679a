use super::*;

#[test]
fn a_failure_of_the_judge_is_no_difference_and_no_match() {
    let code = |outcomes: &[Outcome]| {
        let mut report = Report::default();
        for outcome in outcomes {
            *report.outcomes.entry(outcome.into_str()).or_default() += 1;
        }
        report.exit_code()
    };
    assert_eq!(code(&[Outcome::Match, Outcome::Match]), 0);
    assert_eq!(code(&[Outcome::Match, Outcome::Skipped]), 0);
    for differs in [Outcome::Mismatch, Outcome::NewError, Outcome::OldError, Outcome::Timeout] {
        assert_eq!(code(&[Outcome::Match, differs]), DIFFERS);
        assert_eq!(code(&[Outcome::Unjudged, differs, Outcome::Skipped]), DIFFERS);
    }
    assert_eq!(code(&[Outcome::Match, Outcome::Unjudged]), TROUBLE);
    assert_eq!(code(&[Outcome::Skipped]), TROUBLE, "nothing was compared");
}

#[test]
fn matches_that_prove_nothing_are_no_proof() {
    let of = |matches, unproven| Report {
        outcomes: [("match", matches)].into(),
        unproven: [(401, unproven)].into(),
        ..Report::default()
    };
    assert_eq!((of(2, 1).exit_code(), of(2, 2).exit_code()), (0, TROUBLE));
    let said = of(3, 2).to_string();
    let nothing = "2 of the pairs prove nothing, since both sides refused or failed: 2 times 401";
    assert!(said.contains(nothing), "{said}");
}

#[test]
fn a_percentile_is_one_of_the_measured_times() {
    let figures = |seconds: Vec<f64>| Answers { seconds, bytes: 300 }.figures();
    let hundred = figures((1..=100).rev().map(f64::from).collect());
    assert_eq!((hundred.p50_seconds, hundred.p99_seconds), (Some(50.0), Some(99.0)));
    assert_eq!(hundred.mean_bytes, Some(3.0));
    let one = figures(vec![7.0]);
    assert_eq!((one.p50_seconds, one.p99_seconds), (Some(7.0), Some(7.0)));
    assert_eq!(figures(vec![]).p50_seconds, None);
}
