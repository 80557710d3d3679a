//! A real Prometheus that scrapes a simulated edge and shadow. A test sets the rates of their counters.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rollout::Prometheus;
use rustix::process::Signal;
use service_kit::testing::serve;

use super::{Place, Process, eventually};

const BUCKETS: [f64; 7] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1];

/// Events per second, and the times that answers take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    pub(crate) matches: f64,
    pub(crate) mismatches: f64,
    /// Pairs of the old side's own answers: all, and those that differ.
    pub(crate) noise: (f64, f64),
    pub(crate) new: f64,
    pub(crate) new_errors: f64,
    pub(crate) old: f64,
    pub(crate) old_errors: f64,
    pub(crate) fallbacks: f64,
    /// Pairs in which only the new side failed.
    pub(crate) new_alone: f64,
    /// Pairs in which only the new side was slower than the old side's p99.
    pub(crate) slower: f64,
    pub(crate) new_seconds: f64,
    pub(crate) old_seconds: f64,
    /// The class of the statuses that the shadow gets from the old side.
    pub(crate) shadow_gets: &'static str,
    /// The share, as in `ramp.prom`.
    pub(crate) share: f64,
    /// Pairs without a verdict because the old side's answer is too large.
    pub(crate) too_large: f64,
    /// The job whose scrapes fail.
    pub(crate) down: &'static str,
}

impl Traffic {
    /// Traffic that passes every gate.
    pub(crate) const FINE: Traffic = Traffic {
        matches: 400.0,
        mismatches: 0.0,
        noise: (0.0, 0.0),
        new: 400.0,
        new_errors: 0.0,
        old: 400.0,
        old_errors: 0.0,
        fallbacks: 0.0,
        new_alone: 0.0,
        slower: 0.0,
        new_seconds: 0.0003,
        old_seconds: 0.004,
        shadow_gets: "2xx",
        share: 0.0,
        too_large: 0.0,
        down: "",
    };
    /// No requests.
    pub(crate) const NONE: Traffic = Traffic { matches: 0.0, new: 0.0, old: 0.0, ..Traffic::FINE };
}

#[derive(Debug)]
struct Counters {
    traffic: Traffic,
    until: Instant,
    totals: BTreeMap<String, f64>,
}

impl Counters {
    fn new() -> Self {
        let mut counters =
            Counters { traffic: Traffic::NONE, until: Instant::now(), totals: BTreeMap::new() };
        counters.advance();
        counters
    }

    fn add(&mut self, name: String, amount: f64) {
        *self.totals.entry(name).or_default() += amount;
    }

    /// Adds the traffic since the last call.
    fn advance(&mut self) {
        let seconds = self.until.elapsed().as_secs_f64();
        self.until = Instant::now();
        let t = self.traffic;
        let compared = t.matches + t.mismatches;
        for (result, rate) in [("match", t.matches), ("mismatch", t.mismatches)] {
            let name =
                format!("shadow shadow_comparisons_total{{route=\"qrcode\",result=\"{result}\"}}");
            self.add(name, rate * seconds);
        }
        let name = "shadow shadow_mismatches_total{route=\"qrcode\",kind=\"body\"}";
        self.add(name.to_owned(), t.mismatches * seconds);
        for (side, rate) in [("new", 0.0), ("old", t.too_large)] {
            let labels = format!("route=\"qrcode\",side=\"{side}\",reason=\"too_large\"");
            self.add(format!("shadow shadow_failures_total{{{labels}}}"), rate * seconds);
        }
        for (result, rate) in [("match", t.noise.0 - t.noise.1), ("mismatch", t.noise.1)] {
            let labels = format!("route=\"qrcode\",result=\"{result}\"");
            self.add(format!("shadow shadow_noise_total{{{labels}}}"), rate * seconds);
        }
        self.add("shadow shadow_pairs_total{route=\"qrcode\"}".to_owned(), compared * seconds);
        for class in ["2xx", "3xx", "4xx", "5xx"] {
            let rate = if class == t.shadow_gets { compared } else { 0.0 };
            for side in ["old", "new"] {
                let labels = format!("route=\"qrcode\",side=\"{side}\",class=\"{class}\"");
                self.add(format!("shadow shadow_answers_total{{{labels}}}"), rate * seconds);
            }
        }
        for (event, rate) in [("failure", t.new_alone), ("p99", t.slower)] {
            for (worse, rate) in [("new", rate), ("old", 0.0)] {
                let labels = format!("route=\"qrcode\",event=\"{event}\",worse=\"{worse}\"");
                self.add(format!("shadow shadow_discordant_total{{{labels}}}"), rate * seconds);
            }
        }
        // As in the edge, every series exists from the start.
        for (arm, side, code, rate) in [
            ("new", "new", "2xx", t.new),
            ("new", "new", "5xx", t.new_errors),
            ("new", "fallback", "2xx", t.fallbacks),
            ("old", "old", "2xx", t.old),
            ("old", "old", "5xx", t.old_errors),
        ] {
            let labels = format!("route=\"qrcode\",arm=\"{arm}\",side=\"{side}\",code=\"{code}\"");
            self.add(format!("edge edge_requests_total{{{labels}}}"), rate * seconds);
        }
        for (arm, all) in
            [("new", t.new + t.new_errors + t.fallbacks), ("old", t.old + t.old_errors)]
        {
            let labels = format!("route=\"qrcode\",arm=\"{arm}\"");
            self.add(format!("edge edge_request_seconds_count{{{labels}}}"), all * seconds);
            // The timeouts of the route's sides are 1 s and 2 s.
            for le in ["0.25", "1"] {
                let name = format!("edge edge_request_seconds_bucket{{{labels},le=\"{le}\"}}");
                self.add(name, all * seconds);
            }
        }
        self.totals.insert("edge ramp_share_percent{route=\"qrcode\"}".to_owned(), t.share);
        let all = t.new + t.new_errors + t.fallbacks + t.old + t.old_errors;
        self.add("edge edge_nginx_requests_total".to_owned(), all * seconds);
        self.add("edge edge_lost_total".to_owned(), 0.0);
        for (side, took) in [("new", t.new_seconds), ("old", t.old_seconds)] {
            self.observe(side, took, compared * seconds);
        }
    }

    fn observe(&mut self, side: &str, took: f64, count: f64) {
        let name = "shadow shadow_response_seconds";
        for le in BUCKETS {
            let within = if took <= le { count } else { 0.0 };
            self.add(
                format!("{name}_bucket{{route=\"qrcode\",side=\"{side}\",le=\"{le}\"}}"),
                within,
            );
        }
        self.add(format!("{name}_bucket{{route=\"qrcode\",side=\"{side}\",le=\"+Inf\"}}"), count);
        self.add(format!("{name}_count{{route=\"qrcode\",side=\"{side}\"}}"), count);
        self.add(format!("{name}_sum{{route=\"qrcode\",side=\"{side}\"}}"), count * took);
    }

    fn of(&self, job: &str) -> String {
        let mut text = String::new();
        for (name, total) in &self.totals {
            if let Some(name) = name.strip_prefix(job).and_then(|name| name.strip_prefix(' ')) {
                let _ = writeln!(text, "{name} {total}");
            }
        }
        text
    }
}

/// Prometheus and the simulated services.
pub(crate) struct Measured {
    counters: Arc<Mutex<Counters>>,
    exporter: SocketAddr,
    prometheus: Option<Process>,
}

impl Measured {
    /// Starts both with traffic that passes every gate, and waits for the first scrapes.
    pub(crate) fn fine(place: &Place) -> Self {
        let measured = Measured::start(place);
        measured.set(Traffic::FINE);
        measured.wait_until_scraped(place);
        measured
    }

    /// Starts both; Prometheus listens at the place's address.
    pub(crate) fn start(place: &Place) -> Self {
        let counters = Arc::new(Mutex::new(Counters::new()));
        let shared = Arc::clone(&counters);
        let exporter = serve(move |asked| {
            let job = asked.target().trim_start_matches('/');
            let mut counters = shared.lock().unwrap();
            counters.advance();
            let status = if counters.traffic.down == job { "500 Down" } else { "200 OK" };
            let body = counters.of(job);
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
            asked.answer(format!("{head}Content-Type: text/plain\r\n\r\n{body}"))
        });
        let prometheus = Some(start_prometheus(place, exporter, "first"));
        Measured { counters, exporter, prometheus }
    }

    /// Waits for the first scrapes, up to 5 s.
    pub(crate) fn wait_until_scraped(&self, place: &Place) {
        let parts_up = || prometheus_of(place).number("count(up == 1)");
        assert!(eventually(|| parts_up() == Ok(2.0)), "Prometheus scrapes both");
    }

    /// Changes the traffic from now on.
    pub(crate) fn set(&self, traffic: Traffic) {
        let mut counters = self.counters.lock().unwrap();
        counters.advance();
        counters.traffic = traffic;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.prometheus.as_ref().unwrap().signal(signal);
    }

    pub(crate) fn stop_prometheus(&mut self) {
        self.prometheus = None;
    }

    /// Restarts Prometheus with its data, and both services with pods of another name.
    pub(crate) fn replace(&mut self, place: &Place, pods: &str) {
        self.stop_prometheus();
        self.prometheus = Some(start_prometheus(place, self.exporter, pods));
    }
}

fn prometheus_of(place: &Place) -> Prometheus {
    Prometheus { url: format!("http://{}", place.at.prometheus) }
}

fn start_prometheus(place: &Place, exporter: SocketAddr, pods: &str) -> Process {
    let dir = place.beside("measured");
    fs::create_dir_all(&dir).unwrap();
    let mut conf =
        "global: { scrape_interval: 200ms, scrape_timeout: 200ms }\nscrape_configs:\n".to_owned();
    for job in ["edge", "shadow"] {
        let _ = writeln!(
            conf,
            "  - {{ job_name: {job}, metrics_path: /{job}, static_configs: [{{ targets: ['{exporter}'], labels: {{ pod: {pods} }} }}] }}"
        );
    }
    fs::write(dir.join("prometheus.yml"), conf).unwrap();
    let address = place.at.prometheus;
    let log = File::create(dir.join("log")).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "--", "prometheus"]);
    command.arg(format!("--config.file={}", dir.join("prometheus.yml").display()));
    command.arg(format!("--storage.tsdb.path={}", dir.join("data").display()));
    command.arg(format!("--web.listen-address={address}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let process = Process(command.spawn().unwrap());
    let prometheus = prometheus_of(place);
    assert!(eventually(|| prometheus.number("1").is_ok()), "Prometheus starts");
    process
}
