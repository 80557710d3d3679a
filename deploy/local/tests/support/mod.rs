//! What the tests of a running stack share.

#![allow(dead_code, reason = "each test file takes what it needs")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use stack::{Options, Part, Settings, Stack};
use ureq::http::{Request, Response};
use ureq::{Agent, Body};

/// The Rust service's binary, which `cargo test --workspace` builds beside the tests.
pub(crate) fn qr_service() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let binary = test.parent().and_then(Path::parent).unwrap().join("qr-service");
    assert!(binary.is_file(), "{}: run cargo build -p qr-service first", binary.display());
    binary
}

/// A stack in passing.
pub(crate) fn start(options: &Options) -> Stack {
    Stack::start(&qr_service(), options).unwrap()
}

/// Moves the split to 50 %, from less, by a run of one step, so that there is a verdict as well. There
/// is too little time to pass.
pub(crate) fn ramp_once(stack: &Stack) {
    let ramp = qr_service().with_file_name("ramp");
    assert!(ramp.is_file(), "{}: run cargo build -p ramp first", ramp.display());
    let mut command = Command::new(ramp);
    command.args(["run", "--steps", "50", "--hold", "2s", "--patience", "2s"]);
    let output = command.envs(stack.environment()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{}: {said}", output.status);
}

/// Where the parts' metrics are, by the job that scrapes them.
pub(crate) fn sources(stack: &Stack) -> [(&'static str, String); 5] {
    let at = &stack.settings().addresses;
    [
        ("qr-service", format!("http://{}/metrics", at.new_admin)),
        ("old-node", format!("http://{}/metrics", at.old_admin)),
        ("shadow", format!("http://{}/metrics", at.shadow_admin)),
        ("nginx", format!("http://{}/metrics", at.nginx_exporter)),
        ("ramp", format!("http://{}/ramp/metrics", at.proxy_admin)),
    ]
}

/// An answer, whatever its status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// A header's value; empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn served_by(&self) -> &str {
        self.header("x-served-by")
    }
}

/// A client that keeps its connections, as browsers do, and follows nothing.
pub(crate) fn client() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_global(Some(Duration::from_secs(20)))
        .build()
        .into()
}

/// GET with headers.
pub(crate) fn get(url: &str, headers: &[(&str, &str)]) -> Answer {
    try_get(&client(), url, headers).unwrap()
}

/// GET; an error where no answer came.
pub(crate) fn try_get(
    client: &Agent,
    url: &str,
    headers: &[(&str, &str)],
) -> Result<Answer, ureq::Error> {
    let request = headers
        .iter()
        .fold(Request::get(url), |request, (name, value)| request.header(*name, *value));
    whole(client.run(request.body(())?)?)
}

/// Reads all of an answer.
pub(crate) fn whole(mut response: Response<Body>) -> Result<Answer, ureq::Error> {
    let body = response.body_mut().read_to_vec()?;
    Ok(Answer { status: response.status().as_u16(), headers: response.headers().clone(), body })
}

/// POST of JSON.
pub(crate) fn post_json(url: &str, json: &str) -> Answer {
    let request = client().post(url).content_type("application/json");
    whole(request.send(json).unwrap()).unwrap()
}

/// The lines of a part's log that contain `what`; waits until there are `count`.
pub(crate) fn log_lines(settings: &Settings, part: Part, what: &str, count: usize) -> Vec<String> {
    let mut found = Vec::new();
    let came = eventually(Duration::from_secs(10), || {
        let log = std::fs::read_to_string(settings.log_of(part)).unwrap_or_default();
        found = log.lines().filter(|line| line.contains(what)).map(str::to_owned).collect();
        found.len() >= count
    });
    assert!(came, "{} has {} lines with {what}, not {count}", part.name(), found.len());
    found
}

/// Looks again until `holds`, or the time is over.
pub(crate) fn eventually(within: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + within;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
