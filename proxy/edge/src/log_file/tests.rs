use super::*;

#[test]
fn a_full_file_is_followed_by_a_new_one_and_two_older_ones_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.log");
    let whole = vec![b'a'; MAX_BYTES as usize];
    for number in 0..4 {
        let mut log = LogFile::open(&path).unwrap();
        log.write_all(format!("{number}\n").as_bytes()).unwrap();
        log.flush().unwrap();
        log.write_all(&whole).unwrap();
        // A new file begins only at a flush.
        log.write_all(b"\nend\n").unwrap();
        log.flush().unwrap();
    }
    let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(text("requests.log"), "");
    for (name, begin) in [("requests.log.1", "3\n"), ("requests.log.2", "2\n")] {
        assert!(text(name).starts_with(begin) && text(name).ends_with("\nend\n"), "{name}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn what_is_there_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.log");
    fs::write(&path, "before\n").unwrap();
    LogFile::open(&path).unwrap().write_all(b"after\n").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "before\nafter\n");
}
