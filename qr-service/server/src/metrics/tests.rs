use super::*;

/// Makes the largest possible scrape: every combination of labels, in every bucket, with the longest id.
#[test]
fn a_scrape_is_bounded() {
    let metrics = Metrics::new(Engine::Default, &Connections::default());
    let id = "i".repeat(MAX_EXEMPLAR_BYTES);
    for labels in all_labels() {
        let status = StatusCode::from_u16(labels.status).unwrap();
        for bound in DURATION_BUCKETS.into_iter().chain([10.0]) {
            let duration = Duration::from_secs_f64(bound);
            metrics.observe_request((labels.route, labels.method, status), &id, duration);
        }
    }
    let text = metrics.encode().unwrap();
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    // With the API there are thrice as many combinations.
    let (most_series, most_bytes) =
        if cfg!(feature = "api") { (1000, 150_000) } else { (500, 50_000) };
    assert!(series < most_series, "{series} series");
    let exemplars = text.matches("request_id").count();
    assert_eq!(exemplars, all_labels().count() * 16, "an exemplar for each bucket");
    assert!(text.len() < most_bytes, "{} bytes", text.len());
}
