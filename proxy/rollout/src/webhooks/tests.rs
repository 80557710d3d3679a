use service_kit::testing::serve;

use super::*;

/// Posts one event to a webhook with these answers. Returns the pauses in seconds, and how many posts came.
fn delivered(statuses: &'static [u16]) -> (Vec<u64>, usize) {
    let (posts, pending) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(1));
    let counted = Arc::clone(&posts);
    let addr = serve(move |asked| {
        asked.body()?;
        let status = statuses[counted.fetch_add(1, Ordering::Relaxed)];
        asked.answer(format!("HTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n"))
    });
    let url = format!("http://{addr}/");
    let (sender, receiver) = sync_channel(1);
    sender.send("{}".to_owned()).expect("room");
    drop(sender);
    let mut pauses = Vec::new();
    deliver(&url, &receiver, &pending, |pause| pauses.push(pause.as_secs()));
    assert_eq!(pending.load(Ordering::Relaxed), 0);
    (pauses, posts.load(Ordering::Relaxed))
}

#[test]
fn an_event_is_posted_again_five_times_in_half_a_minute_while_that_may_help() {
    let all = vec![1, 2, 4, 8, 16];
    assert_eq!(delivered(&[204]), (vec![], 1));
    assert_eq!(delivered(&[503, 429, 200]), (all[..2].to_vec(), 3));
    assert_eq!(delivered(&[500, 500, 502, 503, 408, 200]), (all.clone(), 6));
    assert_eq!(delivered(&[503; 9]), (all, 6));
    assert_eq!(delivered(&[404, 200]), (vec![], 1));
}
