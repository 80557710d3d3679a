use route::Route;

use super::*;
use crate::interval::Arm;

fn gates() -> Gates {
    Gates::of(&Route::parse("report", "path = \"/report\"\n").expect("a route")).expect("valid")
}

/// The test that fails after ten minutes of these intervals.
fn worse(new: Arm, old: Arm, assigned: Assigned) -> Option<String> {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    for block in 1..=120 {
        let end = f64::from(block) * 5.0;
        trial.add(
            &Interval { end, seconds: 5.0, new, old, ..Interval::default() },
            &gates,
            assigned,
        );
    }
    trial.worse(&gates).map(|test| test.name.clone())
}

#[test]
fn a_worse_side_fails_the_test_of_what_is_worse() {
    let fine = Arm { requests: 100.0, statuses: [100.0, 0.0, 0.0], ..Arm::default() };
    for (bad, test) in [
        (Arm { failures: 1.0, helped: 1.0, ..fine }, "failures"),
        (Arm { slow: 4.0, ..fine }, "slow"),
        (Arm { out_seconds: 1.0, ..fine }, "outages"),
        (Arm { statuses: [0.0, 0.0, 100.0], ..fine }, "statuses"),
        (Arm { statuses: [95.0, 5.0, 0.0], ..fine }, "statuses"),
        (Arm { empty: 50.0, ..fine }, "empty"),
    ] {
        assert_eq!(worse(bad, fine, Assigned::ByRequest).as_deref(), Some(test));
        assert_eq!(
            worse(fine, bad, Assigned::ByRequest).filter(|test| test != "statuses"),
            None,
            "{test}"
        );
        assert_eq!(worse(bad, bad, Assigned::ByRequest), None, "{test}");
    }
    // Whoever has a slow key may ask for it often, and one with few redirects.
    assert_eq!(worse(Arm { slow: 20.0, ..fine }, fine, Assigned::ByKey), None);
    assert_eq!(worse(Arm { statuses: [95.0, 5.0, 0.0], ..fine }, fine, Assigned::ByKey), None);
    let refused = Arm { statuses: [0.0, 0.0, 100.0], ..fine };
    assert_eq!(worse(refused, fine, Assigned::ByKey).as_deref(), Some("statuses"));
}

#[test]
fn matches_of_a_shadow_that_gets_other_answers_than_clients_prove_nothing() {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    let mut end = 0.0;
    let mut after = |clients: [f64; 3], shadow: [f64; 4]| {
        end += 5.0;
        let old = Arm { requests: 300.0, statuses: clients, ..Arm::default() };
        let interval =
            Interval { end, seconds: 5.0, old, shadow_statuses: shadow, ..Interval::default() };
        trial.add(&interval, &gates, Assigned::ByRequest);
        let readings = trial.readings(&gates);
        let reading = readings.into_iter().find(|reading| reading.gate == "shadow-answers");
        reading.map(|reading| (reading.verdict, reading.to_string())).expect("the test")
    };
    let (verdict, said) = after([295.0, 0.0, 5.0], [0.0, 0.0, 100.0, 0.0]);
    assert_eq!(verdict, Verdict::Inconclusive, "{said}");
    for part in ["clients get 98 % 2xx, the shadow 100 % 4xx;", "shadow.send_headers"] {
        assert!(said.contains(part), "{said}");
    }
    // Once it asks properly, what it saw before is soon forgotten.
    assert_eq!(after([295.0, 0.0, 5.0], [300.0, 0.0, 0.0, 0.0]).0, Verdict::Pass);
    // Clients have much in their caches, and the shadow nothing.
    for _ in 0..9 {
        assert_eq!(after([50.0, 250.0, 0.0], [300.0, 0.0, 0.0, 0.0]).0, Verdict::Pass);
    }
}

#[test]
fn what_spans_a_move_is_left_out() {
    let (gates, mut trial) = (gates(), Trial::new(&gates(), 1));
    trial.moved(10.0);
    let failing = Arm { requests: 100.0, failures: 100.0, ..Arm::default() };
    let interval = |end| Interval { end, seconds: 5.0, new: failing, ..Interval::default() };
    for end in [8.0, 12.0, 17.0] {
        trial.add(&interval(end), &gates, Assigned::ByRequest);
        assert_eq!(trial.asked(), 0.0);
    }
    trial.add(&interval(20.0), &gates, Assigned::ByRequest);
    assert_eq!(trial.asked(), 100.0);
}
