//! Three machines without Kubernetes: two proxies follow the state of the first machine over HTTP.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::prometheus::Measured;
use crate::support::{Place, Process, eventually};

/// The time within which a rollback must be in force everywhere.
const SOON: Duration = Duration::from_secs(1);

/// The first machine with the watcher of its runs, and two machines that follow it.
struct Machines {
    first: Place,
    watcher: Option<Process>,
    others: [Place; 2],
    followers: Vec<Process>,
}

impl Machines {
    /// Starts the machines. A run of the first one counts as lost after four seconds of silence.
    fn start() -> Self {
        let [first, second, third] = [(); 3].map(|()| Place::with_lines("[ramp]\nlease = \"4s\""));
        let watcher = Some(first.start(&["watch"]));
        let from = format!("http://{}", first.at.admin);
        let others = [second, third];
        let followers =
            others.iter().map(|place| place.start(&["follow", "--from", &from])).collect();
        let machines = Machines { first, watcher, others, followers };
        assert!(eventually(|| machines.first.file("state.json").exists()));
        machines
    }

    fn all(&self) -> impl Iterator<Item = &Place> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn serve(&self, percent: &str) -> bool {
        eventually(|| self.all().all(|it| it.served().share_percent.to_string() == percent))
    }
}

#[test]
fn a_share_and_a_rollback_hold_on_all_machines() {
    let machines = Machines::start();
    for percent in ["25", "100", "5"] {
        machines.first.succeeds(&["split", percent]);
        assert!(machines.serve(percent), "{percent}");
    }
    let keys: Vec<String> = (0..400).map(|key| key.to_string()).collect();
    let served: Vec<_> = machines.all().map(|place| place.served_by_new(&keys)).collect();
    assert!(served.iter().all(|it| *it == served[0]), "each sends a key to the same side");

    let since = Instant::now();
    machines.first.succeeds(&["rollback", "--reason", "odd"]);
    assert!(eventually(|| machines.all().all(Place::is_stopped)));
    assert!(since.elapsed() < SOON + Duration::from_secs(1), "{:?}", since.elapsed());
    // The absence of the first machine changes nothing.
    let Machines { mut first, watcher, others, mut followers } = machines;
    first.stop_nginx();
    thread::sleep(Duration::from_secs(2));
    assert!(others.iter().all(Place::is_stopped));
    first.start_nginx();
    first.succeeds(&["clear", "--reason", "even"]);
    assert!(eventually(|| !others.iter().any(Place::is_stopped)));
    for follower in followers.drain(..) {
        follower.signal(Signal::TERM);
        assert_eq!(follower.wait(), Some(0));
    }
    drop(watcher);
}

#[test]
fn a_machine_that_hears_no_run_any_more_sends_its_requests_back() {
    let mut machines = Machines::start();
    let _measured = Measured::fine(&machines.first);
    let args = ["ramp", "--steps", "25", "--hold", "10m", "--patience", "10m"];
    let run = machines.first.start(&args);
    assert!(machines.serve("25"));
    let holds = || {
        fs::read_to_string(machines.others[0].file("ramp.json"))
            .is_ok_and(|it| it.contains("holding"))
    };
    assert!(eventually(holds), "it hears the run");
    thread::sleep(Duration::from_secs(5));
    assert!(!machines.others.iter().any(Place::is_stopped), "as long as it is heard");
    // The whole first machine goes down, so nobody can tell the others anything.
    machines.watcher.take().unwrap().signal(Signal::KILL);
    run.signal(Signal::KILL);
    // Both others hear the last heartbeat. One that hears it only when the machine is back counts the lease from there.
    thread::sleep(Duration::from_secs(1));
    machines.first.stop_nginx();
    assert!(eventually(|| machines.others.iter().all(Place::is_stopped)), "after the lease");

    // The first machine comes back, and somebody ends the run.
    machines.first.start_nginx();
    thread::sleep(Duration::from_secs(2));
    assert!(machines.others.iter().all(Place::is_stopped), "the run is silent still");
    machines.first.succeeds(&["abort"]);
    assert!(machines.serve("0"));
    assert!(eventually(|| !machines.others.iter().any(Place::is_stopped)));
}
