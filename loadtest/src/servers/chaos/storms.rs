//! Storms: a side that hangs or is gone under load, and clients that hold connections. Each has limits on what clients
//! may see.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use carve::local::{Stack, http};
use rollout::Share;
use rustix::process::{Pid, Signal, kill_process};

use super::slow::SlowClients;
use super::{Plan, Report};
use crate::client::{Flow, Running, Sample, quantile, start as send_flow};
use crate::servers::demonstration;

/// A storm.
#[derive(Clone, Copy)]
pub struct Storm {
    /// Its name in tables.
    pub name: &'static str,
    play: fn(&Plan, Report) -> anyhow::Result<Report>,
}

impl Storm {
    /// Starts a stack and plays it. Fails if the stack does not start, or the storm cannot be played.
    pub fn play(&self, plan: &Plan) -> anyhow::Result<Report> {
        (self.play)(plan, Report::new(self.name, plan)).context(self.name)
    }
}

/// All storms, in the order in which they are played.
pub const STORMS: [Storm; 3] = [
    Storm { name: "app hangs: the old side and its pages", play: app_hangs },
    Storm { name: "new side gone in a storm", play: new_side_gone },
    Storm { name: "slow clients", play: slow_clients },
];

/// Requests of the route per second while the new side is away.
const STORM: f64 = 1000.0;
/// Slow connections at once.
const SLOW: usize = 10_000;
/// Time before a fault, so that connections are open and caches are warm.
const WARM_UP: Duration = Duration::from_secs(2);
/// nginx must have noticed a fault after this time.
const NOTICED: Duration = Duration::from_secs(5);
/// Everything must work again this long after a fault.
const RECOVERED: Duration = Duration::from_secs(10);
/// Time after that, to check it.
const AFTER: Duration = Duration::from_secs(3);

/// The legacy app's workers are stopped, so its kernel accepts connections and nobody answers. Pictures must come from
/// the new side as fast as if the app were dead. Pages, which only the app can answer, must fail at once, except for a
/// few.
fn app_hangs(plan: &Plan, mut report: Report) -> anyhow::Result<Report> {
    const TEXTS: u64 = 1000;
    let stack = start(plan, Share::percent(50)?, 2)?;
    let of_old = texts_of_old(&stack, TEXTS)?;
    let page_timeout = Duration::from_secs(10);
    // The first failures come when the first pages are given up.
    let fault = page_timeout + plan.storm;
    let lasts = WARM_UP + fault + RECOVERED + AFTER;
    let pictures = send(&stack, 200.0, lasts, |number| path_of_text(number % TEXTS))?;
    let pages = send(&stack, 20.0, lasts, |_| "/".to_owned())?;
    let [stopped, ended] = hang_app(&stack, fault)?;
    let (pictures, pages) = (pictures.finish()?, pages.finish()?);

    report.some("pictures", pictures.len());
    report.none("pictures: not 200", neither(&pictures, [200, 200]));
    report.below("slowest picture", quantile(&pictures, 1.0), Duration::from_secs(4));
    let late = |sample: &&Sample| sample.due > stopped + NOTICED && sample.due < ended;
    let is_of_old = |sample: &&Sample| of_old[(sample.number % TEXTS) as usize];
    let of_old: Vec<&Sample> = pictures.iter().filter(late).filter(is_of_old).collect();
    report.some("pictures of the old side's share after 5 s", of_old.len());
    report.below("their median", quantile(of_old, 0.5), Duration::from_millis(50));

    report.below("slowest page", quantile(&pages, 1.0), page_timeout + Duration::from_secs(2));
    let given_up = stopped + page_timeout + Duration::from_secs(1);
    let late = || pages.iter().filter(|sample| sample.due > given_up && sample.due < ended);
    report.some("pages after the first were given up", late().count());
    report.below("the median of these", quantile(late(), 0.5), Duration::from_millis(100));
    // nginx tries the app again now and then; those requests are answered when the app is back.
    let meanwhile = late().filter(|sample| sample.due + sample.took < ended);
    report.none("pages: neither 502 nor 504", neither(meanwhile, [502, 504]));
    let back = pages.iter().filter(|sample| sample.due > ended + RECOVERED);
    report.none("pages: not 200 after it is back", neither(back, [200, 200]));
    // Two workers can barely handle their half of the load, and may not catch up while it lasts; then nginx rightly
    // does not use them. At one client's pace they must be back.
    let deadline = Instant::now() + RECOVERED;
    let mut alone = 0;
    while alone == 0 && Instant::now() < deadline {
        alone = texts_of_old(&stack, TEXTS / 10)?.into_iter().filter(|is_old| *is_old).count();
    }
    report.some("served by the old side again", alone);
    Ok(report)
}

/// The new side hangs, and then is away, under more requests than the app can answer. The app's pages
/// and links have to stay quick.
fn new_side_gone(plan: &Plan, mut report: Report) -> anyhow::Result<Report> {
    let stack = start(plan, Share::ALL, 1)?;
    let part = "qr-service";
    storm(
        &mut report,
        plan,
        &stack,
        "hangs",
        [&|| stack.signal_part(part, Signal::STOP), &|| stack.signal_part(part, Signal::CONT)],
    )?;
    storm(
        &mut report,
        plan,
        &stack,
        "away",
        [
            &|| {
                stack
                    .signal_part(part, Signal::KILL)
                    .and_then(|()| stack.supervisor.stop_part(part))
            },
            &|| stack.start_part(part),
        ],
    )?;
    Ok(report)
}

fn storm(
    report: &mut Report,
    plan: &Plan,
    stack: &Stack,
    name: &str,
    [begin, end]: [&dyn Fn() -> anyhow::Result<()>; 2],
) -> anyhow::Result<()> {
    let lasts = WARM_UP + plan.storm + RECOVERED + AFTER;
    let route = send(stack, STORM, lasts, path_of_text)?;
    let pages = send(stack, 10.0, lasts, |_| "/".to_owned())?;
    let links = send(stack, 10.0, lasts, |_| "/api/links?id=0000000".to_owned())?;
    thread::sleep(WARM_UP);
    let began = Instant::now();
    begin()?;
    thread::sleep(plan.storm.saturating_sub(began.elapsed()));
    let ended = Instant::now();
    end()?;
    let returned = Instant::now();
    report_storm(report, name, &route.finish()?, [began, ended, returned]);
    for (what, samples) in [("pages", pages.finish()?), ("links", links.finish()?)] {
        let during: Vec<Sample> = samples.into_iter().filter(|it| it.due > began).collect();
        report.none(&format!("{name}: {what} that failed"), neither(&during, [200, 302]));
        let p99 = quantile(&during, 0.99);
        report.below(&format!("{name}: p99 of {what}"), p99, Duration::from_millis(500));
    }
    Ok(())
}

fn report_storm(
    report: &mut Report,
    name: &str,
    route: &[Sample],
    [began, ended, returned]: [Instant; 3],
) {
    report.none(&format!("{name}: neither 200 nor 503"), neither(route, [200, 503]));
    let late = route.iter().filter(|it| it.due > began + NOTICED && it.due < ended);
    let (served, refused): (Vec<&Sample>, Vec<&Sample>) = late.partition(|it| it.status == 200);
    let by_old = served.iter().filter(|it| it.served_by == "legacy-node").count();
    report.some(&format!("{name}: served by the old side after 5 s"), by_old);
    report.some(&format!("{name}: refused after 5 s"), refused.len());
    let hint = refused.iter().filter(|it| it.retry_after != "1").count();
    report.none(&format!("{name}: refused without Retry-After"), hint);
    let last = route.iter().filter(|it| it.status != 200).map(|it| it.due).max();
    let back = last.map_or(Duration::ZERO, |last| last.saturating_duration_since(returned));
    let [median, p99] = [0.5, 0.99].map(|part| quantile(refused.iter().copied(), part));
    for (what, took, limit) in [
        ("median of refusals", median, Duration::from_millis(50)),
        ("p99 of refusals", p99, Duration::from_millis(500)),
        ("slowest of the route", quantile(route, 1.0), Duration::from_secs(6)),
        ("last refusal after its return", back, RECOVERED),
    ] {
        report.below(&format!("{name}: {what}"), took, limit);
    }
}

/// 10,000 connections are slow at sending or reading. Other clients must notice nothing.
fn slow_clients(plan: &Plan, mut report: Report) -> anyhow::Result<Report> {
    let stack = start(plan, Share::ALL, 1)?;
    let slow = SlowClients::start(stack.settings().addresses.proxy, SLOW)?;
    let deadline = Instant::now() + Duration::from_secs(60);
    while slow.open() < SLOW * 9 / 10 {
        ensure!(Instant::now() < deadline, "only {} slow connections", slow.open());
        thread::sleep(Duration::from_millis(100));
    }
    let pictures = send(&stack, 100.0, plan.storm, path_of_text)?;
    let pages = send(&stack, 20.0, plan.storm, |_| "/".to_owned())?;
    let mut fewest = usize::MAX;
    let ended = Instant::now() + plan.storm;
    while Instant::now() < ended {
        fewest = fewest.min(slow.open());
        thread::sleep(Duration::from_millis(100));
    }
    let samples = [pictures.finish()?, pages.finish()?].concat();
    slow.stop();

    report.figure("slow connections, at least", fewest as f64);
    if fewest < SLOW / 2 {
        report.complaints.push(format!("only {fewest} slow connections"));
    }
    report.some("requests beside them", samples.len());
    report.none("not 200", neither(&samples, [200, 200]));
    report.below("p99", quantile(&samples, 0.99), Duration::from_millis(100));
    report.below("slowest", quantile(&samples, 1.0), Duration::from_secs(2));
    Ok(report)
}

fn start(plan: &Plan, split: Share, old_workers: usize) -> anyhow::Result<Stack> {
    // The mirror of the route files.
    let mirror = Share::percent(10)?;
    Stack::start(&plan.programs.join("carve"), Some(&demonstration()), |it| {
        (it.wanted.share, it.wanted.mirror) = (Some(split), Some(mirror));
        it.words.insert("old_workers".to_owned(), old_workers.to_string());
    })
}

/// Sends requests in a thread, over as many connections as needed.
fn send(
    stack: &Stack,
    rate: f64,
    lasts: Duration,
    target: impl Fn(u64) -> String + Send + 'static,
) -> anyhow::Result<Running> {
    // Longer than any wait that is allowed, so that a longer one is seen.
    let patience = Duration::from_secs(40);
    send_flow(Flow { lasts, patience, ..Flow::new(stack.settings().addresses.proxy, rate, target) })
}

fn path_of_text(number: u64) -> String {
    format!("/qrcode?text=https://example.com/overload/{number}")
}

/// Whether the old side serves each of the texts.
fn texts_of_old(stack: &Stack, texts: u64) -> anyhow::Result<Vec<bool>> {
    let client = http::client(Duration::from_secs(5));
    let by_old = |number| {
        let answer = http::get(&client, &(stack.url() + &path_of_text(number)), &[])?;
        ensure!(answer.status == 200, "{} before the fault", answer.status);
        Ok(answer.served_by() == "legacy-node")
    };
    (0..texts).map(by_old).collect()
}

/// Stops the legacy app's workers for this long. Returns when the stop began and ended.
fn hang_app(stack: &Stack, lasts: Duration) -> anyhow::Result<[Instant; 2]> {
    let parent = stack.supervisor.pid_of("legacy-node")?.as_raw_nonzero();
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
    let pid = |text: &str| text.parse().ok().and_then(Pid::from_raw);
    let workers: Vec<Pid> = children.split_whitespace().filter_map(pid).collect();
    ensure!(workers.len() > 1, "legacy-node has no workers");
    let send = |signal: Signal| {
        let mut workers = workers.iter();
        workers.try_for_each(|pid| kill_process(*pid, signal)).context("a worker of legacy-node")
    };
    thread::sleep(WARM_UP);
    let stopped = Instant::now();
    send(Signal::STOP)?;
    thread::sleep(lasts.saturating_sub(stopped.elapsed()));
    let ended = Instant::now();
    send(Signal::CONT)?;
    Ok([stopped, ended])
}

/// How many have neither of these statuses.
fn neither<'a>(samples: impl IntoIterator<Item = &'a Sample>, statuses: [u16; 2]) -> usize {
    samples.into_iter().filter(|sample| !statuses.contains(&sample.status)).count()
}
