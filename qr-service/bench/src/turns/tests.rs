use super::quartiles;

#[test]
fn quartiles_are_as_far_from_the_median_as_the_values_say() {
    assert_eq!(quartiles(vec![5.0]), [5.0, 5.0, 5.0]);
    assert_eq!(quartiles(vec![3.0, 1.0]), [1.0, 2.0, 3.0]);
    let [low, median, high] = quartiles(vec![30.0, 10.0, 20.0]);
    assert_eq!(median, 20.0);
    assert!((10.0..15.0).contains(&low) && (25.0..30.0).contains(&high), "{low} {high}");
}
