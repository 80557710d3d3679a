use super::*;

#[test]
fn positions_are_read_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let [file, printed] = offset_files(&folder.path().join("edge.log"));
    assert!(file.ends_with("edge.log.offset") && printed.ends_with("edge.log.printed"));
    assert_eq!(read_positions(&file).unwrap(), []);
    let position = |inode, offset| Position {
        identity: Identity { inode, born_ns: 1_732_250_000_123_456_789 },
        offset,
    };
    let positions = [position(1, 0), position(2, u64::MAX)];
    write_positions(&file, &positions).unwrap();
    assert_eq!(read_positions(&file).unwrap(), positions);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file is left");
}

#[test]
fn other_content_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("offset");
    for text in ["x", "1 2", "1 2 3 4", "1 2 -3", "\n"] {
        fs::write(&file, text).unwrap();
        assert!(read_positions(&file).is_err(), "{text:?}");
    }
}
