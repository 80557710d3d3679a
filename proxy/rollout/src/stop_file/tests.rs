use super::*;

#[test]
fn a_folder_that_others_may_write_to_keeps_no_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let (nginx, place) = (folder.path().join("nginx"), folder.path().join("memory"));
    fs::create_dir_all(&nginx).expect("nginx");
    for (mode, is_link) in [(0o755, true), (0o777, false), (0o700, true)] {
        fs::create_dir_all(&place).expect("memory");
        fs::set_permissions(&place, Permissions::from_mode(mode)).expect("chmod");
        prepare(&nginx, Some(&place)).expect("prepare");
        assert_eq!(super::folder(&nginx).is_symlink(), is_link, "{mode:o}");
    }
    // Somebody's link to a folder of ours is theirs.
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&place, &link).expect("link");
    prepare(&nginx, Some(&link)).expect("prepare");
    assert!(!super::folder(&nginx).is_symlink());
    if geteuid().is_root() {
        std::os::unix::fs::chown(&place, Some(65_534), None).expect("chown");
        prepare(&nginx, Some(&place)).expect("prepare");
        assert!(!super::folder(&nginx).is_symlink());
    }
}
