use super::*;

#[test]
fn figures_are_short() {
    for (number, text) in [
        (0.0, "0"),
        (1.0, "1"),
        (1.035_714, "1.036"),
        (99.994, "99.99"),
        (100_000.4, "100000"),
        (0.000_254_1, "0.0002541"),
        (-0.5, "-0.5"),
        (f64::INFINITY, "inf"),
        (f64::NAN, "NaN"),
    ] {
        assert_eq!(short(number), text);
    }
}

#[test]
fn a_reading_says_its_difference_or_its_value_or_why_it_has_none() {
    let difference = |lower, upper| Difference { lower, estimate: 0.0002, upper, limit: 0.001 };
    let of = |difference| Reading {
        difference: Some(difference),
        detail: "new 3 of 5200".to_owned(),
        ..Reading::default()
    };
    let gate = |value, detail: &str| Reading {
        value,
        compare: "<=".to_owned(),
        limit: Some(0.0123456),
        detail: detail.to_owned(),
        ..Reading::default()
    };
    for (reading, text) in [
        (
            of(difference(Some(-0.001), Some(0.0021))),
            "new +0.02 points, between -0.10 and +0.21; limit +0.10 (new 3 of 5200)",
        ),
        (
            of(difference(Some(-0.001), None)),
            "new +0.02 points, at least -0.10; limit +0.10 (new 3 of 5200)",
        ),
        (
            of(difference(None, Some(0.0021))),
            "new +0.02 points, at most +0.21; limit +0.10 (new 3 of 5200)",
        ),
        (of(difference(None, None)), "new +0.02 points; limit +0.10 (new 3 of 5200)"),
        (gate(Some(15.0), ""), "15, must be <= 0.01235"),
        (gate(None, "two are down"), "?, must be <= 0.01235; two are down"),
        (Reading { detail: "98 % 2xx".to_owned(), ..Reading::default() }, "98 % 2xx"),
        (Reading::without("requests", "no such series"), "no such series"),
    ] {
        assert_eq!(reading.to_string(), text);
    }
}

#[test]
fn one_failure_decides_and_then_one_that_waits() {
    use Verdict::{Fail, Inconclusive, Pass};
    let reading =
        |verdict: Verdict| Reading { verdict, ..Reading::without(verdict.as_str(), "none") };
    let judged = |verdicts: &[Verdict]| {
        Judgement::of(verdicts.iter().copied().map(reading).collect::<Vec<_>>())
    };
    for (verdicts, expected) in [
        (&[] as &[Verdict], Pass),
        (&[Pass, Pass], Pass),
        (&[Pass, Inconclusive, Pass], Inconclusive),
        (&[Inconclusive, Fail, Pass], Fail),
    ] {
        assert_eq!(judged(verdicts).verdict, expected, "{verdicts:?}");
    }
    let with = judged(&[Inconclusive, Pass]).with(vec![reading(Fail), reading(Inconclusive)]);
    assert_eq!((with.verdict, with.readings[0].verdict, with.readings.len()), (Fail, Fail, 4));
    assert_eq!(with.named(Fail), "fail (none)");
    assert_eq!(with.named(Inconclusive), "2 gates have no value: none");
}
