//! `carve up`, `down`, `status`, `logs`, `split` and `with`, with the whole stack.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use carve::local::http::HttpReply;
use carve::local::supervisor::Supervisor;
use carve::local::{Addresses, Settings, http};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use service_kit::testing::{built, holds_within, repository};
use tempfile::TempDir;
use ureq::Agent;

/// A run folder and free addresses for the demonstration. Dropping it ends the stack that runs there.
struct Place {
    folder: TempDir,
    settings: Settings,
}

impl Place {
    fn new() -> Self {
        let settings = Settings::new("run".into(), Addresses::free().unwrap(), built("carve"));
        let settings = settings.with_apps(&demonstration(), true).unwrap();
        Place { folder: TempDir::new().unwrap(), settings }
    }

    fn run_dir(&self) -> PathBuf {
        self.folder.path().join("run dir")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_carve"));
        command
            .args(args)
            .env("STACK_RUN_DIR", self.run_dir())
            .env("STACK_PARTS", demonstration())
            // A proxy that nobody can reach, and a language whose I has two lower cases.
            .envs([("HTTP_PROXY", "http://127.0.0.1:9"), ("ALL_PROXY", "http://127.0.0.1:9")])
            .envs([("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8")]);
        for (variable, address, _) in self.settings.listeners().unwrap() {
            command.env(variable, address.to_string());
        }
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn succeeds(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn old(&self) -> SocketAddr {
        self.settings.addresses.of("old")
    }

    fn new_side(&mut self) -> &mut SocketAddr {
        self.settings.addresses.apps.get_mut("new").unwrap()
    }

    fn url(&self) -> String {
        format!("http://{}", self.settings.addresses.proxy)
    }

    fn nothing_listens(&self) {
        for (variable, address, _) in self.settings.listeners().unwrap() {
            assert!(TcpListener::bind(address).is_ok(), "{variable} {address} is still taken");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A failed test may leave a stack running.
        let _ = self.run(&["down"]);
    }
}

fn demonstration() -> PathBuf {
    repository().join("deploy/demonstration.toml")
}

fn client() -> Agent {
    http::client(Duration::from_secs(20))
}

fn get(url: &str) -> HttpReply {
    http::get(&client(), url, &[]).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn up_serves_down_leaves_nothing_and_data_and_split_survive() {
    let place = Place::new();
    assert_eq!(place.run(&["status"]).status.code(), Some(3));
    let said = place.succeeds(&["up"]);
    assert!(said.contains(&place.url()), "{said}");
    let again = place.succeeds(&["up"]);
    assert!(again.contains("Running already"), "{again}");

    let status = place.succeeds(&["status"]);
    assert_eq!(status.lines().filter(|line| line.contains(" ready ")).count(), 11, "{status}");
    assert!(status.contains("share   100% of parameter:text to the new side"), "{status}");
    let status: Value = serde_json::from_str(&place.succeeds(&["status", "--json"])).unwrap();
    assert_eq!(status["parts"].as_array().unwrap().len(), 11, "{status:#}");
    assert!(status["parts"][0]["is_ready"].as_bool().unwrap(), "{status:#}");
    let link = client()
        .post(format!("{}/api/links", place.url()))
        .content_type("application/json")
        .send(r#"{"url":"https://example.com/"}"#);
    let link: Value = serde_json::from_slice(&http::read(link.unwrap()).unwrap().body).unwrap();
    place.succeeds(&["split", "0"]);
    let status: Value =
        serde_json::from_str(&place.succeeds(&["status", "qrcode", "--json"])).unwrap();
    let route = &status["routes"][0];
    assert!(route["route"] == "qrcode" && route["split"]["share_percent"] == 0.0, "{status:#}");
    assert_eq!(route["served"]["Ok"], route["split"], "{status:#}");
    assert_eq!(get(&format!("{}/qrcode?text=a", place.url())).served_by(), "legacy-node");
    let logs = place.succeeds(&["logs", "qr-service"]);
    assert!(logs.contains("listening"), "{logs}");

    assert!(place.succeeds(&["down"]).contains("Stopped"));
    place.nothing_listens();
    assert!(place.succeeds(&["down"]).contains("Nothing runs"));

    place.succeeds(&["up"]);
    assert_eq!(get(link["short_url"].as_str().unwrap()).status, 302);
    assert_eq!(get(&format!("{}/qrcode?text=a", place.url())).served_by(), "legacy-node");
    place.succeeds(&["down"]);
    place.nothing_listens();
}

/// nginx' workers, the children of its master.
fn workers(master: Pid) -> Vec<Pid> {
    let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children")).unwrap();
    children.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()).collect()
}

/// Whether `carve split qrcode 5` succeeds, or else what it says.
fn split(place: &Place) -> Result<(), String> {
    let output = place.run(&["split", "qrcode", "5"]);
    if output.status.success() { Ok(()) } else { Err(stderr(&output)) }
}

#[test]
fn nginx_whose_master_is_killed_serves_again_and_down_leaves_nothing_of_it() {
    let within = Duration::from_secs(30);
    let place = Place::new();
    place.succeeds(&["up"]);
    let supervisor = Supervisor::new(place.run_dir());
    let master = supervisor.pid_of("nginx").unwrap();
    let left = workers(master);
    // One worker hangs, so the stop signal does not end it.
    kill_process(left[0], Signal::STOP).unwrap();
    kill_process(master, Signal::KILL).unwrap();
    assert!(holds_within(within, || split(&place).is_ok()), "{:?}", split(&place));
    assert!(holds_within(within, || left
        .iter()
        .all(|it| kill_process(*it, Signal::CONT).is_err())));
    assert!(place.succeeds(&["status"]).contains("nginx           ready"));

    // Both are killed: the supervisor is stopped first, so that it does not see the master's end.
    let (supervisor, master) = (supervisor.pid().unwrap(), supervisor.pid_of("nginx").unwrap());
    kill_process(supervisor, Signal::STOP).unwrap();
    kill_process(master, Signal::KILL).unwrap();
    let said = split(&place).unwrap_err();
    assert!(said.contains("master process") && said.contains("has ended"), "{said}");
    kill_process(supervisor, Signal::KILL).unwrap();
    assert!(holds_within(within, || place.run(&["status"]).status.code() == Some(3)));
    let status = place.run(&["status"]);
    let said = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(said.contains("still answer until `carve down`"), "{said}");
    assert_eq!(get(&format!("http://{}/livez", place.settings.addresses.proxy_admin)).status, 200);
    assert!(place.succeeds(&["down"]).contains("Stopped"));
    let listens = |(_, address, _): &(_, SocketAddr, _)| TcpStream::connect(address).is_ok();
    assert!(holds_within(within, || !place.settings.listeners().unwrap().iter().any(listens)));
    place.nothing_listens();
}

#[test]
fn a_stack_starts_in_an_odd_environment_and_nobody_else_may_write_there() {
    for umask in ["077", "000"] {
        let place = Place::new();
        let mut up = Command::new("sh");
        let script = format!("umask {umask}; ulimit -n 256; exec \"$0\" up");
        up.args(["-c", &script, env!("CARGO_BIN_EXE_carve")]);
        up.envs(place.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = up.env("TMPDIR", "/nowhere").output().unwrap();
        assert!(output.status.success(), "{umask}: {}", stderr(&output));
        assert_eq!(get(&format!("{}/qrcode?text=a", place.url())).status, 200);
        let output = place.command(&["rollback", "qrcode"]).env("TMPDIR", "/nowhere").output();
        assert!(output.as_ref().unwrap().status.success(), "{}", stderr(&output.unwrap()));
        let mut find = Command::new("find");
        find.arg("-L").args([place.run_dir().join("nginx"), place.run_dir().join("carve.sock")]);
        let open = find.args(["-perm", "/022", "!", "-type", "l"]).output().unwrap().stdout;
        assert_eq!(String::from_utf8_lossy(&open), "", "umask {umask}");
        place.succeeds(&["down"]);
    }
}

#[test]
fn a_stack_runs_where_there_is_ipv6_alone_and_where_there_is_none() {
    let steps = "$0 up && curl --noproxy \"*\" -gsSf -o /dev/null $1/qrcode?text=a && \
                 $0 split qrcode 50 && $0 status && $0 rollback qrcode && $0 down";
    // Users other than root become root for their network only.
    let user = rustix::process::geteuid();
    let (root, back) = match user.is_root() {
        true => (None, String::new()),
        false => (Some("--map-root-user"), format!("unshare --user --map-user={}", user.as_raw())),
    };
    let script =
        format!("ip link set lo up && ip address delete $0 dev lo && {back} sh -c '{steps}' $1 $2");
    for (without, host) in [("127.0.0.1/8", "::1"), ("::1/128", "127.0.0.1")] {
        let place = Place::new();
        let mut command = Command::new("unshare");
        command.args(root).args(["--net", "sh", "-c", &script, without]);
        command.arg(env!("CARGO_BIN_EXE_carve"));
        let of_host = |address: SocketAddr| SocketAddr::new(host.parse().unwrap(), address.port());
        command.arg(format!("http://{}", of_host(place.settings.addresses.proxy)));
        command
            .envs(place.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
        for (variable, address, _) in place.settings.listeners().unwrap() {
            command.env(variable, of_host(address).to_string());
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "at {host}: {}", stderr(&output));
    }
}

#[test]
fn each_taken_port_is_named_with_who_holds_it_if_that_is_known_and_nothing_is_started() {
    let mut place = Place::new();
    let holder = TcpListener::bind(place.old()).unwrap();
    // A connection has a port too, but nobody listens there, so its holder is not found.
    let connection = TcpStream::connect(place.old()).unwrap();
    *place.new_side() = connection.local_addr().unwrap();
    let output = place.run(&["up"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let (old, new) = (place.old(), *place.new_side());
    let process = format!("process {} (", std::process::id());
    for expected in [
        format!("{old} (STACK_OLD_ADDR): held by {process}"),
        format!("{new} (STACK_NEW_ADDR): Address already in use"),
    ] {
        assert!(said.contains(&expected), "{expected}: {said}");
    }
    assert_eq!(said.lines().count(), 2, "{said}");
    drop((holder, connection));
    // The connection's port is free again only after a while, so it is not checked.
    *place.new_side() = old;
    place.nothing_listens();
}

#[test]
fn compare_without_a_stack_is_no_difference() {
    let output = Place::new().run(&["compare", "requests.txt"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("nothing was started"), "{}", stderr(&output));
}

#[test]
fn two_parts_cannot_share_an_address() {
    let mut place = Place::new();
    *place.new_side() = place.old();
    let output = place.run(&["up"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("STACK_OLD_ADDR"), "{}", stderr(&output));
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let place = Place::new();
    // Root may write to any folder, but a file in its place stops root too.
    fs::write(place.run_dir(), "").unwrap();
    let output = place.run(&["up"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("run dir") && said.contains("STACK_RUN_DIR"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    place.nothing_listens();
}

#[test]
fn a_bad_setting_is_named_and_nothing_is_started() {
    let place = Place::new();
    for (variable, value) in [
        ("STACK_NEW_ADDR", "localhost"),
        ("STACK_PROXY_ADDR", "8080"),
        ("STACK_SPLIT", "101"),
        ("STACK_SPLIT_KEY", "cookie"),
    ] {
        let output = place.command(&["up"]).env(variable, value).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{variable}");
        let said = stderr(&output);
        assert!(said.contains(variable) && said.contains(value), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    for (variable, value, shown) in
        [("QR_ENGINE", "fastest", "QR_ENGINE"), ("STACK_OLD_WORKERS", "many", "WORKERS=\"many\"")]
    {
        let output = place.command(&["up"]).env(variable, value).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(shown), "{}", stderr(&output));
    }
    place.nothing_listens();
    let output = place.run(&["split", "50"]);
    assert!(stderr(&output).contains("no nginx runs"), "{}", stderr(&output));
    assert_eq!(place.run(&["split", "100.5"]).status.code(), Some(2));
    assert!(stderr(&place.run(&["logs", "ngnix"])).contains("no part \"ngnix\""));
}

#[test]
fn a_command_runs_beside_a_stack_of_its_own() {
    let place = Place::new();
    let script = "curl --noproxy '*' -sfo /dev/null -w %{http_code} $STACK_URL/qrcode?text=a; echo; \
                  echo ${STACK_URL#http://}; exit 7";
    let output = place.run(&["with", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("200"));
    let proxy: SocketAddr = lines.next().unwrap().parse().unwrap();
    assert!(TcpListener::bind(proxy).is_ok(), "its stack has ended");
}
