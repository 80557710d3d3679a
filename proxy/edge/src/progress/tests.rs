use super::*;

#[test]
fn counts_of_nginx_are_shown_while_they_are_young() {
    let progress = Progress::new(&[], Default::default(), 1);
    assert_eq!((progress.nginx(), progress.lost()), (None, 0));
    let connections = Connections { refused: 1, reading: 2, writing: 3, waiting: 4 };
    let now = Instant::now();
    for (at, shown) in [(now, Some((7, connections))), (now - LAG, None)] {
        progress.set_status(StubStatus { at, at_ms: 0, requests: 7, open: 5 }, connections, 9);
        assert_eq!((progress.nginx(), progress.lost()), (shown, 9));
    }
}
