//! `carve.toml`, beside the route files: what the front accepts from clients, and how it passes on requests that belong
//! to no route.
//!
//! Without the file, the front limits nothing that the app might allow, so an app behind it loses no feature.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::key::Key;
use crate::parse::{is_header, parse};
use crate::side::SideUrl;
use crate::units::{HostName, Network, Size, Time};

/// The file's name in a folder of route files.
pub const CARVE_FILE: &str = "carve.toml";

/// The content of the file. Every key has a default.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "The front of an app, and how the rest of the app is passed on")]
pub struct CarveFile {
    /// What the front accepts from clients.
    pub front: Front,
    /// How requests that belong to no route are passed on to the app.
    pub app: App,
    /// Hosts with another app or a certificate of their own.
    pub hosts: Vec<Host>,
    /// Headers to set or remove, for routes too.
    pub headers: Headers,
    /// The file's text.
    #[serde(skip)]
    pub text: String,
}

/// Hosts with an app of their own. All other hosts belong to the app that `carve up` was given.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Their names, such as app.example, or *.app.example for every name below that; without a port. If a request's
    /// host matches two names, the more exact one counts.
    #[schemars(length(min = 1))]
    pub names: Vec<HostName>,
    /// The app's address, as for a side: http://HOST:PORT or https://HOST:PORT, optionally with a path, or unix:/PATH.
    pub app: SideUrl,
    /// The certificate for these names, instead of `front.tls`.
    pub tls: Option<Tls>,
}

/// Headers by name, each with the value to set. The empty value removes the header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Headers {
    /// Headers of requests to the sides.
    pub request: BTreeMap<String, String>,
    /// Headers of answers to clients.
    pub response: BTreeMap<String, String>,
}

/// An address where clients connect, besides the one of `carve up --proxy-addr`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listener {
    /// IP:PORT.
    #[schemars(with = "String")]
    pub address: SocketAddr,
    /// Whether clients connect with TLS.
    #[serde(default)]
    pub tls: bool,
    /// Whether clients may use HTTP/2; by default only with TLS. If true without TLS, they must use it.
    pub http2: Option<bool>,
    /// Whether every request is redirected to the first listener with TLS.
    #[serde(default)]
    pub redirect: bool,
}

/// The certificate of the front. Both files are read again when they change.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The PEM file of the certificate, followed by intermediate certificates. A relative path starts at the folder of
    /// `carve.toml`.
    pub certificate: PathBuf,
    /// The PEM file of the private key.
    pub key: PathBuf,
}

/// What the front accepts from clients, for every path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Front {
    /// How long a client may take to send the head of a request.
    pub head_timeout: Time,
    /// How long a client may pause while it sends a body or reads an answer; no limit by default.
    pub client_timeout: Option<Time>,
    /// The longest line in the head of a request, such as the request line or a header with cookies, and the longest
    /// head of an answer. 1k to 1m.
    pub max_line: Size,
    /// Whether headers with an underscore in their name are passed on. Some servers cannot tell `X_Real_IP` from
    /// `X-Real-IP`, so the headers that the front sets itself are removed in both spellings.
    pub underscores: bool,
    /// How many requests one address may have open at once; further ones get 429. No limit by default.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests_per_address: Option<u32>,
    /// How long open requests may last after a reload, which every change of a share causes; no limit by default. Old
    /// workers stay until then.
    pub drain: Option<Time>,
    /// Load balancers in front of nginx, as addresses or networks. `X-Forwarded-For`, `-Proto`, `-Host` and `-Port` are
    /// accepted only from them, and passed on to the app.
    pub trusted_proxies: Vec<Network>,
    /// Who may choose the side of a request.
    pub choose: Choose,
    /// Addresses where clients connect, besides the one of `carve up --proxy-addr`.
    pub listen: Vec<Listener>,
    /// The certificate of listeners with TLS.
    pub tls: Option<Tls>,
}

/// Who may choose the side of a request, and how. Such requests are counted separately.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Choose {
    /// Where a request names the side, `old` or `new`: header:NAME or cookie:NAME; none if nobody may choose.
    #[schemars(with = "String")]
    pub by: ChooseBy,
    /// The addresses of clients that may choose; none by default. Behind a TLS terminator on this machine or a mesh's
    /// sidecar, every client has an address of this machine, 127.0.0.0/8.
    pub from: Vec<Network>,
}

impl Default for Choose {
    fn default() -> Self {
        Choose { by: ChooseBy::Key(Key::Header("X-Route-Arm".to_owned())), from: Vec::new() }
    }
}

/// Where a request names the side that its client chooses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ChooseBy {
    /// Nowhere: nobody may choose.
    None,
    /// In a header or a cookie.
    Key(Key),
}

impl TryFrom<String> for ChooseBy {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        match text.parse() {
            _ if text == "none" => Ok(ChooseBy::None),
            Ok(key @ (Key::Header(_) | Key::Cookie(_))) => Ok(ChooseBy::Key(key)),
            _ => bail!("{text:?}: must be header:NAME, cookie:NAME or none"),
        }
    }
}

impl Default for Front {
    fn default() -> Self {
        Front {
            head_timeout: Time::seconds(60),
            client_timeout: None,
            max_line: Size(64 << 10),
            underscores: true,
            requests_per_address: None,
            drain: None,
            trusted_proxies: Vec::new(),
            choose: Choose::default(),
            listen: Vec::new(),
            tls: None,
        }
    }
}

/// How requests that belong to no route are passed on to the app.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct App {
    /// The longest body of a request; clients get 413 for longer ones. 0 is no limit.
    pub max_body: Size,
    /// How long connecting to the app may take.
    pub connect_timeout: Time,
    /// How long the app may be silent before and during an answer, and a WebSocket in both directions; no limit by
    /// default.
    pub timeout: Option<Time>,
    /// How long a server gets no requests after six that it dropped or was too slow for, though nobody stands in for it.
    /// Few clients then wait for an app that hangs, but those few fail everybody's requests. By default only one of
    /// several servers is left out, for 2 s.
    pub pause: Option<Time>,
    /// The PEM file of the authorities that sign the certificates of sides behind https://. A relative path starts at
    /// the folder of `carve.toml`. By default the system's authorities.
    pub authorities: Option<PathBuf>,
    /// How long an idle connection to a side is kept. Must be shorter than the side keeps it, or a request may use a
    /// connection that the side is closing.
    pub keep_alive: Time,
    /// Whether WebSockets and other upgrades, except to HTTP/2, are passed on. They go to the app even at the path of a
    /// route.
    pub websocket: bool,
    /// Whether gRPC is passed on. The app must speak HTTP/2, without TLS unless its address is https://, and clients
    /// need a listener with HTTP/2.
    pub grpc: bool,
    /// Whether nginx reads a whole request before it sends it to the app, and buffers an answer for slow clients.
    /// Nothing streams then.
    pub buffering: bool,
}

/// The system's authorities, on Debian and in the image.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

impl App {
    /// The file of the authorities that sign the certificates of sides.
    pub fn authorities_file(&self) -> &Path {
        self.authorities.as_deref().unwrap_or(Path::new(AUTHORITIES))
    }
}

impl Default for App {
    fn default() -> Self {
        App {
            max_body: Size(0),
            connect_timeout: Time::seconds(10),
            timeout: None,
            pause: None,
            authorities: None,
            // Node and uvicorn keep idle connections for 5 s.
            keep_alive: Time::seconds(4),
            websocket: true,
            grpc: true,
            buffering: false,
        }
    }
}

impl CarveFile {
    /// Reads the `carve.toml` of a folder of route files; the defaults if it has none. An error has one line for each
    /// mistake, which names the file and says what is expected.
    pub fn of(routes: &Path) -> anyhow::Result<Self> {
        let file = routes.join(CARVE_FILE);
        let shown = file.display();
        if !file.is_file() {
            return Ok(CarveFile::default());
        }
        let text = fs::read_to_string(&file).with_context(|| shown.to_string())?;
        let read = CarveFile::parse_in(&text, routes);
        read.map_err(|error| {
            let lines = format!("{error:#}");
            let lines: Vec<String> = lines.lines().map(|line| format!("{shown}: {line}")).collect();
            anyhow::anyhow!(lines.join("\n"))
        })
    }

    /// Reads the file's text. An error has one line for each mistake.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        CarveFile::parse_in(text, Path::new(""))
    }

    /// As [`CarveFile::parse`]. Relative paths in the text start at `folder`.
    pub fn parse_in(text: &str, folder: &Path) -> anyhow::Result<Self> {
        let mut file: CarveFile = parse(text)?;
        let mistakes = file.mistakes();
        ensure!(mistakes.is_empty(), "{}", mistakes.join("\n"));
        let of_hosts = file.hosts.iter_mut().filter_map(|host| host.tls.as_mut());
        for tls in file.front.tls.iter_mut().chain(of_hosts) {
            tls.certificate = folder.join(&tls.certificate);
            tls.key = folder.join(&tls.key);
        }
        if let Some(authorities) = &mut file.app.authorities {
            *authorities = folder.join(&authorities);
        }
        text.clone_into(&mut file.text);
        Ok(file)
    }

    /// The files named in `carve.toml` that nginx reads: certificates, keys and authorities.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let of_hosts = self.hosts.iter().filter_map(|host| host.tls.as_ref());
        let tls = self.front.tls.iter().chain(of_hosts);
        let tls = tls.flat_map(|tls| [tls.certificate.as_path(), tls.key.as_path()]);
        tls.chain(self.app.authorities.as_deref())
    }

    fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        let Front { max_line, requests_per_address, .. } = &self.front;
        if !(1 << 10..=1 << 20).contains(&max_line.0) {
            mistakes.push(format!("front.max_line: {max_line}: must be 1k to 1m"));
        }
        if let Some(count) = requests_per_address.filter(|count| !(1..=1_000_000).contains(count)) {
            mistakes.push(format!("front.requests_per_address: {count}: must be 1 to 1000000"));
        }
        let listen = &self.front.listen;
        for (number, Listener { address, tls, redirect, .. }) in listen.iter().enumerate() {
            let mut mistake = |what| mistakes.push(format!("front.listen: {address}: {what}"));
            if listen[..number].iter().any(|other| other.address == *address) {
                mistake("it is listed twice");
            }
            if *tls && self.front.tls.is_none() {
                mistake("tls needs a certificate and a key, front.tls");
            }
            if *redirect && (*tls || !listen.iter().any(|other| other.tls)) {
                mistake("redirect needs no TLS here, and another listener with TLS");
            }
        }
        let mut names: Vec<&HostName> = Vec::new();
        for host in &self.hosts {
            if host.names.is_empty() {
                mistakes.push(format!("hosts: {} has no names", host.app));
            }
            for name in &host.names {
                if names.contains(&name) {
                    mistakes.push(format!("hosts: {name}: it is listed twice"));
                }
                names.push(name);
            }
        }
        let is_plain = |c: char| !c.is_control() && !"\"\\$".contains(c);
        for file in self.files() {
            if !file.to_str().is_some_and(|file| file.chars().all(is_plain)) {
                mistakes
                    .push(format!("{file:?}: it has a character with a meaning in nginx files"));
            }
        }
        mistakes.extend(mistakes_in(&self.headers.request, |name| {
            name.starts_with("x-route-") || BETWEEN_TWO.contains(&name) || name == "upgrade"
        }));
        mistakes.extend(mistakes_in(&self.headers.response, |name| {
            BETWEEN_TWO.contains(&name) || matches!(name, "date" | "server" | "x-request-id")
        }));
        mistakes
    }
}

/// Headers of a connection or a body, which nginx writes for each side of it.
const BETWEEN_TWO: [&str; 3] = ["connection", "content-length", "transfer-encoding"];

/// The mistakes in headers to set, of which nginx itself sets the `own` ones.
fn mistakes_in(headers: &BTreeMap<String, String>, own: fn(&str) -> bool) -> Vec<String> {
    let is_value = |c: char| (' '..='~').contains(&c) && !"\"\\$".contains(c);
    // Other characters of a name have a meaning in nginx' files.
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    let mistake = |(name, value): (&String, &String)| {
        let is_other = |other: &&String| *other != name && other.eq_ignore_ascii_case(name);
        if !is_header(name) || !name.bytes().all(is_plain) {
            Some(format!("headers: {name:?} is not a header's name"))
        } else if own(&name.replace('_', "-").to_lowercase()) {
            Some(format!("headers: {name}: nginx sets it itself"))
        } else if headers.keys().any(|other| is_other(&other)) {
            Some(format!("headers: {name}: it is listed twice"))
        } else if !value.chars().all(is_value) {
            let must = "must be visible ASCII without \", \\ and $";
            Some(format!("headers: {name}: {value:?}: {must}"))
        } else {
            None
        }
    };
    headers.iter().filter_map(mistake).collect()
}

#[cfg(test)]
mod tests;
