use super::*;

#[tokio::test]
async fn beyond_the_queue_jobs_are_refused_and_a_panic_ends_only_its_own() {
    let pool = Pool::new(1, 1).unwrap();
    // Panics without the hook, whose backtrace takes seconds on a busy machine.
    let panics = || std::panic::resume_unwind(Box::new("on purpose"));
    assert_eq!(pool.run(panics).await, Err::<(), _>(Refusal::Internal));
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (end, may_end) = std::sync::mpsc::channel::<()>();
    let first = pool.run(move || {
        begun.send(()).unwrap();
        may_end.recv().unwrap();
        1
    });
    let mut first = Box::pin(first);
    assert!(poll_once(&mut first).is_pending());
    has_begun.recv().unwrap();
    let mut second = Box::pin(pool.run(|| 2));
    assert!(poll_once(&mut second).is_pending());
    assert_eq!(pool.run(|| 3).await, Err(Refusal::Busy));
    end.send(()).unwrap();
    assert_eq!((first.await, second.await), (Ok(1), Ok(2)));
}

fn poll_once<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(future).poll(&mut context)
}
