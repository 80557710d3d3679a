//! Instructions that a server takes for a request of `/qrcode` or `/v1/qr`, beside those for a static answer by axum.
//!
//! They are the process' alone, without the kernel's, and repeat on a busy machine.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anstream::println;
use anyhow::{Context, ensure};
use clap::Parser;
use loadtest::server::built;
use loadtest::texts::QRCODE;
use loadtest::way::{ask, collected};
use loadtest::{exit_code, functions};
use rustix::process::{Pid, Signal, kill_process};

/// Valgrind is slow to start on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Connections of the clients: as many events as a busy server finds at a time.
const CONNECTIONS: usize = 16;
/// Requests of the shorter run; the difference to the longer one is without start and end.
const FEWER: usize = 10 * CONNECTIONS;
/// The picture of `/qrcode`, by options.
const V1_QR: &str = "/v1/qr?size=200&level=L&text=";
/// A header that makes a request one for hyper, and changes nothing else.
const BY_HYPER: &str = "Connection: keep-alive, keep-alive\r\n";
/// A name, a program of the build, the target up to the text, and headers that the clients add.
type Row = (&'static str, &'static str, &'static str, &'static str);
/// The rows.
const ROWS: [Row; 6] = [
    ("a static answer by axum", "examples/static_answer", QRCODE, ""),
    ("/qrcode", "qr-service", QRCODE, ""),
    ("/qrcode, by hyper", "qr-service", QRCODE, BY_HYPER),
    ("/v1/qr, the same picture", "qr-service", V1_QR, ""),
    ("/v1/qr, the same picture, by hyper", "qr-service", V1_QR, BY_HYPER),
    ("/v1/qr without options: 8 pixels a module, level M", "qr-service", "/v1/qr?text=", ""),
];

/// Counts the instructions of a request.
#[derive(Parser)]
#[command(name = "request")]
struct Arguments {
    /// Requests that are counted, for each row
    #[arg(long, default_value_t = 2000)]
    requests: usize,
    /// Also say where the instructions of our own rows are that hyper does not answer
    #[arg(long)]
    functions: bool,
}

fn main() -> ExitCode {
    exit_code("request", run(&service_kit::arguments::parse()).map(|()| ExitCode::SUCCESS))
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(arguments.requests > 0, "--requests must be 1 or more");
    println!("| | instructions a request |\n| --- | ---: |");
    for (name, program, target, headers) in ROWS {
        let count = |requests| {
            count(program, (target, headers), requests, Path::new("/dev/null")).context(name)
        };
        let count = count(FEWER + arguments.requests)?.saturating_sub(count(FEWER)?);
        println!("| {name} | {} |", count / arguments.requests as u64);
    }
    if arguments.functions {
        let ours = |(_, program, _, headers): &&Row| *program == "qr-service" && headers.is_empty();
        ROWS.iter().filter(ours).try_for_each(|row| print_functions(row, arguments.requests))?;
    }
    Ok(())
}

/// Prints the instructions of a row by what they are for.
fn print_functions((name, program, target, headers): &Row, requests: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let counts = |requests: usize| {
        let file = folder.path().join(requests.to_string());
        count(program, (target, headers), requests, &file).context(*name)?;
        functions::read(&file)
    };
    let (more, fewer) = (counts(FEWER + requests)?, counts(FEWER)?);
    println!("\n| {name} | instructions a request |\n| --- | ---: |");
    for (kind, count) in functions::by_kind(&built(program)?, (&more, &fewer), requests)? {
        println!("| {kind} | {count:.0} |");
    }
    Ok(())
}

/// Instructions of a whole run; `file` gets them by address.
fn count(program: &str, asked: (&str, &str), requests: usize, file: &Path) -> anyhow::Result<u64> {
    let addr = service_kit::free_address()?;
    let mut valgrind = Command::new("setpriv");
    // The server ends with this process, however that ends.
    valgrind.args(["--pdeathsig", "KILL", "--", "valgrind", "--tool=callgrind"]);
    valgrind.args(["--dump-instr=yes", "--dump-line=no", "--compress-pos=no"]);
    valgrind.arg("--compress-strings=no");
    valgrind.arg(format!("--callgrind-out-file={}", file.display())).arg(built(program)?);
    if program == "qr-service" {
        valgrind.env("QR_ADDR", addr.to_string()).env("QR_ADMIN_ADDR", "127.0.0.1:0");
        valgrind.env("QR_WORKER_THREADS", "1");
    } else {
        valgrind.arg(addr.to_string());
    }
    valgrind.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut server = valgrind.spawn().context("setpriv")?;
    let asked = wait_until_it_listens(addr, &mut server)
        .and_then(|()| ask(addr, requests, CONNECTIONS, asked).map(drop));
    let pid = Pid::from_raw(server.id().cast_signed()).context("no process")?;
    // It may have ended by itself.
    let _ = kill_process(pid, Signal::TERM);
    let output = server.wait_with_output()?;
    asked?;
    collected(&String::from_utf8_lossy(&output.stderr))
}

fn wait_until_it_listens(addr: SocketAddr, server: &mut Child) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_TIMEOUT;
    while TcpStream::connect(addr).is_err() {
        ensure!(server.try_wait()?.is_none(), "it does not start (make setup installs valgrind)");
        ensure!(Instant::now() < deadline, "it does not listen after {START_TIMEOUT:?}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
