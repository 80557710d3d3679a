use super::*;

#[test]
fn a_second_out_of_service_is_six_failures_and_a_pause() {
    let (mut rng, mut upstream, mut arm) = (Rng::with_seed(1), Upstream::new(), Arm::default());
    upstream.play((0.0, 10.0), 100.0, 0.0, &mut rng, &mut arm);
    upstream.play((10.0, 11.0), 100.0, 1.0, &mut rng, &mut arm);
    assert_eq!((arm.failures, arm.outages), (6.0, 1.0));
    upstream.play((11.0, 30.0), 100.0, 0.0, &mut rng, &mut arm);
    // nginx asks again in the sixth second after the last failure's.
    assert!((550.0..650.0).contains(&arm.refused), "{arm:?}");
    assert!((5.9..6.1).contains(&arm.out_seconds) && arm.outages == 1.0, "{arm:?}");
}

#[test]
fn timeouts_now_and_then_pause_a_side_and_are_no_outage() {
    let (mut rng, mut upstream, mut arm) = (Rng::with_seed(1), Upstream::new(), Arm::default());
    upstream.play((0.0, 600.0), 50.0, 0.01, &mut rng, &mut arm);
    assert!(arm.refused > 1000.0 && arm.outages == 0.0, "{arm:?}");
    let attempts = arm.requests - arm.refused;
    assert!((0.007..0.013).contains(&(arm.failures / attempts)), "{arm:?}");
}

#[test]
fn numbers_of_events_have_their_mean_and_variance() {
    let mut rng = Rng::with_seed(1);
    for mean in [0.0, 0.3, 20.0, 200.0] {
        let drawn: Vec<f64> = (0..20_000).map(|_| poisson(&mut rng, mean)).collect();
        let average = drawn.iter().sum::<f64>() / 20_000.0;
        let variance = drawn.iter().map(|x| (x - average).powi(2)).sum::<f64>() / 20_000.0;
        assert!((average - mean).abs() <= 0.04 * mean && (variance - mean).abs() <= 0.08 * mean);
    }
}
