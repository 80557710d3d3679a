use super::*;

fn reading(gate: &str, difference: Option<Difference>) -> Reading {
    let (verdict, detail) = (Verdict::Pass, "new 3 of 5200".to_owned());
    Reading { verdict, difference, detail, ..Reading::without(gate, "") }
}

#[test]
fn a_test_has_its_band_and_a_gate_has_none() {
    let known = |lower, upper| Difference { lower, estimate: 0.002, upper, limit: 0.01 };
    let readings = vec![
        reading("failures", Some(known(Some(-0.01), Some(0.006)))),
        reading("slow", Some(known(None, None))),
        reading("empty", Some(known(None, Some(0.5)))),
        reading("requests", None),
    ];
    let said = drawn(&Judgement::of(readings), true);
    let expected = [
        "  pass          failures       =====:o== |       new +0.20 points, between -1.00 and +0.60; limit",
        "  pass          slow                :o   |       new +0.20 points; limit +1.00",
        "  pass          empty     ==========:o===|=====  new +0.20 points, at most +50.00; limit",
        "  pass          requests                         new 3 of 5200",
    ];
    for (line, expected) in said.lines().zip(expected) {
        assert!(line.starts_with(expected), "{said}");
    }
    let plain = drawn(&Judgement::of(vec![reading("slow", Some(known(None, None)))]), false);
    assert!(plain.starts_with("  pass          slow  new +0.20 points"), "{plain}");
}
