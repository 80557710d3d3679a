//! Limits the CPU time of comparisons to a share of one core, measured over the whole process. Each route still gets
//! ten turns a second, whatever the others use. Otherwise, if several routes are ramped at once, all would wait for
//! pairs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::time::sleep;

/// How much CPU time may be saved for a burst, and how much overspending is remembered, in seconds of the share.
const MOST_SAVED: Duration = Duration::from_secs(1);
const MOST_OWED: Duration = Duration::from_secs(10);
/// The longest wait of a route, so that its gates get their ten pairs a second even if taking requests costs the whole
/// share.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// The CPU time that all routes may take together.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    /// Seconds of CPU per second.
    share: f64,
    /// Seconds of CPU that may be spent; negative if too much was spent.
    saved: f64,
    /// The process's CPU time when it was last read, and when that was.
    seen: (Duration, Instant),
}

/// Decides when the next comparison of a route may start.
#[derive(Debug)]
pub(crate) struct Turns {
    budget: Budget,
    last: Instant,
}

impl Budget {
    /// A budget of `share` of one core, which must be above 0.
    pub(crate) fn new(share: f64) -> Self {
        Budget::at(share, cpu_time(), Instant::now())
    }

    fn at(share: f64, cpu: Duration, now: Instant) -> Self {
        let saved = share * MOST_SAVED.as_secs_f64();
        Budget(Arc::new(Mutex::new(Account { share, saved, seen: (cpu, now) })))
    }

    /// The turns of one more route.
    pub(crate) fn turns(&self) -> Turns {
        Turns { budget: self.clone(), last: Instant::now() }
    }
}

impl Turns {
    /// Waits until the next comparison may start. `elsewhere` is the time that earlier ones took in other processes.
    pub(crate) async fn next(&mut self, elsewhere: Duration) {
        let mut elsewhere = elsewhere.as_secs_f64();
        loop {
            let wait = self.wait(cpu_time(), Instant::now(), std::mem::take(&mut elsewhere));
            if wait.is_zero() {
                return;
            }
            sleep(wait).await;
        }
    }

    /// How long to wait at least. If zero, the turn begins now.
    fn wait(&mut self, cpu: Duration, now: Instant, elsewhere: f64) -> Duration {
        let mut account = self.budget.0.lock().unwrap_or_else(PoisonError::into_inner);
        account.settle(cpu, now, elsewhere);
        let left = LONGEST_WAIT.saturating_sub(now - self.last);
        if account.saved >= 0.0 || left.is_zero() {
            self.last = now;
            return Duration::ZERO;
        }
        Duration::from_secs_f64(-account.saved / account.share).max(SHORTEST_WAIT).min(left)
    }
}

impl Account {
    fn settle(&mut self, cpu: Duration, now: Instant, elsewhere: f64) {
        let (cpu_before, before) = std::mem::replace(&mut self.seen, (cpu, now));
        let earned = self.share * (now - before).as_secs_f64();
        let spent = cpu.saturating_sub(cpu_before).as_secs_f64() + elsewhere;
        let [most, least] = [MOST_SAVED, MOST_OWED].map(|it| self.share * it.as_secs_f64());
        self.saved = (self.saved + earned - spent).clamp(-least, most);
    }
}

/// CPU time of all threads of this process since it started.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // Neither is ever negative.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests;
