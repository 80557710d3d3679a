//! Renders the files that a stack runs from.
//!
//! The files of `proxy/` and `dashboards/prometheus/` are valid with the default ports. Rendering replaces these
//! addresses, so every stack uses the same source files. They are embedded, so that the program runs without the
//! repository. nginx' files for the routes are made from the route files.

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use route::render::{OF_THE_APP, SHARED, Upstreams};
use route::{BaseUrl, CARVE_FILE, CarveFile, Route, SideUrl};
use serde::{Deserialize, Serialize};

use super::names;
use super::parts::{Parts, Words, filled};
use super::settings::{Addresses, Settings, Sides, here};

/// Writes the run folder: the configuration of nginx and Prometheus, and the list of parts. An error names the file.
pub fn render(settings: &Settings) -> anyhow::Result<()> {
    for folder in ["log", "nginx", "nginx/edge", "prometheus", "data/prometheus"] {
        let folder = settings.run_dir.join(folder);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    let at = &settings.addresses;
    let nginx = settings.nginx_dir();
    let place = |name: &str, changes: &[(&str, String)]| {
        write(&nginx.join(name), &changed(name, &embedded(PROXY, name)?, changes)?)
    };
    // With `auto`, nginx starts a worker for each core of the machine, even for those it may not use.
    let workers = format!("worker_processes {};", processors());
    place("nginx.conf", &[("worker_processes auto;", workers)])?;
    for name in SHARED {
        place(name, &[])?;
    }
    place("listen.conf", &[("127.0.0.1:8080;", format!("{};", at.proxy))])?;
    place("listen-admin.conf", &[("127.0.0.1:8081", at.proxy_admin.to_string())])?;
    let (carve, routes) = routes(settings)?;
    for (name, text) in included(settings, &carve, &routes)? {
        write(&nginx.join(name), &text)?;
    }
    let words = words(settings, &routes)?;
    let apps = settings.apps()?;
    OF_THE_APP.iter().try_for_each(|name| write(&nginx.join(name), ""))?;
    apps.run_before(&nginx, &words)?;
    let prometheus = settings.run_dir.join("prometheus");
    for folder in [prometheus.join("rules"), nginx.join("live")] {
        // What an earlier start left there: a folder or a link.
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => removed.with_context(|| folder.display().to_string())?,
        }
    }
    write_folders(&prometheus, &nginx.join("live"))?;
    write(&prometheus.join("prometheus.yml"), &embedded(PROMETHEUS, "prometheus.yml")?)?;
    let Sides { old, new } = sides(settings)?;
    let started = StartRecord {
        routes: settings.routes.clone(),
        old: old.to_string(),
        new: new.to_string(),
        parts: settings.apps.clone(),
        addresses: Some(at.clone()),
    };
    let started = serde_json::to_string_pretty(&started)?;
    write(&settings.run_dir.join("started.json"), &started)?;
    // Keeps the split of an earlier run unless told otherwise: it survives `down` and `up`.
    rollout::prepare(&settings.nginx_dir(), &routes, &settings.wanted)?;
    rollout::prepare_stops(&settings.nginx_dir(), settings.stops_dir().as_deref())?;
    let parts = Parts { socket: socket(settings), ..apps.with_own()?.filled(&words)? };
    write(&prometheus.join("targets.json"), &parts.targets(&settings.others)?)?;
    parts.write(&settings.run_dir)
}

/// The default sides of all routes: the two given servers, or else those of `--parts`.
fn sides(settings: &Settings) -> anyhow::Result<Sides> {
    if let Some(sides) = &settings.sides {
        return Ok(sides.clone());
    }
    let apps = settings.apps()?;
    let words = settings.addresses.words();
    let side = |url| filled(url, &words)?.parse::<SideUrl>();
    Ok(Sides { old: side(&apps.old)?, new: side(&apps.new)? })
}

/// The URLs of all servers that nginx sends requests to.
pub(crate) fn urls<'a>(
    sides: &'a Sides,
    carve: &'a CarveFile,
    routes: &'a [Route],
) -> impl Iterator<Item = &'a SideUrl> {
    let of_hosts = carve.hosts.iter().map(|host| &host.app);
    let of_routes = routes.iter().flat_map(|route| [&route.file.old.url, &route.file.new.url]);
    [&sides.old, &sides.new].into_iter().chain(of_hosts).chain(of_routes.flatten())
}

/// The names and texts of nginx' files for these routes. Fails if an address is not valid.
pub(crate) fn included(
    settings: &Settings,
    carve: &CarveFile,
    routes: &[Route],
) -> anyhow::Result<Vec<(String, String)>> {
    let upstreams = upstreams(settings, carve, routes)?;
    let files = route::render::all(carve, routes, &upstreams);
    let files = files.into_iter().map(|(name, text)| (name.to_owned(), text));
    Ok(files.chain([(CARVE_FILE.to_owned(), carve.text.clone())]).collect())
}

fn upstreams(
    settings: &Settings,
    carve: &CarveFile,
    routes: &[Route],
) -> anyhow::Result<Upstreams> {
    let here = |address: &SocketAddr| format!("http://{address}").parse::<BaseUrl>();
    let (at, sides) = (&settings.addresses, sides(settings)?);
    let names = names::that_answer(names::lookup(urls(&sides, carve, routes)));
    // nginx alone uses the socket, which costs less processor time than a port (ADR 15).
    let socket = match settings.sides {
        Some(_) => None,
        None => settings.new_socket().ok().flatten(),
    };
    Ok(Upstreams {
        old: sides.old,
        new: socket.map_or(sides.new, SideUrl::Unix),
        shadow: here(&at.shadow)?,
        prometheus: here(&at.prometheus)?,
        resolved: Vec::new(),
        addresses: names,
    })
}

/// The `carve.toml` and the routes that were last applied to nginx, as kept in its folder.
pub(crate) fn applied(settings: &Settings) -> anyhow::Result<(CarveFile, Vec<Route>)> {
    let dir = settings.nginx_dir();
    let carve = CarveFile::parse_in(&read(&dir.join(CARVE_FILE))?, &settings.routes)?;
    let routes = rollout::prepared(&dir).into_iter();
    let routes = routes.map(|route| settings.nginx(&route).route_file());
    let mut routes = routes.collect::<anyhow::Result<Vec<_>>>()?;
    route::settle(&carve, &mut routes)?;
    Ok((carve, routes))
}

/// Reads `carve.toml` and the route files. Routes of sessions name the default addresses of the parts of `--parts`, and
/// get this stack's instead.
pub(crate) fn routes(settings: &Settings) -> anyhow::Result<(CarveFile, Vec<Route>)> {
    let (carve, mut routes) = route::load(&settings.routes)?;
    let apps = settings.apps()?;
    let url = |at: SocketAddr| format!("http://{at}\"");
    let here = |(word, default): (&String, _)| {
        Some((url(default), url(*settings.addresses.apps.get(word)?)))
    };
    let addresses: Vec<_> = apps.addresses().filter_map(here).collect();
    for route in routes.iter_mut().filter(|route| route.is_session() && !addresses.is_empty()) {
        *route = Route::parse(&route.name, &replaced(&route.text, &addresses))?;
    }
    Ok((carve, routes))
}

/// How a stack was started: `started.json` in the run folder.
#[derive(Debug, Serialize, Deserialize)]
pub struct StartRecord {
    /// The folder of route files.
    pub routes: PathBuf,
    /// The URL of the old side.
    pub old: String,
    /// The URL of the new side.
    pub new: String,
    /// The file of `--parts`; `None` around two servers that ran already.
    #[serde(default)]
    pub parts: Option<PathBuf>,
    /// Where the parts listen; `None` in older files.
    pub addresses: Option<Addresses>,
}

impl Settings {
    /// The settings of the stack in a run folder; the defaults if none was started there. Fails if `started.json`
    /// cannot be read.
    pub fn started(run_dir: PathBuf) -> anyhow::Result<Self> {
        let started = started_in(&run_dir)?;
        let addresses = started.as_ref().and_then(|started| started.addresses.clone());
        let addresses = addresses.map_or_else(Addresses::of_environment, Ok)?;
        let settings = Settings::new(run_dir, addresses, PathBuf::from("carve"));
        let Some(StartRecord { routes, old, new, parts: apps, .. }) = started else {
            return Ok(settings);
        };
        let sides = match apps {
            Some(_) => None,
            None => Some(Sides { old: old.parse()?, new: new.parse()? }),
        };
        Ok(Settings { routes, sides, apps, ..settings })
    }
}

/// What the parts of `--parts` show to people: names and URLs.
pub fn urls_to_open(run_dir: &Path) -> anyhow::Result<Vec<(String, String)>> {
    Ok(Parts::here(run_dir)?.urls)
}

/// How the stack in a run folder was started; `None` if none was. Fails if `started.json` cannot be read.
pub fn started_in(run_dir: &Path) -> anyhow::Result<Option<StartRecord>> {
    let file = run_dir.join("started.json");
    if !file.is_file() {
        return Ok(None);
    }
    serde_json::from_str(&read(&file)?).map(Some).with_context(|| file.display().to_string())
}

/// The number of processors that this process may use, by its affinity and its cgroup.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Replaces default addresses in the text of the file `name`. Fails if the text lacks one of them.
fn changed(name: &str, text: &str, changes: &[(&str, String)]) -> anyhow::Result<String> {
    for (default, _) in changes {
        ensure!(text.contains(default), "{name} has no {default} to replace");
    }
    Ok(replaced(text, changes))
}

fn replaced(text: &str, changes: &[(impl AsRef<str>, String)]) -> String {
    let mut text = text.to_owned();
    // Goes through marks, since an inserted address may be the default of a later replacement.
    let mark = |number: usize| format!("\u{1}{number}\u{2}");
    for (number, (default, _)) in changes.iter().enumerate() {
        text = text.replace(default.as_ref(), &mark(number));
    }
    for (number, (_, address)) in changes.iter().enumerate() {
        text = text.replace(&mark(number), address);
    }
    text
}

/// The words that stand in braces in the lists of parts.
pub(crate) fn words(settings: &Settings, routes: &[Route]) -> anyhow::Result<Words> {
    let names: Vec<&str> = routes.iter().map(|route| route.name.as_str()).collect();
    let path = |path: &Path| path.to_string_lossy().into_owned();
    // If root starts nginx, its workers run as user nobody by default, who cannot read the live page below /root.
    let is_root = rustix::process::geteuid().is_root();
    let Sides { old, new } = sides(settings)?;
    let new_socket = settings.new_socket().ok().flatten();
    let own = [
        ("run", path(&settings.run_dir)),
        ("carve_program", path(&settings.carve)),
        ("programs", path(settings.carve.parent().unwrap_or(&settings.carve))),
        ("routes", path(&settings.routes)),
        ("route_names", names.join(",")),
        ("old_url", old.to_string()),
        ("new_url", new.to_string()),
        ("new_socket", new_socket.map_or_else(String::new, |socket| format!(",{socket}"))),
        ("requests_log", path(&settings.requests_log())),
        ("log_share", settings.log_share.to_string()),
        ("nginx_directives", if is_root { "user root;" } else { "" }.to_owned()),
    ];
    let mut words = settings.addresses.words();
    words.extend(own.map(|(word, value)| (word.to_owned(), value)));
    // Any free port at the same address.
    let apps = settings.addresses.apps.iter();
    words.extend(
        apps.map(|(word, at)| (format!("{word}_any"), SocketAddr::new(at.ip(), 0).to_string())),
    );
    words.extend(settings.apps.as_deref().map(here));
    words.extend(settings.words.clone());
    Ok(words)
}

/// The supervisor's socket, in the run folder. If that path is too long for a socket (107 bytes on Linux), it is in
/// /tmp, named by a hash of the folder.
fn socket(settings: &Settings) -> PathBuf {
    let here = settings.run_dir.join("carve.sock");
    if here.as_os_str().len() <= 107 {
        return here;
    }
    PathBuf::from(format!("/tmp/carve-{:016x}.sock", settings.hash()))
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| file.display().to_string())
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(file, text).with_context(|| file.display().to_string())
}

/// Names, relative to a folder, and contents.
type Files = &'static [(&'static str, &'static [u8])];

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The text of an embedded file. Fails if there is none of this name.
fn embedded(files: Files, name: &str) -> anyhow::Result<String> {
    let file = files.iter().find(|(found, _)| *found == name);
    let (_, content) = file.with_context(|| format!("{name} is not part of this program"))?;
    Ok(String::from_utf8(content.to_vec())?)
}

/// Writes Prometheus' rules below `prometheus`, and the live page into `live_page`. An error names the file.
fn write_folders(prometheus: &Path, live_page: &Path) -> anyhow::Result<()> {
    let rules = PROMETHEUS.iter().filter(|(name, _)| name.starts_with("rules/"));
    write_all(rules, prometheus)?;
    write_all(LIVE, live_page)?;
    write_all(CHARTS, &live_page.join("node_modules/uplot"))
}

fn write_all<'a>(
    files: impl IntoIterator<Item = &'a (&'static str, &'static [u8])>,
    to: &Path,
) -> anyhow::Result<()> {
    for (name, content) in files {
        let file = to.join(name);
        let write = || {
            fs::create_dir_all(file.parent().unwrap_or(to))?;
            fs::write(&file, content)
        };
        write().with_context(|| file.display().to_string())?;
    }
    Ok(())
}
