use super::*;

/// Counts a request of this key at this second.
fn count(keys: &mut Keys, second: u64, key: &str, arm: &str, status: u16) {
    let line = format!(
        "{}.000\tqrcode\t{arm}\t{arm}\t{status}\t0.001\t10\t10.0.0.1:80\tGET\
         \t\t\t\t\t\t\t\t\t\t\t{key}\t\t\t\t",
        1000 + second
    );
    keys.count(&Line::parse(line.as_bytes()).unwrap());
}

fn counted(requests: &[(u64, &str, &str, u16)]) -> Keys {
    let mut keys = Keys::default();
    for &(second, key, arm, status) in requests {
        count(&mut keys, second, key, arm, status);
    }
    keys
}

const NEW: usize = Arm::New as usize;
const OLD: usize = Arm::Old as usize;

#[test]
fn a_key_fails_once_however_often_it_comes() {
    let keys = counted(&[
        (1, "00000001", "new", 500),
        (2, "00000001", "new", 500),
        (3, "00000002", "new", 200),
        (4, "00000002", "old", 500),
        (5, "00000002", "new", 500),
        (6, "", "new", 500),
    ]);
    assert_eq!((keys.seen[NEW], keys.failed[NEW], keys.failed[OLD]), (2, 1, 1));
    assert_eq!((keys.moved[NEW], keys.moved[OLD]), (1, 1));
}

#[test]
fn a_key_is_odd_once_most_of_its_requests_fail_in_three_slots_in_a_row() {
    let failing = |seconds: [u64; 3]| seconds.map(|second| (second, "00000001", "new", 500));
    // A restart fails many requests of a key within two slots.
    assert_eq!(counted(&failing([4, 5, 9])).odd[NEW], [0, 0, 0]);
    assert_eq!(counted(&failing([4, 5, 10])).odd[NEW], [1, 0, 0]);
    let mut keys = counted(&failing([4, 5, 10]));
    count(&mut keys, 15, "00000001", "new", 500);
    assert_eq!(keys.odd[NEW], [1, 0, 0]);
    // A past without failures changes nothing, and a slot without them begins anew.
    let mut keys = counted(&[(1, "00000001", "new", 200); 40]);
    for second in [5, 10, 16, 20, 25] {
        assert_eq!(keys.odd[NEW], [0, 0, 0]);
        count(&mut keys, second, "00000001", "new", 302);
        if second == 10 {
            (0..2).for_each(|_| count(&mut keys, second, "00000001", "new", 200));
        }
    }
    assert_eq!(keys.odd[NEW], [0, 1, 0]);
    // A line that comes late is no slot of its own.
    let late = [4, 5, 4, 5, 4, 5].map(|second| (second, "00000001", "new", 500));
    assert_eq!(counted(&late).odd[NEW], [0, 0, 0]);
}

#[test]
fn a_key_that_the_old_side_fails_is_known_when_it_moves_and_one_that_the_new_side_fails_is_not() {
    let mut keys = Keys::default();
    for second in [1, 6, 11] {
        count(&mut keys, second, "00000001", "old", 404);
        count(&mut keys, second, "00000002", "old", 500);
        count(&mut keys, second, "00000003", "new", 500);
    }
    assert_eq!((keys.odd[OLD], keys.odd[NEW]), ([1, 0, 1], [1, 0, 0]));
    let known = keys.known_failures[OLD];
    for second in [16, 21, 26] {
        for key in ["00000001", "00000002", "00000003"] {
            count(&mut keys, second, key, "new", 500);
        }
    }
    // What was refused before and fails now is odd for another reason.
    assert_eq!((keys.known_failures[NEW], keys.odd[NEW]), (3, [2, 0, 0]));
    assert_eq!((keys.known_failures[OLD], known), (0, 0));
}
