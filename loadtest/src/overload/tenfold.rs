//! Ten times the load that the stack bears.
//!
//! Clients on the same machine cannot send ten times what nginx and qr-service answer with a whole
//! processor each. So both together get a tenth of one, by a control group of the kernel; the clients keep the rest.
//! This is a model on a scale: the queue of new connections is shortened by as much as fewer are answered, so
//! that it takes as long to wait in as before. Whoever finds it full gets no answer from the kernel, and nginx
//! spends no time on them. Each request has a connection of its own, from many addresses, and each client
//! gives up after a second.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use ramp::Share;
use rustix::process::{Signal, kill_process};
use stack::{Part as Program, Stack};
use tokio::task::JoinSet;

use super::open_loop::{self, Flow, exchange, quantile, runtime};
use super::parts::{address, path_of_text, start};
use super::slow::allow_files;
use super::{Plan, Report};
use crate::sampling;

/// Of a processor, for nginx and qr-service together.
const PART_OF_A_PROCESSOR: f64 = 0.1;
/// New connections that may wait for nginx, where its configuration does not say.
const NGINX_BACKLOG: f64 = 511.0;
/// The kernel shares a processor out in periods of this length.
const PERIOD: Duration = Duration::from_millis(10);
/// Clients that ask again as soon as they are answered, to find what the stack bears.
const CLIENTS: usize = 32;
const MEASURED: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(1);
const MAX_QR_SERVICE_BYTES: f64 = 32e6;

pub(super) fn play(plan: &Plan) -> anyhow::Result<Report> {
    let mut report = Report::of(plan);
    let stack = start(plan, Share::ALL, 1)?;
    let server = address(&stack);
    answered_per_second(server, Duration::from_secs(1))?; // warms up
    let whole = answered_per_second(server, MEASURED)?;
    let (nginx, qr_service) =
        (stack.pid_of(Program::Nginx)?, stack.pid_of(Program::QrService)?.as_raw_nonzero().get());
    let mut throttled = descendants(nginx.as_raw_nonzero().get())?;
    throttled.push(qr_service);
    let group = match ControlGroup::new(&throttled) {
        Ok(group) => group,
        Err(why) => {
            anstream::eprintln!("not played, since processes cannot be slowed down: {why:#}");
            return Ok(report);
        }
    };
    let peak = answered_per_second(server, MEASURED)?;
    report.figure("the most that is answered per second", peak);
    report.figure("the same with whole processors", whole);
    ensure!(peak > 10.0, "only {peak} answers per second");

    shorten_queue(&stack, peak / whole)?;
    let rate = 10.0 * peak;
    allow_files((1.25 * rate * PATIENCE.as_secs_f64()) as u64 + 1024)?;
    let flow = Flow {
        from: Some(|number| IpAddr::V4(Ipv4Addr::new(127, 0, 1, (number % 250) as u8 + 1))),
        patience: PATIENCE,
        ..Flow::new(rate, path_of_text)
    };
    let running = open_loop::start(server, vec![flow], plan.fault)?;
    let began = Instant::now();
    let mut most_bytes = 0.0_f64;
    while began.elapsed() < plan.fault {
        most_bytes = most_bytes.max(sampling::memory(&[qr_service]).rss_bytes as f64);
        thread::sleep(Duration::from_millis(250));
    }
    let samples = running.finish()?.concat();
    thread::sleep(Duration::from_secs(1));
    let after = answered_per_second(server, MEASURED)?;
    drop(group);

    let answered: Vec<_> = samples.iter().filter(|sample| sample.status == 200).collect();
    let goodput = answered.len() as f64 / plan.fault.as_secs_f64();
    report.figure("asked per second", samples.len() as f64 / plan.fault.as_secs_f64());
    report.at_least("answered, of that most", goodput / peak, 0.9);
    let refused = |status| samples.iter().filter(|sample| sample.status == status).count() as f64;
    report
        .figure("told to come again, ratio", (refused(429) + refused(503)) / samples.len() as f64);
    report.figure("given up, ratio", refused(0) / samples.len() as f64);
    report.figure("median of answers, ms", quantile(answered.clone(), 0.5).as_secs_f64() * 1e3);
    report.below("p99 of answers", quantile(answered, 0.99), Duration::from_millis(250));
    report.figure("qr-service, MB", most_bytes / 1e6);
    if most_bytes >= MAX_QR_SERVICE_BYTES {
        report.complaints.push(format!("qr-service takes {most_bytes} bytes"));
    }
    report.at_least("a second after, of that most", after / peak, 0.9);
    Ok(report)
}

/// Makes the queue of new connections so much shorter.
fn shorten_queue(stack: &Stack, scale: f64) -> anyhow::Result<()> {
    let listen = stack.settings().nginx_dir().join("listen.conf");
    let text = fs::read_to_string(&listen).with_context(|| listen.display().to_string())?;
    let queue = (scale * NGINX_BACKLOG).ceil();
    fs::write(&listen, text.replacen(';', &format!(" backlog={queue};"), 1))?;
    // One processor, so one worker.
    let conf = stack.settings().nginx_dir().join("nginx.conf");
    let text = fs::read_to_string(&conf)?;
    let workers = text.lines().find(|line| line.starts_with("worker_processes"));
    let workers = workers.context("nginx.conf says no number of workers")?;
    fs::write(&conf, text.replace(workers, "worker_processes 1;"))?;
    let nginx = stack.pid_of(Program::Nginx)?;
    kill_process(nginx, Signal::HUP).context("nginx")?;
    thread::sleep(Duration::from_secs(2)); // the old workers end
    Ok(())
}

/// What clients get that ask again as soon as they are answered.
fn answered_per_second(server: SocketAddr, lasts: Duration) -> anyhow::Result<f64> {
    runtime()?.block_on(async {
        let (end, number) = (Instant::now() + lasts, Arc::new(AtomicU64::new(0)));
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            let number = Arc::clone(&number);
            clients.spawn(async move {
                let mut answered = 0_u32;
                while Instant::now() < end {
                    let number = number.fetch_add(1, Ordering::Relaxed);
                    let target = format!("/qrcode?text=https://example.com/peak/{number}");
                    let answer = exchange(server, None, &target).await;
                    answered += u32::from(answer.is_ok_and(|(status, _)| status == 200));
                }
                answered
            });
        }
        let answered = clients.join_all().await.into_iter().sum::<u32>();
        Ok(f64::from(answered) / lasts.as_secs_f64())
    })
}

/// A process and its children.
fn descendants(pid: i32) -> anyhow::Result<Vec<i32>> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    Ok([pid].into_iter().chain(children).collect())
}

/// A group of processes that together may use a part of one processor; cgroups(7).
struct ControlGroup {
    folder: PathBuf,
    /// Where its processes came from, and return to.
    parent: PathBuf,
}

impl ControlGroup {
    fn new(pids: &[i32]) -> anyhow::Result<Self> {
        let (period, quota) = (PERIOD.as_micros(), PERIOD.mul_f64(PART_OF_A_PROCESSOR).as_micros());
        let v1 = Path::new("/sys/fs/cgroup/cpu");
        let is_v1 = v1.join("cpu.cfs_quota_us").exists() || v1.join("tasks").exists();
        let parent = if is_v1 { v1.to_owned() } else { PathBuf::from("/sys/fs/cgroup") };
        let folder = parent.join(format!("overload-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        let group = ControlGroup { folder, parent };
        let write = |file: &str, text: String| {
            let file = group.folder.join(file);
            fs::write(&file, text).with_context(|| file.display().to_string())
        };
        if is_v1 {
            write("cpu.cfs_period_us", period.to_string())?;
            write("cpu.cfs_quota_us", quota.to_string())?;
        } else {
            write("cpu.max", format!("{quota} {period}"))?;
        }
        for pid in pids {
            // The kernel gives what is left to the processor that asks first, so all ask at one.
            let pinned = Command::new("taskset").args(["-acp", "0", &pid.to_string()]).output();
            ensure!(pinned.context("taskset")?.status.success(), "{pid} cannot be pinned");
            write("cgroup.procs", pid.to_string())?;
        }
        Ok(group)
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let pids = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        for pid in pids.lines() {
            let _ = fs::write(self.parent.join("cgroup.procs"), pid);
        }
        let _ = fs::remove_dir(&self.folder);
    }
}
