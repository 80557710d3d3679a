//! Days that go wrong: a side that hangs or is gone under load, and clients that hold connections. Each has bounds on what
//! clients may see.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use ramp::Share;
use rustix::process::{Pid, Signal, kill_process};
use stack::{Options, Part as Program, Stack, http};

use super::slow::SlowClients;
use super::{Plan, Report};
use crate::client::{Flow, Running, Sample, quantile, start as send_flow};

/// A storm.
#[derive(Clone, Copy)]
pub struct Storm {
    /// Its name in tables.
    pub name: &'static str,
    play: fn(&Plan, Report) -> anyhow::Result<Report>,
}

impl Storm {
    /// Starts a stack and plays it.
    ///
    /// # Errors
    /// If the stack does not start, or the storm cannot be played.
    pub fn play(&self, plan: &Plan) -> anyhow::Result<Report> {
        (self.play)(plan, Report::new(self.name, plan)).context(self.name)
    }
}

/// All storms, in the order in which they are played.
pub const STORMS: [Storm; 4] = [
    Storm { name: "old side hangs", play: old_side_hangs },
    Storm { name: "app hangs: pages", play: app_hangs },
    Storm { name: "new side gone in a storm", play: new_side_gone },
    Storm { name: "slow clients", play: slow_clients },
];

/// Requests of the route per second while the new side is away.
const STORM: f64 = 1000.0;
/// Slow connections at once.
const SLOW: usize = 10_000;
/// Before a fault, so that connections are open and every cache is warm.
const WARM_UP: Duration = Duration::from_secs(2);
/// nginx has noticed a fault after this.
const NOTICED: Duration = Duration::from_secs(5);
/// All is well this long after a fault.
const RECOVERED: Duration = Duration::from_secs(10);
/// After that, to see that it is.
const AFTER: Duration = Duration::from_secs(3);

/// The legacy app's workers are stopped, so its kernel accepts connections and nobody answers. The
/// client's answer has to come from the new side as fast as if the app were dead.
fn old_side_hangs(plan: &Plan, mut report: Report) -> anyhow::Result<Report> {
    const TEXTS: u64 = 1000;
    let stack = start(plan, Share::percent(50)?, 2)?;
    let of_old = texts_of_old(&stack, TEXTS)?;
    let lasts = WARM_UP + plan.storm + RECOVERED + AFTER;
    let running = send(&stack, 200.0, lasts, |number| path_of_text(number % TEXTS))?;
    thread::sleep(WARM_UP);
    let stopped = Instant::now();
    let ended = stopped + plan.storm;
    let workers = children(stack.pid_of(Program::LegacyNode)?)?;
    signal(&workers, Signal::STOP)?;
    thread::sleep(ended - Instant::now());
    signal(&workers, Signal::CONT)?;
    let samples = running.finish()?;

    report.some("requests", samples.len());
    report.none("not 200", samples.iter().filter(|sample| sample.status != 200).count());
    report.below("slowest", quantile(&samples, 1.0), Duration::from_secs(4));
    let of_old: Vec<&Sample> =
        samples.iter().filter(|sample| of_old[(sample.number % TEXTS) as usize]).collect();
    let late = of_old.iter().filter(|sample| sample.due > stopped + NOTICED && sample.due < ended);
    let late: Vec<&Sample> = late.copied().collect();
    report.some("requests of the old side's share after 5 s", late.len());
    let median = quantile(late.iter().copied(), 0.5);
    report.below("median of the old side's share after 5 s", median, Duration::from_millis(50));
    let back = of_old.iter().filter(|sample| sample.due > ended + RECOVERED);
    let back = back.filter(|sample| sample.served_by == "legacy-node").count();
    report.figure("served by the old side again, under load", back as f64);
    // Two workers just bear their half of the load, and may not catch up while it lasts: nginx is right to
    // leave them alone then. At a client's pace they have to be back.
    let deadline = Instant::now() + RECOVERED;
    let mut alone = 0;
    while alone == 0 && Instant::now() < deadline {
        alone = texts_of_old(&stack, TEXTS / 10)?.into_iter().filter(|is_old| *is_old).count();
    }
    report.some("served by the old side again", alone);
    Ok(report)
}

/// As above, with an eye on pages, which nobody else can answer: all but a few fail at once.
fn app_hangs(plan: &Plan, mut report: Report) -> anyhow::Result<Report> {
    let stack = start(plan, Share::ALL, 2)?;
    let page_timeout = Duration::from_secs(10);
    // The first failures come when the first pages are given up.
    let fault = page_timeout + plan.storm;
    let lasts = WARM_UP + fault + RECOVERED + AFTER;
    let running = send(&stack, 20.0, lasts, page)?;
    thread::sleep(WARM_UP);
    let stopped = Instant::now();
    let ended = stopped + fault;
    let workers = children(stack.pid_of(Program::LegacyNode)?)?;
    signal(&workers, Signal::STOP)?;
    thread::sleep(ended - Instant::now());
    signal(&workers, Signal::CONT)?;
    let samples = running.finish()?;

    report.below("slowest page", quantile(&samples, 1.0), page_timeout + Duration::from_secs(2));
    let given_up = stopped + page_timeout + Duration::from_secs(1);
    let late = || samples.iter().filter(|sample| sample.due > given_up && sample.due < ended);
    report.some("pages after the first were given up", late().count());
    report.below("their median", quantile(late(), 0.5), Duration::from_millis(100));
    // nginx tries the app again now and then; who asked then is answered when the app is back.
    let meanwhile = late().filter(|sample| sample.due + sample.took < ended);
    let odd = meanwhile.filter(|sample| ![502, 504].contains(&sample.status)).count();
    report.none("neither 502 nor 504", odd);
    let back = samples.iter().filter(|sample| sample.due > ended + RECOVERED);
    report.none("not 200 after it is back", back.filter(|sample| sample.status != 200).count());
    Ok(report)
}

/// A way in which the new side is gone.
struct Gone {
    name: &'static str,
    begin: fn(&Stack) -> anyhow::Result<()>,
    end: fn(&Stack) -> anyhow::Result<()>,
}

const GONE: [Gone; 2] = [
    Gone {
        name: "hangs",
        begin: |stack| stack.signal_part(Program::QrService, Signal::STOP),
        end: |stack| stack.signal_part(Program::QrService, Signal::CONT),
    },
    Gone {
        name: "away",
        begin: |stack| {
            stack.signal_part(Program::QrService, Signal::KILL)?;
            stack.stop_part(Program::QrService)
        },
        end: |stack| stack.start_part(Program::QrService),
    },
];

/// The new side hangs, and then is away, under more requests than the app can answer. The app's pages
/// and links have to stay quick.
fn new_side_gone(plan: &Plan, mut report: Report) -> anyhow::Result<Report> {
    let stack = start(plan, Share::ALL, 1)?;
    let link = make_link(&stack)?;
    GONE.iter().try_for_each(|gone| storm(&mut report, plan, &stack, gone, &link))?;
    Ok(report)
}

fn storm(
    report: &mut Report,
    plan: &Plan,
    stack: &Stack,
    gone: &Gone,
    link: &str,
) -> anyhow::Result<()> {
    let link = link.to_owned();
    let links = move |number| if number % 2 == 0 { link.clone() } else { "/api/links".to_owned() };
    let lasts = WARM_UP + plan.storm + RECOVERED + AFTER;
    let route = send(stack, STORM, lasts, path_of_text)?;
    let (pages, links) = (send(stack, 10.0, lasts, page)?, send(stack, 10.0, lasts, links)?);
    thread::sleep(WARM_UP);
    let began = Instant::now();
    (gone.begin)(stack)?;
    thread::sleep(plan.storm.saturating_sub(began.elapsed()));
    let ended = Instant::now();
    (gone.end)(stack)?;
    let returned = Instant::now();
    let (route, pages, links) = (route.finish()?, pages.finish()?, links.finish()?);
    storm_report(report, gone.name, &route, [began, ended, returned]);
    for (what, samples) in [("pages", &pages), ("links", &links)] {
        let name = gone.name;
        let during = || samples.iter().filter(|sample| sample.due > began);
        let wrong = during().filter(|sample| ![200, 302].contains(&sample.status)).count();
        report.none(&format!("{name}: {what} that failed"), wrong);
        let p99 = quantile(during(), 0.99);
        report.below(&format!("{name}: p99 of {what}"), p99, Duration::from_millis(500));
    }
    Ok(())
}

fn storm_report(
    report: &mut Report,
    name: &str,
    route: &[Sample],
    [began, ended, returned]: [Instant; 3],
) {
    let odd = route.iter().filter(|sample| ![200, 503].contains(&sample.status)).count();
    report.none(&format!("{name}: neither 200 nor 503"), odd);
    let late: Vec<&Sample> =
        route.iter().filter(|sample| sample.due > began + NOTICED && sample.due < ended).collect();
    let (served, refused): (Vec<&Sample>, Vec<&Sample>) =
        late.into_iter().partition(|sample| sample.status == 200);
    let by_old = served.iter().filter(|sample| sample.served_by == "legacy-node").count();
    report.some(&format!("{name}: served by the old side after 5 s"), by_old);
    report.some(&format!("{name}: refused after 5 s"), refused.len());
    let hint = refused.iter().filter(|sample| sample.retry_after != "1").count();
    report.none(&format!("{name}: refused without Retry-After"), hint);
    let median = quantile(refused.iter().copied(), 0.5);
    report.below(&format!("{name}: median of refusals"), median, Duration::from_millis(50));
    let p99 = quantile(refused.iter().copied(), 0.99);
    report.below(&format!("{name}: p99 of refusals"), p99, Duration::from_millis(500));
    let slowest = quantile(route, 1.0);
    report.below(&format!("{name}: slowest of the route"), slowest, Duration::from_secs(6));
    let last = route.iter().filter(|sample| sample.status != 200).map(|sample| sample.due).max();
    let back = last.map_or(Duration::ZERO, |last| last.saturating_duration_since(returned));
    report.below(&format!("{name}: last refusal after its return"), back, RECOVERED);
}

/// 10,000 connections are slow at sending or reading. Clients beside them notice nothing.
fn slow_clients(plan: &Plan, mut report: Report) -> anyhow::Result<Report> {
    let stack = start(plan, Share::ALL, 1)?;
    let server = address(&stack);
    let slow = SlowClients::start(server, SLOW)?;
    let deadline = Instant::now() + Duration::from_secs(60);
    while slow.open() < SLOW * 9 / 10 {
        ensure!(Instant::now() < deadline, "only {} slow connections", slow.open());
        thread::sleep(Duration::from_millis(100));
    }
    let pictures = send(&stack, 100.0, plan.storm, path_of_text)?;
    let pages = send(&stack, 20.0, plan.storm, page)?;
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
    report.none("not 200", samples.iter().filter(|sample| sample.status != 200).count());
    report.below("p99", quantile(&samples, 0.99), Duration::from_millis(100));
    report.below("slowest", quantile(&samples, 1.0), Duration::from_secs(2));
    Ok(report)
}

fn start(plan: &Plan, split: Share, old_workers: usize) -> anyhow::Result<Stack> {
    // The mirror of the route files.
    let mirror = Share::percent(10)?;
    let qr_service = plan.programs.join("qr-service");
    Stack::start(&qr_service, &Options { split, old_workers, mirror, ..Options::default() })
}

fn address(stack: &Stack) -> SocketAddr {
    stack.settings().addresses.proxy
}

/// Sends requests beside the caller, each on a connection of its own.
fn send(
    stack: &Stack,
    rate: f64,
    lasts: Duration,
    target: impl Fn(u64) -> String + Send + 'static,
) -> anyhow::Result<Running> {
    // Longer than any wait that is allowed, so that a longer one is seen.
    let patience = Duration::from_secs(40);
    send_flow(Flow { lasts, patience, ..Flow::new(address(stack), rate, target) })
}

fn path_of_text(number: u64) -> String {
    format!("/qrcode?text=https://example.com/overload/{number}")
}

fn page(_number: u64) -> String {
    "/".to_owned()
}

/// Whether the old side has each of the texts.
fn texts_of_old(stack: &Stack, texts: u64) -> anyhow::Result<Vec<bool>> {
    let client = http::client(Duration::from_secs(5));
    let by_old = |number| {
        let answer = http::get(&client, &(stack.url() + &path_of_text(number)), &[])?;
        ensure!(answer.status == 200, "{} before the fault", answer.status);
        Ok(answer.served_by() == "legacy-node")
    };
    (0..texts).map(by_old).collect()
}

/// Makes a link; its path.
fn make_link(stack: &Stack) -> anyhow::Result<String> {
    let client = http::client(Duration::from_secs(5));
    let request = client.post(stack.url() + "/api/links").content_type("application/json");
    let made = http::read(request.send(r#"{"url":"https://example.com/"}"#)?)?;
    let link: serde_json::Value = serde_json::from_slice(&made.body)?;
    Ok(format!("/l/{}", link["id"].as_str().context("no link was made")?))
}

fn children(parent: Pid) -> anyhow::Result<Vec<Pid>> {
    let parent = parent.as_raw_nonzero();
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
    let pid = |text: &str| text.parse().ok().and_then(Pid::from_raw);
    let children: Vec<Pid> = children.split_whitespace().filter_map(pid).collect();
    ensure!(children.len() > 1, "legacy-node has no workers");
    Ok(children)
}

fn signal(processes: &[Pid], signal: Signal) -> anyhow::Result<()> {
    let send = |pid: &Pid| kill_process(*pid, signal).context("a worker of legacy-node");
    processes.iter().try_for_each(send)
}
