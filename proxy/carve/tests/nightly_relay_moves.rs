//! Pairs of all kinds while the relay's share moves, and while its parts are restarted and killed. RATE and SECONDS
//! make the test longer.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/pairs.rs"]
mod pairs;
mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use carve::local::{Part, Share, Stack};
use pairs::{Leaver, Pair};
use rustix::process::Signal;
use support::start;

/// The amount of load.
struct Load {
    pairs_per_second: f64,
    time: Duration,
    largest: u64,
    /// The moves of the share, spread over the time.
    moves: u32,
}

/// Plays RATE pairs per second for SECONDS; for a minute or more, with bodies of up to 100 MB.
#[test]
fn no_pair_is_stranded_or_cut_and_no_byte_changed() {
    let number = |name, default: f64| {
        std::env::var(name).ok().map_or(default, |text| text.parse().expect(name))
    };
    let time = Duration::from_secs_f64(number("SECONDS", 12.0));
    let is_long = time >= Duration::from_secs(60);
    let (largest, moves) = if is_long { (100_000_000, 100) } else { (5_000_000, 20) };
    play(&Load { pairs_per_second: number("RATE", 20.0), time, largest, moves });
}

fn play(load: &Load) {
    let stack = start(|it| it.split = Some(Share::NONE));
    let proxy = stack.settings().addresses.proxy;
    let problems = Mutex::new(Vec::new());
    let (whole, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| move_share(&stack, load));
        scope.spawn(|| disturb(&stack, load.time));
        let begin = Instant::now();
        for number in 0.. {
            let due = Duration::from_secs_f64(f64::from(number) / load.pairs_per_second);
            if due > load.time {
                break;
            }
            thread::sleep(due.saturating_sub(begin.elapsed()));
            let pair = pair(number, load.largest);
            let (problems, whole, left) = (&problems, &whole, &left);
            scope.spawn(move || match pair.play(proxy) {
                Ok(()) => {
                    let count = if pair.leaver == Leaver::Nobody { whole } else { left };
                    count.fetch_add(1, Ordering::Relaxed);
                }
                Err(problem) => {
                    let after = begin.elapsed();
                    problems.lock().unwrap().push(format!("after {after:?}: {problem}; {pair:?}"));
                }
            });
        }
    });
    let (whole, left) = (whole.into_inner(), left.into_inner());
    let problems = problems.into_inner().unwrap();
    anstream::println!(
        "{whole} whole pairs, {left} that somebody left, {} moves of the share",
        load.moves
    );
    assert!(
        problems.is_empty(),
        "{} of {}:\n{}",
        problems.len(),
        whole + left,
        problems.join("\n")
    );
    assert!(whole > left && left > 0, "{whole} whole, {left} left");
}

/// In one pair in ten an end leaves midway; in one in ten the receiver is slow. Most are small; one in a hundred has up
/// to `largest` bytes.
fn pair(number: u32, largest: u64) -> Pair {
    let bytes = match fastrand::u32(..1000) {
        0 => largest,
        1..10 => fastrand::u64(1_000_000..largest / 4),
        _ => 10_f64.powf(3.0 + 3.0 * fastrand::f64()) as u64,
    };
    let leaver = match fastrand::u32(..20) {
        0 => Leaver::Sender,
        1 => Leaver::Receiver,
        _ => Leaver::Nobody,
    };
    let is_slow = bytes < 2_000_000 && fastrand::u32(..10) == 0;
    Pair {
        key: format!("moves-{number}-{:08x}", fastrand::u32(..)),
        bytes,
        is_chunked: fastrand::bool(),
        sender_first: fastrand::bool(),
        gap: Duration::from_millis(fastrand::u64(..1000)),
        pause: Duration::from_millis(if is_slow { 100 } else { 0 }),
        leaver,
    }
}

fn move_share(stack: &Stack, load: &Load) {
    for percent in [25, 50, 100, 0].into_iter().cycle().take(load.moves as usize) {
        thread::sleep(load.time / (load.moves + 1));
        // ramp waits until the homes use the share. A home that is killed at this moment does not answer, which is no
        // failure.
        if let Err(error) = stack.set_split("relay", Share::percent(percent).unwrap()) {
            anstream::println!("{percent}%: {error:#}");
        }
    }
}

/// Restarts each side while it drains, and kills a home.
fn disturb(stack: &Stack, time: Duration) {
    for (part, signal) in [
        (Part::RelayService, Signal::TERM),
        (Part::LegacyRelay, Signal::TERM),
        (Part::RelayHome, Signal::KILL),
    ] {
        thread::sleep(time / 5);
        let before = stack.pid_of(part).unwrap();
        stack.signal_part(part, signal).unwrap();
        while stack.pid_of(part).is_ok_and(|now| now == before) {
            thread::sleep(Duration::from_millis(200));
        }
        stack.wait_until_ready(part).unwrap();
    }
}
