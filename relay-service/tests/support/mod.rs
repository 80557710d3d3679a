//! Starts the two relays, for tests.

pub(crate) mod clients;
pub(crate) mod edge;

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use contract::Target;
use contract::relay::{all, run};
use route::render::{OF_THE_APP, SHARED, Upstreams};
use route::{BaseUrl, Route};
use serde_json::Value;
use service_kit::testing::{Service, get, on_free_ports};

/// Scenarios under way at once.
const CONCURRENCY: usize = 8;

/// Starts a relay-service with these settings.
pub(crate) fn relay_service(settings: &[(&str, &str)]) -> Service {
    let mut command = on_free_ports(env!("CARGO_BIN_EXE_relay-service"), "RELAY_");
    Service::start(command.envs(settings.iter().copied()))
}

/// The legacy app with its relay; killed when dropped.
pub(crate) struct Legacy {
    child: Child,
    _data: tempfile::TempDir,
    /// HTTP/1.1, for clients.
    pub(crate) addr: String,
    /// HTTP/2, for nginx.
    pub(crate) proxy_addr: String,
    /// Health and metrics.
    pub(crate) admin_addr: String,
}

impl Legacy {
    pub(crate) fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut child = Command::new("node")
            .arg(root().join("legacy-node/src/server.js"))
            .envs(
                ["ADDR", "ADMIN_ADDR", "RELAY_ADDR", "RELAY_PROXY_ADDR"]
                    .map(|name| (name, "127.0.0.1:0")),
            )
            .env("DATA_DIR", data.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        log.read_line(&mut line).unwrap();
        let listening: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(listening["msg"], "listening", "{line}");
        // The log must be read on, or the app blocks.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let addr = |name: &str| listening[name].as_str().unwrap().to_owned();
        Legacy {
            child,
            _data: data,
            addr: addr("relay_addr"),
            proxy_addr: addr("relay_proxy_addr"),
            admin_addr: addr("admin_addr"),
        }
    }
}

impl Drop for Legacy {
    fn drop(&mut self) {
        // The process may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads one metric of a service. Panics if the service does not have it.
pub(crate) fn metric(service: &Service, name: &str) -> f64 {
    let metrics = get(service.admin_addr, "/metrics");
    let line = metrics.lines().find(|line| line.split(' ').next() == Some(name));
    let value = line.and_then(|line| line.split(' ').nth(1));
    value.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

/// Writes nginx' files into `folder`: those of `proxy/`, and those rendered from the routes. Returns nginx' public
/// address.
pub(crate) fn write_configuration(folder: &Path, routes: &[Route]) -> SocketAddr {
    // nginx cannot pick free ports itself.
    let [addr, admin_addr] = [(); 2].map(|()| service_kit::free_address().unwrap());
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    for name in SHARED.into_iter().chain(["nginx.conf"]) {
        std::fs::copy(root().join("proxy").join(name), folder.join(name)).unwrap();
    }
    write("listen.conf", &format!("listen {addr};"));
    write("listen-admin.conf", &format!("listen {admin_addr};"));
    for name in OF_THE_APP {
        write(name, "");
    }
    for name in ["edge", "stop"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    let nobody: BaseUrl = "http://127.0.0.1:9".parse().unwrap();
    let upstreams = Upstreams {
        old: nobody.clone().into(),
        new: nobody.clone().into(),
        shadow: nobody.clone(),
        prometheus: nobody,
        resolved: Vec::new(),
        addresses: Default::default(),
    };
    let carve = route::CarveFile::of(&root().join("proxy/routes")).unwrap();
    for (name, text) in route::render::all(&carve, routes, &upstreams) {
        write(name, &text);
    }
    // If root starts nginx, its workers run as another user.
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    addr
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Plays every scenario and panics if one fails. Returns the names of the servers that answered.
pub(crate) fn check_contract(addr: &str, proxied: bool) -> Vec<String> {
    let target = Target::new(&format!("http://{addr}")).unwrap();
    let report = run(&target, &all().unwrap(), CONCURRENCY, proxied);
    assert_eq!(report.counts().1, 0, "{report}");
    report.outcomes.into_iter().filter_map(|outcome| outcome.served_by).collect()
}
