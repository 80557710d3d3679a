//! Values that each thread writes for itself, so that no two cores write to the same cache line.

use thread_local::ThreadLocal;

/// One `T` for each thread that has asked for it. A thread that begins when another has ended may go on with
/// that one's.
#[derive(Debug, Default)]
pub struct PerThread<T: Send>(ThreadLocal<Apart<T>>);

/// Two lines of 64 bytes: x86 processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

impl<T: Send + Default> PerThread<T> {
    /// This thread's; on its first call the default.
    pub fn mine(&self) -> &T {
        &self.0.get_or_default().0
    }
}

impl<T: Send + Sync> PerThread<T> {
    /// Those of all threads, also of ones that have ended.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|apart| &apart.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Barrier};
    use std::thread;

    use super::*;

    /// The cache lines of a value.
    fn lines<T>(value: &T) -> std::ops::Range<usize> {
        let from = std::ptr::from_ref(value).addr();
        from / 64..(from + size_of::<T>()).div_ceil(64)
    }

    #[test]
    fn no_two_threads_have_a_cache_line_in_common() {
        const THREADS: usize = 9;
        let counts = Arc::new(PerThread::<[AtomicU64; 3]>::default());
        let together = Arc::new(Barrier::new(THREADS));
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let (counts, together) = (Arc::clone(&counts), Arc::clone(&together));
                thread::spawn(move || {
                    let mine = counts.mine();
                    for _ in 0..1000 {
                        mine[2].fetch_add(1, Ordering::Relaxed);
                    }
                    // Nobody ends before all have begun, or they would share.
                    together.wait();
                    lines(mine)
                })
            })
            .collect();
        let mut taken: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
        taken.sort_by_key(|lines| lines.start);
        assert!(taken.windows(2).all(|two| two[0].end <= two[1].start), "{taken:?}");
        let sum: u64 = counts.all().map(|it| it[2].load(Ordering::Relaxed)).sum();
        assert_eq!(sum, 1000 * THREADS as u64, "the sum has those of threads that have ended");
    }
}
