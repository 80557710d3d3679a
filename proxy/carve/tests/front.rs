//! `carve up` before a user's own app, and `carve apply`, with real servers in Node and Python and a real nginx.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use service_kit::testing::{Process, certificate, has_all, holds_within};

use crate::support;
use crate::support::{Site, said};

/// An app that the tests of route files use too.
fn app(file: &str, address: &str) -> Process {
    let program = if file.ends_with(".py") { "python3" } else { "node" };
    let mut command = Command::new(program);
    command.arg(format!("{}/../route/tests/apps/{file}", env!("CARGO_MANIFEST_DIR"))).arg(address);
    let app = Process::start(&mut command);
    assert!(eventually(|| TcpStream::connect(address).is_ok()), "{file} starts");
    app
}

fn eventually(holds: impl FnMut() -> bool) -> bool {
    holds_within(Duration::from_secs(60), holds)
}

/// A site with one route, and a file of names.
struct Place {
    site: Site,
    up: Option<Process>,
}

impl Deref for Place {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.site
    }
}

impl Place {
    fn new() -> Self {
        let place = Place { site: Site::new(), up: None };
        place.write("routes/report.toml", "path = \"/report\"\n");
        place.names("");
        place
    }

    /// Writes the file of names, which `up` sees in place of the machine's.
    fn names(&self, text: &str) {
        self.write("hosts", &format!("127.0.0.1 localhost\n::1 localhost\n{text}"));
    }

    /// `carve up` in a mount namespace of its own, with the names of this place.
    fn up(&mut self, old: &str, new: &str) {
        let mut command = Command::new("unshare");
        // Users other than root become root for the mount only.
        let user = rustix::process::geteuid();
        if !user.is_root() {
            command.arg("--map-root-user");
        }
        // In a chroot, the top is no mount point whose propagation could change.
        let is_mount_point = Command::new("mountpoint").args(["-q", "/"]).status().unwrap();
        if !is_mount_point.success() {
            command.args(["--propagation", "unchanged"]);
        }
        command.args(["--mount", "sh", "-c"]);
        command.arg("mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"").arg("sh");
        command.arg(self.path("hosts"));
        if !user.is_root() {
            command.args(["unshare", "--user", &format!("--map-user={}", user.as_raw())]);
        }
        let routes = self.path("routes");
        let args = ["up", "--foreground", routes.to_str().unwrap(), "--old", old, "--new", new];
        let carve = self.carve(&args);
        command.arg(carve.get_program()).args(carve.get_args()).stdout(Stdio::null());
        command.envs(carve.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.up = Some(Process::start(&mut command));
        let is_up = eventually(|| self.run(&["status"]).status.success());
        assert!(is_up, "{:?}", self.run(&["status"]));
    }

    fn succeeds(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// The head and body of the answer to a GET over a new connection.
    fn get(&self, path: &str) -> String {
        get(self.at.proxy, path)
    }
}

fn get(addr: SocketAddr, path: &str) -> String {
    let mut curl = Command::new("curl");
    curl.args(["-s", "-k", "-i", "--max-time", "20"]).arg(format!("http://{addr}{path}"));
    String::from_utf8_lossy(&curl.output().unwrap().stdout).replace('\r', "")
}

fn is_ok(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200")
}

/// A free address of this machine, as text.
fn free() -> String {
    service_kit::free_address().unwrap().to_string()
}

#[test]
fn apply_takes_over_what_files_say_now_and_nothing_if_one_is_wrong_and_no_request_is_lost() {
    let (old, new) = (free(), free());
    let _apps = (app("app.mjs", &old), app("app.py", &new));
    let mut place = Place::new();
    place.up(&format!("http://{old}"), &format!("http://{new}"));
    place.succeeds(&["split", "report", "50"]);
    assert!(place.succeeds(&["apply"]).contains("Nothing has changed."));

    let (ended, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let clients: Vec<_> = ["/", "/report"]
            .map(|path| {
                let (place, ended, asked) = (&place, &ended, &asked);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let answer = place.get(path);
                        assert!(is_ok(&answer), "{path}: {answer}");
                        asked.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .into();
        let _ends = support::EndsLoad(&ended);
        place.write("routes/extra.toml", "path = \"/extra\"\nshare = 100\n");
        place.write("routes/report.toml", "path = \"/report\"\nmethods = [\"any\"]\n");
        place.write("routes/carve.toml", "[headers.response]\nX-Front = \"1\"\n");
        let said = place.succeeds(&["apply"]);
        assert!(said.contains("extra  new") && said.contains("report changed"), "{said}");
        assert!(place.get("/").contains("\nX-Front: 1\n"));
        assert!(place.get("/extra").contains("X-Powered-By: Python"));
        let status = place.succeeds(&["status", "report"]);
        assert!(status.contains("50%"), "a route keeps its share: {status}");

        // The first mistake is one that carve finds, the second one only nginx finds.
        place.write("routes/report.toml", "pfad = \"/report\"\n");
        place.write("routes/carve.toml", "[app]\nmax = 1\n");
        let said = place.fails(&["apply"]);
        has_all(&said, &["report.toml: line 1", "carve.toml: line 2"]);
        place.write("routes/report.toml", "path = \"/report/*\"\n");
        let tls = "[front.tls]\ncertificate = \"none.pem\"\nkey = \"none.pem\"\n";
        place.write("routes/carve.toml", tls);
        let said = place.fails(&["apply"]);
        assert!(said.contains("nothing has changed") && said.contains("none.pem"), "{said}");
        // Only a running nginx meets this mistake: somebody else listens there.
        let listen = format!("[front]\nlisten = [{{ address = \"{old}\" }}]\n");
        place.write("routes/carve.toml", &listen);
        let said = place.fails(&["apply"]);
        assert!(said.contains("nothing has changed"), "{said}");
        place.succeeds(&["split", "report", "40"]);
        assert!(place.get("/").contains("\nX-Front: 1\n"), "{}", place.get("/"));

        place.write("routes/carve.toml", "");
        fs::remove_file(place.path("routes/extra.toml")).unwrap();
        let said = place.succeeds(&["apply"]);
        assert!(said.contains("extra  removed") && said.contains("report changed"), "{said}");
        assert!(place.get("/extra").contains("X-Powered-By: Node"));
        assert!(!place.get("/").contains("X-Front"));
        ended.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
    assert!(asked.load(Ordering::Relaxed) > 50, "{asked:?}");
}

#[test]
fn a_changed_shadow_percent_comes_into_force_and_mirror_holds_until_it_changes_again() {
    let (old, new) = (free(), free());
    let _apps = (app("app.mjs", &old), app("app.py", &new));
    let mut place = Place::new();
    place.up(&format!("http://{old}"), &format!("http://{new}"));
    let report = |keys: &str| {
        place.write("routes/report.toml", &format!("path = \"/report\"\n{keys}\n"));
    };
    let served = || {
        let status = place.succeeds(&["status", "report", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let split = &status["routes"][0]["served"]["Ok"];
        ["share_percent", "mirror_percent"].map(|key| split[key].as_f64().unwrap())
    };
    place.succeeds(&["split", "report", "50"]);
    report("shadow.percent = 25");
    place.succeeds(&["apply"]);
    assert_eq!(served(), [50.0, 25.0]);
    place.succeeds(&["split", "report", "--mirror", "5"]);
    report("shadow.percent = 25\nold.timeout = \"3s\"");
    assert!(place.succeeds(&["apply"]).contains("report changed"));
    assert_eq!(served(), [50.0, 5.0]);

    report("shadow.percent = 40");
    let mut run = place.carve(&["ramp", "report", "--steps", "60", "--hold", "60s"]);
    let run = Process::start(run.stdout(Stdio::null()));
    assert!(eventually(|| served()[0] == 60.0));
    assert!(place.fails(&["apply"]).contains("report: the split is held by process"));
    assert_eq!(served(), [60.0, 5.0]);
    drop(run); // it ends, and keeps its share
    place.succeeds(&["apply"]);
    assert_eq!(served(), [60.0, 40.0]);

    // The file changes while nothing runs.
    report("shadow.percent = 30");
    drop(place.up.take());
    place.up(&format!("http://{old}"), &format!("http://{new}"));
    let status = place.succeeds(&["status", "report"]);
    assert!(status.contains("60%") && status.contains("30% mirrored"), "{status}");
}

#[test]
fn at_a_name_with_two_addresses_of_which_one_listens_every_page_comes() {
    let address = service_kit::free_address().unwrap();
    let _app = app("app.py", &address.to_string());
    let url = format!("http://localhost:{}", address.port());
    let mut place = Place::new();
    place.up(&url, &url);
    for number in 0..400 {
        let path = if number % 2 == 0 { "/" } else { "/report" };
        let answer = place.get(path);
        assert!(is_ok(&answer), "{path}, {number}: {answer}");
    }
}

#[test]
fn the_address_of_a_name_and_a_certificate_are_followed() {
    let port = service_kit::free_address().unwrap().port();
    let _apps =
        (app("app.mjs", &format!("127.0.0.2:{port}")), app("app.py", &format!("127.0.0.3:{port}")));
    let mut place = Place::new();
    place.names("127.0.0.2 app.test\n");
    let tls = free();
    let folder = place.path("routes");
    certificate(&folder, "first");
    place.write(
        "routes/carve.toml",
        &format!(
            "[front]\ntls = {{ certificate = \"cert.pem\", key = \"key.pem\" }}\n\
             listen = [{{ address = \"{tls}\", tls = true }}]\n"
        ),
    );
    let url = format!("http://app.test:{port}");
    place.up(&url, &url);
    assert!(place.get("/").contains("X-Powered-By: Node"), "{}", place.get("/"));
    assert_eq!(subject(&tls), "first");
    // Files that nobody has applied change nothing.
    place.write("routes/report.toml", "path = \"/\"\n");
    place.names("127.0.0.3 app.test\n");
    certificate(&folder, "second");
    assert!(eventually(|| place.get("/").contains("X-Powered-By: Python")), "{}", place.get("/"));
    assert!(eventually(|| subject(&tls) == "second"), "{}", subject(&tls));
    assert!(place.succeeds(&["status"]).contains("report"));
}

#[test]
fn a_name_whose_addresses_rotate_reloads_nginx_once_while_they_answer() {
    let port = service_kit::free_address().unwrap().port();
    let apps = [2, 3].map(|end| app("app.mjs", &format!("127.0.0.{end}:{port}")));
    let mut place = Place::new();
    place.names("127.0.0.2 app.test\n");
    let url = format!("http://app.test:{port}");
    place.up(&url, &url);
    let status: serde_json::Value =
        serde_json::from_str(&place.succeeds(&["status", "--json"])).unwrap();
    let mut parts = status["parts"].as_array().unwrap().iter();
    let master = &parts.find(|part| part["part"] == "nginx").unwrap()["pid"];
    let mut workers = std::collections::BTreeSet::new();
    for number in 0..150 {
        // Three seconds each: the names are looked up every two.
        if number % 30 == 0 {
            place.names(&format!("127.0.0.{} app.test\n", 2 + number / 30 % 2));
        }
        let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children"));
        workers.extend(children.unwrap().split_whitespace().map(str::to_owned));
        thread::sleep(Duration::from_millis(100));
    }
    let each = std::thread::available_parallelism().unwrap().get();
    assert_eq!(workers.len(), 2 * each, "one reload, at first: {workers:?}");
    // nginx has 127.0.0.3 since then, and DNS another one when it goes.
    let [_second, third] = apps;
    place.names("127.0.0.2 app.test\n");
    drop(third);
    assert!(eventually(|| is_ok(&place.get("/"))), "{}", place.get("/"));
}

/// The name in the certificate that nginx presents at this address.
fn subject(address: &str) -> String {
    let mut openssl = Command::new("openssl");
    openssl.args(["s_client", "-connect", address]).stdin(Stdio::null());
    let said = String::from_utf8_lossy(&openssl.output().unwrap().stdout).into_owned();
    let line =
        said.lines().find_map(|line| line.trim().strip_prefix("subject=")).unwrap_or_default();
    line.replace("CN = ", "").replace("CN=", "")
}

/// What systemd does with a unit, as far as its lines matter: the command with its words and variables, on its own.
fn as_systemd(unit: &str) -> Command {
    let values = |key: &str| {
        let lines = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let started = values("ExecStart").remove(0);
    // Nothing in this test's words is quoted further.
    let mut words =
        started.split_whitespace().map(|word| word.trim_matches('"').replace("%%", "%"));
    let mut command = Command::new(words.next().unwrap());
    command.args(words).env_clear().current_dir(&values("WorkingDirectory")[0]);
    for variable in values("Environment") {
        let (name, value) = variable.trim_matches('"').split_once('=').unwrap();
        command.env(name, value);
    }
    command
}

#[test]
fn a_units_stack_comes_back_after_its_supervisor_was_killed_and_without_its_new_side() {
    let (old, new) = (free(), free());
    let _old = app("app.mjs", &old);
    let place = Place::new();
    let unit = |routes: &str, more: &[&str]| {
        let sides = [format!("http://{old}"), format!("http://{new}")];
        let mut command = place.carve(&["unit", routes, "--old", &sides[0], "--new", &sides[1]]);
        command
            .args(more)
            .current_dir(place.path(""))
            .env("RAMP_WEBHOOKS", "slack:http://secret.test");
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, said, wrong) = unit("routes", &[]);
    assert_eq!((code, wrong.as_str()), (Some(0), ""));
    assert!(!said.contains("secret.test"), "anybody may read a unit: {said}");
    place.write("carve.service", &said);
    let mut verify = Command::new("systemd-analyze");
    let verified = verify.args(["verify", "--man=no"]).arg(place.path("carve.service")).output();
    let verified = verified.unwrap();
    let complaints = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success() && !complaints.contains("carve.service"), "{complaints}");
    assert!(unit("a %b $c", &[]).1.contains("\"a %%b $$c\""));
    for more in [["--split", "5"], ["--mirror", "5"]] {
        let (code, _, said) = unit("routes", &more);
        assert!(code == Some(2) && said.contains(more[0]), "{said}");
    }
    let (_, low, _) = unit("routes", &["--proxy-addr", "0.0.0.0:80"]);
    assert!(low.contains("CAP_NET_BIND_SERVICE") && !said.contains("CAP_"), "{low}");

    // The first start names a side that is not there.
    let refused = as_systemd(&said).output().unwrap();
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains(&format!("{new} (NEW, --new) does not answer")), "{refused}");
    let started = || Process::start(as_systemd(&said).stdout(Stdio::null()));
    let new_side = app("app.py", &new);
    let supervisor = started();
    assert!(eventually(|| place.run(&["status"]).status.success()));
    place.succeeds(&["split", "report", "100"]);
    assert!(place.get("/report").contains("X-Powered-By: Python"));

    drop(new_side);
    supervisor.signal(Signal::KILL);
    supervisor.wait();
    let _again = started();
    assert!(eventually(|| place.run(&["status"]).status.success()));
    assert!(eventually(|| place.get("/report").contains("X-Powered-By: Node")));
}

mod nightly {
    #![allow(clippy::print_stderr, reason = "the figures of docs/capacity.md")]

    use std::time::Instant;

    use super::*;

    /// Prints how long something takes.
    fn timed<T>(what: &str, run: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let outcome = run();
        eprintln!("{what}: {:.2?}", began.elapsed());
        outcome
    }

    #[test]
    fn a_hundred_routes_are_checked_served_moved_and_counted() {
        let (old, new) = (free(), free());
        let _apps = (app("app.mjs", &old), app("app.py", &new));
        let mut place = Place::new();
        let urls = [&old, &new].map(|it| format!("http://{it}"));
        place.up(&urls[0], &urls[1]);
        timed("split, one route", || place.succeeds(&["split", "report", "50"]));
        let names: Vec<String> = (1..100).map(|number| format!("r{number}")).collect();
        for name in &names {
            place.write(&format!("routes/{name}.toml"), &format!("path = \"/{name}\"\n"));
        }
        timed("render", || {
            let (routes, to) = (place.path("routes"), place.path("rendered"));
            let (routes, to) = (routes.to_str().unwrap(), to.to_str().unwrap());
            fs::create_dir(to).unwrap();
            let sides = ["--old", &urls[0], "--new", &urls[1]];
            place.succeeds(&[&["render", "--routes", routes, "--to", to], &sides[..]].concat());
        });
        timed("apply", || place.succeeds(&["apply"]));
        timed("split", || place.succeeds(&["split", "r99", "100"]));
        timed("rollback", || place.succeeds(&["rollback", "r50"]));
        for name in &names {
            let by = if name == "r99" { "Python" } else { "Node" };
            let answer = place.get(&format!("/{name}"));
            assert!(answer.contains(&format!("X-Powered-By: {by}")), "{name}: {answer}");
        }
        let is_counted = || {
            let counts = get(place.at.edge, "/metrics");
            let is_there = |name: &String| counts.contains(&format!("route=\"{name}\""));
            eprintln!("edge: {} KiB of metrics", counts.len() / 1024);
            names.iter().all(is_there)
        };
        assert!(eventually(is_counted), "edge counts each route by its name");
    }
}
