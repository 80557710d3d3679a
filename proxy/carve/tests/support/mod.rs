//! Shared by the tests of a running stack.

pub(crate) mod prometheus;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use carve::local::http::{self, HttpReply};
use carve::local::{Addresses, Settings, Stack};
use service_kit::testing::repository;
pub(crate) use service_kit::testing::{built, holds_within};
use tempfile::TempDir;
use ureq::Agent;

/// The file of the demonstration's parts.
pub(crate) fn demonstration() -> PathBuf {
    repository().join("deploy/demonstration.toml")
}

/// Starts the demonstration, which ends with the test.
pub(crate) fn start(change: impl FnOnce(&mut Settings)) -> Stack {
    Stack::start(&built("carve"), Some(&demonstration()), change).unwrap()
}

/// Sets a word of the demonstration's file.
pub(crate) fn set(settings: &mut Settings, word: &str, value: &str) {
    settings.words.insert(word.to_owned(), value.to_owned());
}

/// Ends a test's load when it is dropped, also by a panic of the test.
pub(crate) struct EndsLoad<'a>(pub(crate) &'a AtomicBool);

impl Drop for EndsLoad<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Raises the split to 50 % by the first step of a run, so that ramp has a verdict to show. The step is too short to
/// pass.
pub(crate) fn ramp_once(stack: &Stack) {
    let mut command = Command::new(built("carve"));
    command.args(["ramp", "--steps", "50,100", "--hold", "2s", "--patience", "2s"]);
    let output = command.envs(stack.environment()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{}: {said}", output.status);
}

/// The share of a route.
pub(crate) fn share(stack: &Stack, route: &str) -> String {
    let split = rollout::current(&stack.settings().nginx(route).route_dir()).unwrap();
    split.share_percent.to_string()
}

/// The URLs of the parts' metrics, each with the job that scrapes it.
pub(crate) fn sources(stack: &Stack) -> [(&'static str, String); 5] {
    let at = &stack.settings().addresses;
    [
        ("qr-service", format!("http://{}/metrics", at.of("new_admin"))),
        ("legacy-node", format!("http://{}/metrics", at.of("old_admin"))),
        ("shadow", format!("http://{}/metrics", at.shadow_admin)),
        ("edge", format!("http://{}/metrics", at.edge)),
        ("ramp", format!("http://{}/ramp/metrics", at.proxy_admin)),
    ]
}

/// A folder for `carve up`, with a folder of routes, and free addresses.
pub(crate) struct Site {
    pub(crate) folder: TempDir,
    pub(crate) at: Addresses,
}

impl Site {
    pub(crate) fn new() -> Self {
        // If root starts nginx, its workers run as another user.
        let readable = Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new().permissions(readable).tempdir().unwrap();
        fs::create_dir(folder.path().join("routes")).unwrap();
        Site { folder, at: Addresses::free().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A command with this folder and these addresses.
    pub(crate) fn carve(&self, args: &[&str]) -> Command {
        let mut command = Command::new(built("carve"));
        command.args(args).env("STACK_RUN_DIR", self.path("run"));
        for (variable, address, _) in self.at.listeners() {
            command.env(variable, address.to_string());
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.carve(args).output().unwrap()
    }
}

/// What a command has printed, also to standard error.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// A client that keeps connections, like a browser.
pub(crate) fn client() -> Agent {
    http::client(Duration::from_secs(20))
}

/// Sends a GET over a new connection.
pub(crate) fn get(url: &str, headers: &[(&str, &str)]) -> HttpReply {
    http::get(&client(), url, headers).unwrap()
}

/// Sends a POST of JSON.
pub(crate) fn post_json(url: &str, json: &str) -> HttpReply {
    let request = client().post(url).content_type("application/json");
    http::read(request.send(json).unwrap()).unwrap()
}

/// Waits until `count` lines of a part's log contain `what`, and returns them. For nginx these are its request lines.
pub(crate) fn log_lines(settings: &Settings, part: &str, what: &str, count: usize) -> Vec<String> {
    let mut found = Vec::new();
    let file = if part == "nginx" { settings.requests_log() } else { settings.log_of(part) };
    let came = holds_within(Duration::from_secs(10), || {
        let log = fs::read_to_string(&file).unwrap_or_default();
        found = log.lines().filter(|line| line.contains(what)).map(str::to_owned).collect();
        found.len() >= count
    });
    assert!(came, "{part} has {} lines with {what}, not {count}", found.len());
    found
}
