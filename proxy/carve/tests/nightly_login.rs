//! A route behind a login, with real nginx, edge, shadow and Prometheus. A shadow without clients' cookies gets 401
//! from both sides, whatever clients get.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use carve::local::{Share, Sides, Stack};
use service_kit::testing::{Process, built};
use support::{EndsLoad, get, holds_within};
use tempfile::TempDir;

/// The first server lets in clients with a cookie. The second one does the same, or lets in nobody.
const APP: &str = r#"
const { createServer } = require("http");
const [refuses, ...ports] = process.argv.slice(1);
for (const [at, port] of ports.entries()) {
  createServer(({ headers }, response) => {
    const isIn = headers.cookie !== undefined && !(at === 1 && refuses === "refuses");
    response.writeHead(isIn ? 200 : 401).end(isIn ? "hello" : "no");
  }).listen(port, "127.0.0.1");
}
"#;

/// The two servers, and a stack around them that mirrors everything.
struct Place {
    stack: Stack,
    _app: Process,
    _routes: TempDir,
}

impl Place {
    fn start(route: &str, new_side: &str) -> Self {
        let free = service_kit::free_addresses(2).unwrap();
        let ports = [free[0].port(), free[1].port()].map(|port| port.to_string());
        let mut app = Command::new("node");
        let app = Process::start(app.args(["-e", APP, new_side]).args(&ports));
        let listens = || free.iter().all(|at| TcpStream::connect(at).is_ok());
        assert!(holds_within(Duration::from_secs(10), listens));
        let routes = tempfile::tempdir().unwrap();
        fs::write(routes.path().join("report.toml"), route).unwrap();
        let url = |at: usize| format!("http://{}", free[at]).parse().unwrap();
        let beside = Path::new(env!("CARGO_BIN_EXE_carve")).with_file_name("qr-service");
        let stack = Stack::start(&beside, |it| {
            (it.split, it.mirror) = (Some(Share::NONE), Some(Share::ALL));
            it.routes = routes.path().to_owned();
            it.sides = Some(Sides { old: url(0), new: url(1) });
        });
        Place { stack: stack.unwrap(), _app: app, _routes: routes }
    }

    fn carve(&self, args: &[&str]) -> Command {
        let mut command = Command::new(built("carve"));
        command.args(args).envs(self.stack.environment());
        command
    }

    /// Starts a run of one step under the load of logged-in clients.
    fn under_load<T>(&self, work: impl FnOnce(Child) -> T) -> T {
        let gates = self.stack.gates_for_short_steps().unwrap();
        let text = fs::read_to_string(&gates).unwrap();
        fs::write(&gates, text.replace("limit = 100", "limit = 20")).unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    get(&format!("{}/report", self.stack.url()), &[("cookie", "id=1")]);
                    thread::sleep(Duration::from_millis(5));
                }
            });
            let _ends_load = EndsLoad(&over);
            let mut run =
                self.carve(&["ramp", "--steps", "50", "--every", "500ms", "--hold", "3s"]);
            run.args(["--patience", "120s", "--gates"]).arg(gates);
            work(run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        })
    }

    fn status(&self) -> String {
        said(&self.carve(&["status", "report"]).output().unwrap())
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

const ROUTE: &str = "path = \"/report\"\n";

#[test]
fn a_run_waits_for_a_shadow_that_may_log_in() {
    let place = Place::start(ROUTE, "lets in");
    place.under_load(|mut run| {
        let differs = "clients get 100 % 2xx, the shadow 100 % 4xx; it does not ask as they do";
        let waits = || place.status().contains(differs);
        assert!(holds_within(Duration::from_secs(60), waits), "{}", place.status());
        // Every other gate has passed.
        let alone = || place.status().matches("\n  inconclusive").count() == 1;
        assert!(holds_within(Duration::from_secs(110), alone), "{}", place.status());
        assert!(run.try_wait().unwrap().is_none(), "{}", place.status());
        assert!(place.carve(&["abort", "report"]).output().unwrap().status.success());
        assert_eq!(run.wait().unwrap().code(), Some(5));
    });
}

#[test]
fn with_clients_cookies_the_shadow_proves_what_it_compares() {
    let route = format!("{ROUTE}shadow.send_headers = [\"cookie\"]\n");
    let output = Place::start(&route, "lets in").under_load(|run| run.wait_with_output().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn a_new_side_that_lets_nobody_in_is_rolled_back() {
    let place = Place::start(ROUTE, "refuses");
    let output = place.under_load(|run| run.wait_with_output().unwrap());
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("rolled back: statuses ("), "{}", said(&output));
}
