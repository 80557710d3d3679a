//! `/qrcode` over HTTP beside a static answer of a plain axum router, the published article's
//! function in the same service, and the legacy app: requests a second on one core.
//!
//! Servers share one core and have their turns one after the other; wrk has another core. Texts are
//! distinct, every server's pictures are decoded before it is measured, and errors are counted.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Parser;
use contract::decode;
use qr_bench::quartiles;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin/distinct.lua");

/// Measures requests a second on one core, beside a static answer.
#[derive(Parser)]
struct Arguments {
    /// Rounds; every server has its turn in each
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Seconds of a turn
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Connections at once
    #[arg(long, default_value_t = 100)]
    connections: usize,
    /// The core of the servers, and that of wrk
    #[arg(long, default_value = "0,1", value_delimiter = ',', num_args = 2)]
    cores: Vec<usize>,
    /// Measure only servers whose name contains this; the static answer always is
    #[arg(long)]
    only: Option<String>,
    /// Where the figures go
    #[arg(long, default_value = "target/bench/http.json")]
    out: PathBuf,
}

/// A server under measurement; ends with this value.
struct Server {
    name: &'static str,
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What wrk says of one turn.
#[derive(Clone, Deserialize)]
struct Turn {
    requests: u64,
    seconds: f64,
    bytes: u64,
    errors: u64,
    p50_us: u64,
    p99_us: u64,
}

/// One figure of `http.json`: medians over the rounds.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    requests_per_second: f64,
    /// Quartiles over the rounds.
    spread: [f64; 2],
    /// Of the static answer's, round by round.
    share_of_static: f64,
    share_spread: [f64; 2],
    bytes_per_response: f64,
    p50_us: f64,
    p99_us: f64,
    resident_kb: u64,
    errors: u64,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let [core, wrk_core] = arguments.cores[..] else { bail!("--cores takes two") };
    ensure!(core != wrk_core, "server and wrk need a core each");
    let (mut servers, _data) = start_all(core)?;
    let wanted = |name: &str| arguments.only.as_ref().is_none_or(|only| name.contains(only));
    servers.retain(|server| server.name == "static" || wanted(server.name));
    for server in &servers {
        check(server)?;
        measure(server, wrk_core, &arguments)?; // warm-up
    }
    let mut turns = vec![Vec::new(); servers.len()];
    for _ in 0..arguments.rounds {
        for (server, turns) in servers.iter().zip(&mut turns) {
            turns.push(measure(server, wrk_core, &arguments)?);
        }
    }
    let rows: Vec<Row> =
        servers.iter().zip(&turns).map(|(server, mine)| row(server, mine, &turns[0])).collect();
    print_table(&rows);
    if let Some(folder) = arguments.out.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::write(&arguments.out, serde_json::to_string_pretty(&rows)? + "\n")
        .with_context(|| arguments.out.display().to_string())?;
    println!("\n{}", arguments.out.display());
    Ok(())
}

/// Every server, and the folder of the legacy app's data, which has to outlive it.
fn start_all(core: usize) -> anyhow::Result<(Vec<Server>, TempDir)> {
    let binaries = std::env::current_exe()?.parent().context("no folder")?.to_owned();
    let service = binaries.join("qr-service");
    let legacy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../legacy-node/src/server.js");
    let data = tempfile::tempdir()?;
    let qr = [("QR_ADDR", "127.0.0.1:0"), ("QR_ADMIN_ADDR", "127.0.0.1:0")];
    let qr = [&qr[..], &[("QR_WORKER_THREADS", "1")]].concat();
    let reference = [&qr[..], &[("QR_ENGINE", "reference")]].concat();
    let folder = data.path().to_string_lossy().into_owned();
    let node_addr = free_addr()?;
    let addr = node_addr.to_string();
    let node = [("ADDR", addr.as_str()), ("ADMIN_ADDR", "127.0.0.1:0")];
    // As the service has it, requests that succeed are not logged; nor is where it listens, then.
    let node = [&node[..], &[("DATA_DIR", folder.as_str()), ("LOG_LEVEL", "warn")]].concat();
    let program = |path: &Path| vec![path.to_string_lossy().into_owned()];
    let servers = vec![
        start("static", core, program(&binaries.join("examples/static_answer")), &[], None)?,
        start("qr-service", core, program(&service), &qr, None)?,
        start("qr-service reference", core, program(&service), &reference, None)?,
        start(
            "legacy-node",
            core,
            [vec!["node".to_owned()], program(&legacy)].concat(),
            &node,
            Some(node_addr),
        )?,
    ];
    Ok((servers, data))
}

fn free_addr() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Starts a server on a core and waits until it listens: at the address that is known ahead, or
/// that its first line of output says.
fn start(
    name: &'static str,
    core: usize,
    program: Vec<String>,
    environment: &[(&str, &str)],
    known: Option<SocketAddr>,
) -> anyhow::Result<Server> {
    // It ends with this process, however that ends.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", "taskset", "-c", &core.to_string()]);
    command.args(&program).envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().context("setpriv")?;
    let output = child.stdout.take().context("no output")?;
    let mut lines = BufReader::new(output).lines();
    let addr = match known {
        Some(addr) => addr,
        None => {
            let line = lines.next().with_context(|| format!("{program:?} ends at once"))??;
            listening_addr(&line).with_context(|| format!("{name} says {line:?}"))?
        }
    };
    // Whatever else it says must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    let server = Server { name, child, url: format!("http://{addr}/qrcode") };
    let deadline = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(addr).is_err() {
        ensure!(Instant::now() < deadline, "{name} does not listen on {addr}");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(server)
}

/// The address in `{"addr":"127.0.0.1:1",...}` or `listening on 127.0.0.1:1`.
fn listening_addr(line: &str) -> Option<SocketAddr> {
    let json: Option<serde_json::Value> = serde_json::from_str(line).ok();
    let addr = json.as_ref().and_then(|json| json["addr"].as_str());
    addr.or_else(|| line.rsplit(' ').next())?.parse().ok()
}

/// Its pictures decode to what was asked; the static answer is what it is.
fn check(server: &Server) -> anyhow::Result<()> {
    for number in 0..20 {
        let text = format!("https://example.com/{number}");
        let mut answer = ureq::get(format!("{}?text={text}", server.url)).call()?;
        let body = answer.body_mut().read_to_vec()?;
        if server.name == "static" {
            ensure!(body.len() == 420, "the static answer has {} bytes", body.len());
        } else {
            let decoded = decode::decode_png(&body).with_context(|| server.name)?;
            ensure!(decoded.bytes == text.as_bytes(), "{}: {text} is not in it", server.name);
        }
    }
    Ok(())
}

fn measure(server: &Server, core: usize, arguments: &Arguments) -> anyhow::Result<Turn> {
    let mut wrk = Command::new("taskset");
    wrk.args(["-c", &core.to_string(), "wrk", "--threads", "1"]);
    wrk.arg("--connections").arg(arguments.connections.to_string());
    wrk.arg("--duration").arg(format!("{}s", arguments.seconds));
    wrk.args(["--timeout", "30s", "--script", SCRIPT, &server.url]);
    let output = wrk.output().context("taskset or wrk")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find(|line| line.starts_with('{'));
    let line = line
        .with_context(|| format!("wrk says {said}{}", String::from_utf8_lossy(&output.stderr)))?;
    std::thread::sleep(Duration::from_millis(200)); // connections end
    Ok(serde_json::from_str(line)?)
}

fn row(server: &Server, turns: &[Turn], of_static: &[Turn]) -> Row {
    let rate = |turn: &Turn| turn.requests as f64 / turn.seconds;
    let over = |value: &dyn Fn(&Turn) -> f64| quartiles(turns.iter().map(value).collect());
    let rates = over(&rate);
    let shares = quartiles(turns.iter().zip(of_static).map(|(a, b)| rate(a) / rate(b)).collect());
    Row {
        name: server.name,
        requests_per_second: rates[1],
        spread: [rates[0], rates[2]],
        share_of_static: shares[1],
        share_spread: [shares[0], shares[2]],
        bytes_per_response: over(&|turn| turn.bytes as f64 / turn.requests as f64)[1],
        p50_us: over(&|turn| turn.p50_us as f64)[1],
        p99_us: over(&|turn| turn.p99_us as f64)[1],
        resident_kb: resident_kb(server.child.id()),
        errors: turns.iter().map(|turn| turn.errors).sum(),
    }
}

fn resident_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

fn print_table(rows: &[Row]) {
    println!(
        "one core, distinct links of 53 bytes; medians of the rounds (quartiles)\n\n{:<22} {:>10} {:>21} {:>8} {:>8} {:>9} {:>9} {:>8} {:>7}",
        "", "requests/s", "", "static", "bytes", "p50 µs", "p99 µs", "RSS MB", "errors"
    );
    for row in rows {
        println!(
            "{:<22} {:>10.0}  ({:>8.0} - {:>8.0}) {:>6.1} % {:>8.0} {:>9.0} {:>9.0} {:>8.1} {:>7}",
            row.name,
            row.requests_per_second,
            row.spread[0],
            row.spread[1],
            100.0 * row.share_of_static,
            row.bytes_per_response,
            row.p50_us,
            row.p99_us,
            row.resident_kb as f64 / 1024.0,
            row.errors,
        );
    }
}
