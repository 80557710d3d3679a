use super::*;

#[test]
fn only_a_valid_traceparent_has_a_trace_id() {
    let id = "4bf92f3577b34da6a3ce929d0e0e4736";
    let header = |s: &str| HeaderValue::from_str(s).unwrap();
    let valid = header(&format!("00-{id}-00f067aa0ba902b7-01"));
    assert_eq!(trace_id(&valid), Some(id));
    for wrong in [
        "",
        "00",
        &format!("ff-{id}-00f067aa0ba902b7-01"),
        &format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
        &format!("00-{}-00f067aa0ba902b7-01", id.to_uppercase()),
        &format!("00-{id}-00f0-01"),
    ] {
        assert_eq!(trace_id(&header(wrong)), None, "{wrong}");
    }
}
