use super::*;

/// The missing lines after requests of one connection each 10 ms, for this many seconds.
fn missing(seconds: u64, is_lost: impl Fn(u64) -> bool, number: impl Fn(u64) -> u64) -> u64 {
    let mut sequences = Sequences::default();
    for request in (1..100 * seconds).filter(|request| !is_lost(*request)) {
        sequences.count(7, number(request), 10 * request);
    }
    sequences.missing
}

#[test]
fn each_missing_number_is_a_missing_line() {
    assert_eq!(missing(300, |_| false, |request| request), 0);
    // Lines before the first one are not known.
    assert_eq!(missing(300, |_| false, |request| 5000 + request), 0);
    let lost = missing(300, |request| request % 1000 == 0, |request| request);
    assert!((26..=28).contains(&lost), "{lost}");
}

#[test]
fn requests_that_end_in_another_order_are_not_missing() {
    assert_eq!(missing(300, |_| false, |request| request ^ 31), 0);
}

#[test]
fn a_silent_connection_is_forgotten() {
    let mut sequences = Sequences::default();
    sequences.count(1, 1, 0);
    for second in 0..100 {
        sequences.count(2, second + 1, 1000 * second);
    }
    let connections = sequences.connections.lock().expect("no panic");
    assert_eq!(connections.keys().copied().collect::<Vec<_>>(), [2]);
}
