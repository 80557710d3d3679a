use super::*;

#[test]
fn a_key_is_stranded_once_two_looks_find_it_and_counts_once() {
    let mut found = Found::default();
    let mut look = |keys: &[&str]| found.look(keys.iter().map(ToString::to_string).collect());
    assert_eq!([look(&["a"]), look(&["b"]), look(&["b", "c"])], [0, 0, 1]);
    assert_eq!([look(&["b", "c"]), look(&["b", "c"]), look(&[]), look(&["b"])], [1, 0, 0, 0]);
    assert_eq!(look(&["b"]), 1);
}
