//! Every way back, by a run, the watcher or by hand, stops the route first, whatever blocks the other steps.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rollout::{Lock, Prometheus};
use rustix::process::{Pid, Resource, Rlimit, Signal, geteuid, kill_process, prlimit};

use crate::support::prometheus::{Measured, Traffic};
use crate::support::{Place, Process, eventually, route_with};

const LEASE: Duration = Duration::from_secs(2);
/// The inodes of a small disk.
const INODES: usize = 2000;
const MISMATCHES: &str = "sum(shadow_comparisons_total{result=\"mismatch\"})";

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    CheckHangs,
    ReloadHangs,
    LockIsHeld,
    DiskIsFull,
    FolderIsReadOnly,
    NoInodeIsFree,
}

/// A fault that blocks the other steps until it is dropped.
struct Fault<'a> {
    place: &'a Place,
    kind: Kind,
    _locks: Vec<Lock>,
}

impl<'a> Fault<'a> {
    /// Begins the fault for this process, which [`limited`] started.
    fn begin(place: &'a Place, kind: Kind, process: &Process) -> Self {
        let nginx = place.nginx();
        let mut locks = Vec::new();
        match kind {
            Kind::CheckHangs => fs::write(hangs(place), "").unwrap(),
            Kind::ReloadHangs => kill_process(master(place), Signal::STOP).unwrap(),
            // A run holds the lock of its route itself.
            Kind::LockIsHeld => {
                locks.push(Lock::take(&nginx.dir).unwrap());
                locks.extend(Lock::take(&nginx.route_dir()));
            }
            // No file may grow, which is how a program sees a full disk.
            Kind::DiskIsFull => {
                let none = Rlimit { current: Some(0), maximum: None };
                let pid = Pid::from_raw(process.0.id().cast_signed());
                prlimit(pid, Resource::Fsize, none).unwrap();
            }
            Kind::FolderIsReadOnly => set_modes(place, 0o555),
            Kind::NoInodeIsFree => {
                fs::create_dir(place.beside("inodes")).unwrap();
                let took =
                    (0..INODES).take_while(|number| fs::write(inode(place, *number), "").is_ok());
                assert!(took.count() < INODES, "the table is not full");
            }
        }
        Fault { place, kind, _locks: locks }
    }
}

impl Drop for Fault<'_> {
    fn drop(&mut self) {
        match self.kind {
            Kind::CheckHangs => fs::remove_file(hangs(self.place)).unwrap(),
            Kind::ReloadHangs => kill_process(master(self.place), Signal::CONT).unwrap(),
            Kind::LockIsHeld | Kind::DiskIsFull => {}
            Kind::FolderIsReadOnly => set_modes(self.place, 0o755),
            Kind::NoInodeIsFree => fs::remove_dir_all(self.place.beside("inodes")).unwrap(),
        }
    }
}

/// A file that takes an inode and nothing else.
fn inode(place: &Place, number: usize) -> PathBuf {
    place.beside("inodes").join(number.to_string())
}

/// The file whose presence makes `nginx -t` hang.
fn hangs(place: &Place) -> PathBuf {
    place.beside("hangs")
}

fn master(place: &Place) -> Pid {
    let pid = fs::read_to_string(place.nginx().dir.join("nginx.pid")).unwrap();
    Pid::from_raw(pid.trim().parse().unwrap()).unwrap()
}

fn set_modes(place: &Place, mode: u32) {
    let nginx = place.nginx();
    for folder in [nginx.route_dir(), nginx.dir] {
        fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
    }
}

/// Starts the program so that a limit on file sizes does not kill it, that root has no more rights to write than
/// others, and that `nginx -t` hangs while [`hangs`] exists.
fn limited(place: &Place, args: &[&str]) -> Process {
    limited_to(place, "unlimited", args)
}

fn limited_to(place: &Place, file_size: &str, args: &[&str]) -> Process {
    let bin = place.beside("bin");
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\n[ ! -e '{}' ] || exec sleep 60\nPATH='{path}' exec nginx \"$@\"\n",
        hangs(place).display()
    );
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("nginx"), script).unwrap();
        fs::set_permissions(bin.join("nginx"), Permissions::from_mode(0o755)).unwrap();
    }
    let plain = place.ramp(args);
    let mut command = Command::new("setpriv");
    if geteuid().is_root() {
        command.args(["--bounding-set", "-dac_override,-dac_read_search"]);
    }
    let run = format!("trap '' XFSZ; ulimit -f {file_size}; exec \"$0\" \"$@\"");
    command.args(["--no-new-privs", "sh", "-c", &run]);
    command.arg(plain.get_program()).args(plain.get_args());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", format!("{}:{path}", bin.display()));
    Process(command.stdout(Stdio::null()).spawn().unwrap())
}

fn start_run(place: &Place) -> Process {
    let gates = place.beside("gates.toml");
    let gate = format!(
        "overlap = \"1s\"\n[[gate]]\nname = \"wrong\"\nquery = '{MISMATCHES}'\ncompare = \"==\"\nlimit = 0\n"
    );
    fs::write(&gates, gate).unwrap();
    let gates = gates.display().to_string();
    let args = ["ramp", "--steps", "50", "--every", "100ms", "--hold", "60s", "--gates", &gates];
    let run = limited(place, &args);
    // An earlier run may have left its state, and this one still has to remove a file once nginx serves its share.
    let before = place.nginx().route_dir().join("split.conf.before");
    let is_at_50 = || place.nginx().served().is_ok_and(|it| it.share_percent.to_string() == "50");
    let holds = || place.succeeds(&["status"]).contains("holding: step 1 of 1, 50%\n");
    assert!(eventually(|| is_at_50() && holds() && !before.exists()));
    run
}

/// Waits until every request goes to the old side, at most `at_most` after `since`. On a busy machine it may take
/// longer, by ten times the start of a program there; faults last longer than that.
fn is_back(place: &Place, since: Instant, at_most: Duration) {
    assert!(eventually(|| place.is_stopped()));
    let took = since.elapsed();
    if took >= at_most {
        let began = Instant::now();
        place.succeeds(&["--version"]);
        let busy = 10 * began.elapsed();
        assert!(took < at_most + busy, "{took:?}, and {busy:?} for ten starts of a program");
    }
    assert_eq!(place.new_answers(), 0);
}

fn goes_back_first(kind: Kind) {
    goes_back_first_in(&std::env::temp_dir(), kind);
}

fn goes_back_first_in(disk: &Path, kind: Kind) {
    let lease = format!("[ramp]\nlease = \"{}s\"", LEASE.as_secs());
    let place = Place::within(disk, &[route_with(&lease)]);
    let measured = Measured::fine(&place);
    let second = Duration::from_secs(1);
    let stop = |name: &str| place.nginx().dir.join("stop").join(name);
    let again = || place.succeeds(&["clear", "--reason", "again"]);

    // By hand, with the file that was prepared before.
    assert_eq!(limited(&place, &["split", "50"]).wait(), Some(0));
    let inode = fs::metadata(stop(".qrcode")).unwrap().ino();
    let shell = Process(Command::new("sleep").arg("60").spawn().unwrap());
    let fault = Fault::begin(&place, kind, &shell);
    let since = Instant::now();
    let room = if kind == Kind::DiskIsFull { "0" } else { "unlimited" };
    let hand = limited_to(&place, room, &["rollback"]);
    is_back(&place, since, second);
    assert_eq!(fs::metadata(stop("qrcode")).unwrap().ino(), inode);
    assert_eq!(hand.wait(), Some(0));
    drop(fault);
    again();

    // By the watcher, after a run was killed.
    let watch = limited(&place, &["watch"]);
    let run = start_run(&place);
    run.signal(Signal::KILL);
    let killed = Instant::now();
    assert_eq!(run.wait(), None);
    let fault = Fault::begin(&place, kind, &watch);
    is_back(&place, killed, LEASE + second);
    watch.signal(Signal::KILL);
    let _ = watch.wait();
    drop(fault);
    again();

    // By a run whose gate fails.
    let run = start_run(&place);
    let fault = Fault::begin(&place, kind, &run);
    measured.set(Traffic { mismatches: 1000.0, ..Traffic::FINE });
    let prometheus = Prometheus { url: format!("http://{}", place.at.prometheus) };
    assert!(eventually(|| prometheus.number(MISMATCHES).is_ok_and(|number| number > 0.0)));
    is_back(&place, Instant::now(), second);
    // The run goes on once it can, and lifts its own stop.
    drop(fault);
    if kind == Kind::DiskIsFull {
        run.signal(Signal::KILL);
        let _ = run.wait();
        return;
    }
    assert_eq!(run.wait(), Some(3));
    assert_eq!((place.share().as_str(), stop("qrcode").exists()), ("0", false));
    assert_eq!(fs::metadata(stop(".qrcode")).unwrap().ino(), inode);
}

#[test]
fn while_a_check_hangs() {
    goes_back_first(Kind::CheckHangs);
}

#[test]
fn while_a_reload_hangs() {
    goes_back_first(Kind::ReloadHangs);
}

#[test]
fn while_somebody_holds_the_lock() {
    goes_back_first(Kind::LockIsHeld);
}

#[test]
fn while_the_disk_is_full() {
    goes_back_first(Kind::DiskIsFull);
}

#[test]
fn while_the_folder_is_read_only() {
    goes_back_first(Kind::FolderIsReadOnly);
}

/// A small disk, unmounted when it is dropped.
struct Disk(tempfile::TempDir);

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[test]
fn while_no_inode_is_free() {
    let disk = Disk(tempfile::tempdir().unwrap());
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("nr_inodes={INODES},mode=755"), "tmpfs"]);
    if !mount.arg(disk.0.path()).status().unwrap().success() {
        // Only root can mount it.
        return;
    }
    goes_back_first_in(disk.0.path(), Kind::NoInodeIsFree);
}

#[test]
fn a_check_that_hangs_is_given_up() {
    let place = Place::new();
    fs::write(hangs(&place), "").unwrap();
    let split = limited(&place, &["split", "50"]);
    assert_eq!(split.wait(), Some(1));
    assert_eq!(place.share(), "0");
}

#[test]
fn a_stop_by_hand_outlasts_the_way_back_of_a_run() {
    let place = Place::new();
    let measured = Measured::fine(&place);
    let run = start_run(&place);
    let fault = Fault::begin(&place, Kind::ReloadHangs, &run);
    measured.set(Traffic { mismatches: 1000.0, ..Traffic::FINE });
    let metrics = |line: &str| place.read("ramp.prom").contains(line);
    // This is not a stop that somebody must clear.
    assert!(eventually(|| metrics("ramp_braked{route=\"qrcode\"} 1")));
    assert!(metrics("ramp_stopped{route=\"qrcode\"} 0"), "{}", place.read("ramp.prom"));
    place.succeeds(&["rollback", "--reason", "by hand"]);
    assert!(
        metrics("ramp_braked{route=\"qrcode\"} 0") && metrics("ramp_stopped{route=\"qrcode\"} 1")
    );
    drop(fault);
    assert_eq!(run.wait(), Some(3));
    thread::sleep(Duration::from_millis(100));
    assert!(place.succeeds(&["status"]).contains(": by hand; all of it goes to the old side"));
}
