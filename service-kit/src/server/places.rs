//! Places for connections, and who gives one up when all are taken.
//!
//! A connection that waits for its client is closed when a new client needs its place: the longest
//! wait first. A head that has not come in whole, or an answer that is not read, counts as a wait
//! [`SLOW_WEIGHT`] times as long as one between requests, since clients in use pause there too. A
//! connection is never closed while its request is handled or while its client reads.
//!
//! Each connection keeps what it waits for, and since when, in one atomic word. The accept loop marks a
//! victim in that word. A request that arrives before the victim sees the mark overwrites it, and is
//! answered.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::time::Instant;

use super::metrics::{Connections, Phase};

/// How much longer a wait for a head or a reader counts than one between requests. A proxy's spare
/// connection of 5 s goes before a head of 0.3 s, and after one of 0.4 s.
const SLOW_WEIGHT: u64 = 16;
/// A wait that is shorter is none: the request is on its way.
const LEAST_WAIT_MS: u64 = 20;
/// A client that has taken nothing of its answer for so long does not read.
const LEAST_STALL_MS: u64 = 200;
/// A client that has taken some of it may pause for so long: the kernels on the way report what was
/// read in large pieces.
const LEAST_PAUSE_MS: u64 = 3000;
/// Answers that wait for their clients at once; a further one ends its connection. Each holds 30 kB, and
/// the kernel takes 64 KiB before, so it is an answer to a hundred requests in one piece.
const MAX_ANSWERING: usize = 256;
/// Victims that have not ended yet; the accept loop waits for them, so that it leaves time for the rest.
const MAX_ENDING: usize = 32;
/// Time until a search that found nobody is repeated.
const FRUITLESS: Duration = Duration::from_millis(5);

/// What a connection does; the low bits of its word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Waits for the rest of a head; at first, for all of it.
    Head = 0,
    /// Waits for the next request.
    Idle = 1,
    /// Waits for the client to read; the time is that of the last byte it took.
    Answer = 2,
    /// Handles a request.
    Request = 3,
}

const DOING: u64 = 0b11;
/// The connection has to end.
const MARK: u64 = 0b100;
/// The client has read when an answer had to wait.
const READS: u64 = 0b1000;
/// The time in milliseconds is above these bits.
const TIME: u32 = 4;

fn doing(word: u64) -> Doing {
    match word & DOING {
        0 => Doing::Head,
        1 => Doing::Idle,
        2 => Doing::Answer,
        _ => Doing::Request,
    }
}

/// How long the wait of a connection counts; `None` if it must not be closed.
fn weight(word: u64, now_ms: u64) -> Option<u64> {
    let waited = now_ms.saturating_sub(word >> TIME);
    let (least, weight) = match doing(word) {
        _ if word & MARK > 0 => return None,
        Doing::Request => return None,
        Doing::Head => (LEAST_WAIT_MS, SLOW_WEIGHT),
        Doing::Answer if word & READS > 0 => (LEAST_PAUSE_MS, SLOW_WEIGHT),
        Doing::Answer => (LEAST_STALL_MS, SLOW_WEIGHT),
        Doing::Idle => (LEAST_WAIT_MS, 1),
    };
    (waited >= least).then_some(waited * weight)
}

fn is_in_flight(word: u64) -> bool {
    matches!(doing(word), Doing::Request | Doing::Answer)
}

/// The places of one listener.
pub(super) struct Places {
    // Every request reads these.
    most: usize,
    began: Instant,
    connections: Connections,
    written: Written,
}

/// What connections write when they come, go and stall. Apart from what requests read, or each connect would
/// take that from the other cores' caches; two lines of 64 bytes, as in `per_thread.rs`.
#[derive(Default)]
#[repr(align(128))]
struct Written {
    taken: Mutex<Taken>,
    /// Connections that are marked and have not ended.
    ending: AtomicUsize,
    /// Connections whose answers wait for their clients.
    answering: AtomicUsize,
}

#[derive(Default)]
struct Taken {
    slots: Vec<Option<Arc<Slot>>>,
    free: Vec<usize>,
    /// All connections, and those of each thread that serves.
    open: usize,
    open_by_thread: Vec<usize>,
    /// The next victims with their words, the first last. One search finds several, since it looks at
    /// every connection.
    victims: Vec<(usize, u64)>,
    fruitless: Option<Instant>,
}

impl Places {
    /// `threads` share the places, at least one.
    pub(super) fn new(most: usize, threads: u16, connections: Connections) -> Arc<Self> {
        let open_by_thread = vec![0; threads.into()];
        Arc::new(Places {
            most,
            began: Instant::now(),
            connections,
            written: Written {
                taken: Mutex::new(Taken { open_by_thread, ..Taken::default() }),
                ..Written::default()
            },
        })
    }

    /// Takes a place for a new connection, if need be that of another; `None` if nobody can be closed. The
    /// place is on a thread with the fewest connections: on `home`, if it is one of them.
    pub(super) fn take(self: &Arc<Self>, home: Option<u16>) -> Option<Place> {
        let now = Instant::now();
        let mut taken = self.taken();
        if taken.open >= self.most + self.written.ending.load(Ordering::Relaxed)
            && !taken.close_one(self, now)
        {
            drop(taken);
            self.connections.refused.inc();
            return None;
        }
        let thread = taken.thread_for(home);
        taken.open += 1;
        taken.open_by_thread[usize::from(thread)] += 1;
        let index = taken.free.pop().unwrap_or(taken.slots.len());
        let word = AtomicU64::new(self.ms(now) << TIME | Doing::Head as u64);
        let (waker, is_lean, places) = (OnceLock::new(), AtomicBool::new(false), Arc::clone(self));
        let bodies = AtomicUsize::new(0);
        let slot = Arc::new(Slot { index, thread, word, waker, is_lean, bodies, places });
        let entry = Some(Arc::clone(&slot));
        match taken.slots.get_mut(index) {
            Some(free) => *free = entry,
            None => taken.slots.push(entry),
        }
        drop(taken);
        self.connections.open.inc();
        Some(Place(slot))
    }

    /// Closes a connection, for a file descriptor.
    pub(super) fn close_one(&self) {
        self.taken().close_one(self, Instant::now());
    }

    /// Returns when few enough victims have not ended yet.
    pub(super) async fn settle(&self) {
        while self.written.ending.load(Ordering::Relaxed) >= MAX_ENDING {
            tokio::task::yield_now().await;
        }
    }

    fn ms(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.began);
        since.as_secs() * 1000 + u64::from(since.subsec_millis())
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.written.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// The thread for a new connection. Chosen under the lock, so the numbers it compares are exact.
    fn thread_for(&self, home: Option<u16>) -> u16 {
        let all = (0..).zip(&self.open_by_thread);
        let (first, &least) = all.min_by_key(|&(_, open)| open).unwrap_or((0, &0));
        let has_least = |&home: &u16| self.open_by_thread.get(usize::from(home)) == Some(&least);
        home.filter(has_least).unwrap_or(first)
    }

    /// Marks the connection that has waited longest; false if there is none.
    fn close_one(&mut self, places: &Places, now: Instant) -> bool {
        loop {
            if self.victims.is_empty() && !self.search(places, now) {
                return false;
            }
            while let Some((index, word)) = self.victims.pop() {
                let slot = self.slots.get(index).and_then(Option::as_ref);
                if slot.is_some_and(|slot| slot.mark(word)) {
                    return true;
                }
            }
        }
    }

    /// Finds the next victims.
    fn search(&mut self, places: &Places, now: Instant) -> bool {
        if self.fruitless.is_some_and(|at| now < at + FRUITLESS) {
            return false;
        }
        let now_ms = places.ms(now);
        let waits = |slot: &Arc<Slot>| {
            let word = slot.word.load(Ordering::Relaxed);
            let pauses = slot.bodies.load(Ordering::Relaxed) > 0 && doing(word) != Doing::Answer;
            if pauses {
                return None; // the service, not the client
            }
            Some((weight(word, now_ms)?, slot.index, word))
        };
        let mut waiting: Vec<(u64, usize, u64)> =
            self.slots.iter().flatten().filter_map(waits).collect();
        let most = (waiting.len() / 32).clamp(1, 128);
        if waiting.len() > most {
            let by_weight = |wait: &(u64, usize, u64)| std::cmp::Reverse(wait.0);
            waiting.select_nth_unstable_by_key(most, by_weight);
            waiting.truncate(most);
        }
        waiting.sort_unstable();
        self.victims.extend(waiting.into_iter().map(|(_, index, word)| (index, word)));
        self.fruitless = self.victims.is_empty().then_some(now);
        !self.victims.is_empty()
    }
}

/// A connection's place, until it is dropped.
pub(super) struct Place(Arc<Slot>);

impl Place {
    pub(super) fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.0)
    }

    /// The number of the thread that serves the connection.
    pub(super) fn thread(&self) -> u16 {
        self.0.thread
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Slot { index, thread, ref places, .. } = *self.0;
        let mut taken = places.taken();
        taken.slots[index] = None;
        taken.free.push(index);
        taken.open -= 1;
        taken.open_by_thread[usize::from(thread)] -= 1;
        drop(taken);
        // Off the list, so nobody marks it any more.
        self.0.replace(Doing::Idle as u64);
        places.connections.open.dec();
    }
}

/// What a connection does, shared with the accept loop. On a cache line of its own: connections that one
/// thread has accepted are served by several.
#[repr(align(64))]
pub(super) struct Slot {
    index: usize,
    thread: u16,
    word: AtomicU64,
    /// Wakes the connection's task, which is the same for all its life.
    waker: OnceLock<Waker>,
    /// It has waited for a head so long that hyper can go.
    is_lean: AtomicBool,
    /// Bodies of requests and of answers that are not over. The word may say that the connection waits, since
    /// an answer before them may be read meanwhile.
    bodies: AtomicUsize,
    places: Arc<Places>,
}

impl Slot {
    /// Notes what the connection does from now on.
    pub(super) fn set(&self, doing: Doing, now: Instant) {
        self.replace(self.places.ms(now) << TIME | doing as u64);
    }

    /// Notes that the client has to read; `reads` if it has done so before when an answer had to wait.
    pub(super) fn answer(&self, now: Instant, reads: bool) {
        let reads = if reads { READS } else { 0 };
        self.replace(self.places.ms(now) << TIME | reads | Doing::Answer as u64);
    }

    /// Notes that it handles a request, which has two bodies.
    pub(super) fn handle(&self) {
        self.bodies.fetch_add(2, Ordering::Relaxed);
        self.begin_request();
    }

    /// Notes that it handles a request. Reading the clock for it would be a waste.
    pub(super) fn begin_request(&self) {
        self.replace(Doing::Request as u64);
    }

    /// Notes that the body of a request or of its answer is over.
    pub(super) fn end_body(&self) {
        self.bodies.fetch_sub(1, Ordering::Relaxed);
    }

    // The words publish no other data, so they need no ordering.
    fn replace(&self, word: u64) {
        let before = self.word.swap(word, Ordering::Relaxed);
        if before & MARK > 0 {
            self.places.written.ending.fetch_sub(1, Ordering::Relaxed);
        }
        match (doing(before) == Doing::Answer, doing(word) == Doing::Answer) {
            (false, true) => drop(self.places.written.answering.fetch_add(1, Ordering::Relaxed)),
            (true, false) => drop(self.places.written.answering.fetch_sub(1, Ordering::Relaxed)),
            _ => {}
        }
        match (is_in_flight(before), is_in_flight(word)) {
            (false, true) => {
                self.places.connections.in_flight.add(1);
            }
            (true, false) => {
                self.places.connections.in_flight.add(-1);
            }
            _ => {}
        }
    }

    fn mark(&self, word: u64) -> bool {
        // Before the mark, or the connection could end and count itself off first.
        self.places.written.ending.fetch_add(1, Ordering::Relaxed);
        let relaxed = Ordering::Relaxed;
        if self.word.compare_exchange(word, word | MARK, relaxed, relaxed).is_err() {
            self.places.written.ending.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        // Without a waker its task has not run yet, and will see the mark when it does.
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
        true
    }

    /// Whether the connection, which has nothing to do now, has to end.
    pub(super) fn must_end(&self, context: &Context<'_>) -> bool {
        self.waker.get_or_init(|| context.waker().clone());
        let word = self.word.load(Ordering::Relaxed);
        let answering = || self.places.written.answering.load(Ordering::Relaxed);
        word & MARK > 0 || doing(word) == Doing::Answer && answering() > MAX_ANSWERING
    }

    /// Notes that the connection's wait is long.
    pub(super) fn become_lean(&self) {
        self.is_lean.store(true, Ordering::Relaxed);
    }

    /// Whether the connection waits for a head, and has done so for long.
    pub(super) fn takes_lean(&self) -> bool {
        self.is_lean.load(Ordering::Relaxed)
            && self.is_lean.swap(false, Ordering::Relaxed)
            && self.bodies.load(Ordering::Relaxed) == 0
            && matches!(doing(self.word.load(Ordering::Relaxed)), Doing::Idle | Doing::Head)
    }

    /// Whether all requests that have come are answered.
    pub(super) fn is_idle(&self) -> bool {
        self.bodies.load(Ordering::Relaxed) == 0
            && doing(self.word.load(Ordering::Relaxed)) == Doing::Idle
    }

    pub(super) fn count_shed(&self, phase: Phase) {
        self.places.connections.shed(phase);
    }

    pub(super) fn count_timeout(&self, phase: Phase) {
        self.places.connections.timed_out(phase);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(doing: Doing, since_ms: u64) -> u64 {
        since_ms << TIME | doing as u64
    }

    #[test]
    fn the_longest_wait_counts_most_and_slow_clients_before_idle_ones() {
        let now = 100_000;
        let counts = |doing, waited| weight(word(doing, now - waited), now);
        assert!(counts(Doing::Head, 2000) > counts(Doing::Head, 1000));
        assert!(counts(Doing::Answer, 2000) > counts(Doing::Head, 1000));
        assert!(counts(Doing::Head, 1000) > counts(Doing::Idle, 15_000));
        // Else a client that has just connected would go before thousands that are idle.
        assert!(counts(Doing::Head, 100) < counts(Doing::Idle, 15_000));
    }

    #[test]
    fn a_request_a_reader_and_a_fresh_connection_never_end() {
        let now = 100_000;
        assert_eq!(weight(word(Doing::Request, 0), now), None);
        assert_eq!(weight(word(Doing::Answer, now - LEAST_STALL_MS + 1), now), None);
        assert_eq!(weight(word(Doing::Answer, now - LEAST_PAUSE_MS + 1) | READS, now), None);
        assert_eq!(weight(word(Doing::Head, now - LEAST_WAIT_MS + 1), now), None);
        assert_eq!(weight(word(Doing::Idle, now - LEAST_WAIT_MS + 1), now), None);
        assert_eq!(weight(word(Doing::Head, 0) | MARK, now), None, "it already ends");
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_takes_the_place_that_waited_longest() {
        let connections = Connections::default();
        let places = Places::new(3, 1, connections.clone());
        let mut taken = Vec::new();
        for _ in 0..3 {
            taken.push(places.take(None).unwrap());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        let is_marked = |place: &Place| place.0.word.load(Ordering::Relaxed) & MARK > 0;
        taken[0].0.handle();
        let fourth = places.take(None).unwrap();
        assert!(!is_marked(&taken[0]) && is_marked(&taken[1]) && !is_marked(&taken[2]));
        // Its request arrives first, so it stays, and the next one goes.
        taken[1].0.handle();
        assert!(!is_marked(&taken[1]));
        let fifth = places.take(None).unwrap();
        assert!(is_marked(&taken[2]));
        taken[0].0.set(Doing::Answer, Instant::now());
        assert_eq!((connections.open.get(), connections.in_flight.get()), (5, 2));
        drop((taken, fourth, fifth));
        assert_eq!((connections.open.get(), connections.in_flight.get()), (0, 0));
        assert_eq!(places.written.ending.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_slot_is_one_cache_line() {
        assert_eq!((size_of::<Slot>(), align_of::<Slot>()), (64, 64));
    }

    #[test]
    fn what_requests_read_is_on_no_line_that_a_connect_writes() {
        // The reference counts are before `Places`, which begins a line because `Written` does.
        assert!(align_of::<Places>() >= 128 && size_of::<Written>().is_multiple_of(128));
        assert!(std::mem::offset_of!(Places, written).is_multiple_of(128));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_connection_goes_to_a_thread_with_the_fewest() {
        let places = Places::new(100, 3, Connections::default());
        let open = || places.taken().open_by_thread.clone();
        let mut taken: Vec<Place> = (0..6).map(|_| places.take(Some(1)).unwrap()).collect();
        assert_eq!(open(), [2, 2, 2]);
        assert_eq!(taken[0].thread(), 1, "home, while it has no more than others");
        taken.retain(|place| place.thread() != 2);
        assert_eq!(open(), [2, 2, 0]);
        taken.extend((0..2).map(|_| places.take(Some(0)).unwrap()));
        assert_eq!(open(), [2, 2, 2]);
        drop(taken);
        assert_eq!(open(), [0, 0, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_answer_too_many_that_waits_for_its_client_ends() {
        let places = Places::new(MAX_ANSWERING + 1, 1, Connections::default());
        let taken: Vec<Place> = (0..=MAX_ANSWERING).map(|_| places.take(None).unwrap()).collect();
        let (last, others) = taken.split_last().unwrap();
        let context = Context::from_waker(Waker::noop());
        others.iter().for_each(|place| place.0.answer(Instant::now(), false));
        last.0.handle();
        assert!(!others[0].0.must_end(&context) && !last.0.must_end(&context));
        last.0.answer(Instant::now(), false);
        assert!(last.0.must_end(&context));
        others[0].0.set(Doing::Idle, Instant::now());
        assert!(!last.0.must_end(&context));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_ends_for_a_new_connection_while_all_have_requests() {
        let connections = Connections::default();
        let places = Places::new(2, 1, connections.clone());
        let taken = [places.take(None).unwrap(), places.take(None).unwrap()];
        taken.iter().for_each(|place| place.0.handle());
        tokio::time::advance(Duration::from_secs(60)).await;
        assert!(places.take(None).is_none());
        assert_eq!(connections.refused.get(), 1);
    }
}
