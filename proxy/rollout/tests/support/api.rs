//! A ConfigMap behind a simulated Kubernetes API, and the processes that use it.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rollout::{Split, SplitChange};
use serde_json::{Value, json};
use service_kit::testing::{Asked, CLOSE, serve};

use super::gateway::HttpRoutes;
use super::{Place, Process, routes};

/// The content of the ConfigMap, and the behaviour of the API.
#[derive(Default)]
pub(crate) struct Object {
    pub(crate) data: BTreeMap<String, String>,
    /// The data of the ConfigMap of heartbeats; `None` if the manifests have none.
    pub(crate) beats: Option<BTreeMap<String, String>>,
    /// The bytes that all watchers have got.
    pub(crate) sent: usize,
    version: u64,
    /// Whether somebody else changes the split after each request.
    pub(crate) contended: bool,
    /// Whether other data in it changes after each request.
    pub(crate) busy: bool,
    /// The run that another process begins just before the next write.
    pub(crate) begins: Option<String>,
    /// Whether all requests remain unanswered.
    pub(crate) away: bool,
    /// Whether the next watch ends with 410 Gone.
    pub(crate) forgets: bool,
    watches: usize,
    pub(crate) http_routes: HttpRoutes,
}

pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    pub(crate) object: Arc<Mutex<Object>>,
}

impl Api {
    pub(crate) fn start() -> Self {
        let beats = Some(BTreeMap::new());
        let object = Arc::new(Mutex::new(Object { beats, ..Object::default() }));
        let shared = Arc::clone(&object);
        let address = serve(move |asked| answer(asked, &shared).ok_or(CLOSE.into()));
        Api { address, object }
    }

    pub(crate) fn set(&self, text: &str) {
        let mut object = self.object.lock().unwrap();
        object.data.insert("qrcode.conf".to_owned(), text.to_owned());
        object.version += 1;
    }

    /// Stops answering, or answers again.
    pub(crate) fn be_away(&self, away: bool) {
        self.object.lock().unwrap().away = away;
    }

    /// The number of watches begun so far.
    pub(crate) fn watches(&self) -> usize {
        self.object.lock().unwrap().watches
    }

    /// The recorded state of the route's run, with beat, holder and state; null if there is none.
    pub(crate) fn run(&self) -> Value {
        let object = self.object.lock().unwrap();
        object
            .data
            .get("qrcode.run")
            .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
    }

    pub(crate) fn share(&self) -> String {
        let text = self.object.lock().unwrap().data["qrcode.conf"].clone();
        Split::parse(&text).unwrap().share_percent.to_string()
    }
}

const HTTP_ROUTES: &str = "/apis/gateway.networking.k8s.io/v1/namespaces/qr/httproutes";

/// Answers one request. `None` if the connection must be closed.
fn answer(asked: &mut Asked, object: &Mutex<Object>) -> Option<()> {
    let body = asked.body().ok()?;
    let line = asked.head.lines().next().unwrap().to_ascii_lowercase();
    let path = "/api/v1/namespaces/qr/configmaps/split http/1.1";
    let beats = "/api/v1/namespaces/qr/configmaps/split-beats http/1.1";
    let watch = "/api/v1/namespaces/qr/configmaps?watch=true&fieldselector=metadata.name%3dsplit";
    for (end, is_of_beats) in [("", false), ("-beats", true)] {
        if line.starts_with(&format!("get {watch}{end}&timeoutseconds=10 ")) {
            return watched(asked.stream.get_ref(), object, is_of_beats);
        }
    }
    let mut object = object.lock().unwrap();
    if object.away {
        return None;
    }
    let (status, body) = match line.split_once(' ').unwrap() {
        ("get", requested) if requested == path => (200, shown(&object)),
        ("patch", requested) if requested == path => {
            assert_eq!(asked.header("content-type"), "application/merge-patch+json");
            patched(&mut object, &serde_json::from_slice(&body).unwrap())
        }
        (verb, requested) if requested == beats && object.beats.is_some() => {
            let data = object.beats.as_mut().unwrap();
            if verb == "patch" {
                let patch: Value = serde_json::from_slice(&body).unwrap();
                for (key, beat) in patch["data"].as_object().unwrap() {
                    data.insert(key.clone(), beat.as_str().unwrap().to_owned());
                }
            }
            (200, json!({ "data": data }))
        }
        (verb, requested) if requested.starts_with(HTTP_ROUTES) => {
            let name = requested[HTTP_ROUTES.len()..].split(' ').next().unwrap();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            object.http_routes.answer(verb, name.trim_start_matches('/'), &body)
        }
        ("post", requested) if requested.contains("selfsubjectaccessreviews") => {
            object.http_routes.review(&serde_json::from_slice(&body).unwrap())
        }
        (_, requested) => (404, json!({ "message": format!("{requested} not found") })),
    };
    if object.contended {
        let other = first().with(&share("5")).render("qrcode");
        object.data.insert("qrcode.conf".to_owned(), other);
    }
    if object.contended || (object.busy && fastrand::u8(..4) == 0) {
        object.version += 1;
    }
    let body = body.to_string();
    asked
        .answer(format!("HTTP/1.1 {status} Word\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
        .ok()
}

/// Sends the object and each change of it for a second. `None` if the connection ended.
fn watched(stream: &TcpStream, object: &Mutex<Object>, is_of_beats: bool) -> Option<()> {
    // In one write: a client that has got the last chunk without its end would use the connection again.
    let send = |text: String| {
        (&*stream).write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).ok()
    };
    let until = Instant::now() + Duration::from_secs(1);
    let mut last = None;
    object.lock().unwrap().watches += usize::from(!is_of_beats);
    while Instant::now() < until {
        let mut object = object.lock().unwrap();
        if object.away {
            return None;
        }
        if last.is_none() {
            write!(&*stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").ok()?;
        }
        if !is_of_beats && std::mem::take(&mut object.forgets) {
            let status = json!({ "code": 410, "message": "too old resource version" });
            return send(json!({ "type": "ERROR", "object": status }).to_string() + "\n").and(None);
        }
        let now = match is_of_beats {
            true => json!({ "data": object.beats.as_ref()? }),
            false => shown(&object),
        };
        if last.as_ref() != Some(&now) {
            let kind = if last.is_none() { "ADDED" } else { "MODIFIED" };
            let text = json!({ "type": kind, "object": now }).to_string() + "\n";
            // A watch begins with the whole object, here each second.
            object.sent += if last.is_some() { text.len() } else { 0 };
            drop(object);
            send(text)?;
            last = Some(now);
        }
        thread::sleep(Duration::from_millis(10));
    }
    send(String::new())
}

fn shown(object: &Object) -> Value {
    let version = object.version.to_string();
    json!({ "metadata": { "resourceVersion": version }, "data": object.data })
}

fn patched(object: &mut Object, patch: &Value) -> (u16, Value) {
    if let Some(run) = object.begins.take() {
        object.data.insert("qrcode.run".to_owned(), run);
        object.version += 1;
    }
    let version = patch["metadata"]["resourceVersion"].as_str();
    if version.is_some_and(|version| version != object.version.to_string()) {
        return (409, json!({ "message": "the object has been modified" }));
    }
    for (key, value) in patch["data"].as_object().unwrap() {
        match value.as_str() {
            Some(text) => object.data.insert(key.clone(), text.to_owned()),
            None => object.data.remove(key),
        };
    }
    object.version += 1;
    (200, shown(object))
}

pub(crate) fn in_cluster(place: &Place, api: &Api, args: &[&str]) -> Command {
    let mut command = place.ramp(args);
    command
        .env("RAMP_KUBERNETES_URL", format!("http://{}", api.address))
        .env("RAMP_PROXIES", place.at.admin.to_string());
    command
}

pub(crate) fn follow(place: &Place, api: &Api) -> Process {
    let mut command = in_cluster(place, api, &["follow"]);
    Process(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// Starts two processes that follow as on a cluster: one has the token and copies the ConfigMap to a file, the other
/// one has nginx. The first one finds the routes in the folder `beside("routes")`.
pub(crate) fn follow_copy(place: &Place, api: &Api) -> [Process; 2] {
    let file = place.beside("split.json");
    let mut copier = in_cluster(place, api, &["copy", "--routes"]);
    copier.arg(place.beside("routes")).arg(&file).env("RAMP_NGINX_DIR", place.beside("copier"));
    let mut follower = place.ramp(&["follow"]);
    follower.env("RAMP_KUBERNETES_URL", format!("file:{}", file.display()));
    // Neither process needs DNS.
    copier.env("RAMP_PROXIES", "proxies.invalid:1");
    [copier, follower].map(|mut command| Process(command.spawn().unwrap()))
}

/// Runs ramp as outside the proxy's pod, with another folder.
pub(crate) fn from_elsewhere(place: &Place, api: &Api, args: &[&str]) -> Output {
    let mut command = in_cluster(place, api, args);
    let folder = place.beside("elsewhere");
    command.env("RAMP_NGINX_DIR", folder).env("RAMP_TARGET", "kubernetes").output().unwrap()
}

pub(crate) fn first() -> Split {
    Split::first(&routes()[0])
}

pub(crate) fn share(percent: &str) -> SplitChange {
    SplitChange::share(percent.parse().unwrap())
}
