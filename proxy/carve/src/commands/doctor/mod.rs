//! `carve doctor`: finds what works at the app itself, but fails or changes through the proxy.

mod answers;
mod ask;
mod websocket;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anstream::println;
use anyhow::{Context, ensure};
use clap::Args;
use route::{CarveFile, SideUrl, Size};
use serde::Serialize;
use service_kit::arguments::{Usage, timeout};
use strum::VariantArray;
use ureq::http::{HeaderName, HeaderValue, Uri};

use crate::place::RunDir;
use ask::{Ends, Sides, Transfer};

const HELP: &str = "\
Examples:
  carve doctor / /login /static/app.js
  carve doctor / --app http://127.0.0.1:8888 --proxy https://app.example.com --header 'Cookie: session=...'
  carve doctor /files --websocket /live --stream /events --upload /files --size 200m

The doctor sends each path with GET and HEAD, with compression, with a cookie of 9 kB, and with the headers of a load
balancer that ends TLS. It asks the app twice and ignores what differs between these two answers, and the headers that
the stack's carve.toml sets. If the proxy's address is https, the app itself gets X-Forwarded-Proto: https, as the proxy
sends it. It uploads only to the paths of --upload, since a POST may change something there.

Exit codes:
  0  nothing differs
  1  something differs
  2  wrong usage, or the app itself does not answer";

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Doctor {
    /// The paths, with their queries
    #[arg(default_value = "/", value_name = "PATH")]
    paths: Vec<String>,
    /// The app itself [default: the old side of the stack `carve up` started]
    #[arg(long, value_name = "URL")]
    app: Option<String>,
    /// The proxy in front of it [default: that of the stack `carve up` started]
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
    /// A header of each request, such as the cookie of a login; can be repeated
    #[arg(long, value_name = "NAME: VALUE", value_parser = header)]
    header: Vec<(HeaderName, HeaderValue)>,
    /// A path where the app opens a WebSocket; can be repeated
    #[arg(long, value_name = "PATH")]
    websocket: Vec<String>,
    /// A path whose answer lasts, such as server-sent events; can be repeated
    #[arg(long, value_name = "PATH")]
    stream: Vec<String>,
    /// A path that takes a large POST; can be repeated
    #[arg(long, value_name = "PATH")]
    upload: Vec<String>,
    /// The size of an upload
    #[arg(long, value_name = "SIZE", default_value = "20m")]
    size: Size,
    /// How long a stream and a WebSocket must last
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = timeout)]
    lasting: Duration,
    /// Certificates to trust, as PEM, instead of the public ones
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    run: RunDir,
}

fn header(text: &str) -> anyhow::Result<(HeaderName, HeaderValue)> {
    let (name, value) = text.split_once(':').context("must be NAME: VALUE")?;
    let value = value.trim().parse().with_context(|| format!("{name}'s value"))?;
    let name = name.trim().parse().with_context(|| format!("{name:?} is not a header name"))?;
    Ok((name, value))
}

/// What was tried, and what differs through the proxy; `differs` is empty if nothing does.
#[derive(Debug, Serialize)]
struct Finding {
    tried: String,
    differs: Vec<String>,
    /// What a difference that may be intended means.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

impl Doctor {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let ends = self.ends()?;
        for path in self.paths.iter().chain(&self.websocket).chain(&self.stream).chain(&self.upload)
        {
            if !path.starts_with('/') {
                return Err(Usage(format!("{path:?}: a path must begin with /")).into());
            }
        }
        let sides = &Sides::new(ends, self.header.clone(), self.ca.as_deref())?;
        sides.app_answers(&self.paths[0])?;
        let findings = thread::scope(|scope| -> anyhow::Result<Vec<Finding>> {
            // These wait most of the time, so each gets a thread.
            let mut waits = Vec::new();
            for path in &self.websocket {
                let talk = move || sides.websocket(path, self.lasting);
                waits.push((format!("WebSocket {path}"), scope.spawn(talk)));
            }
            for path in &self.stream {
                let read = move || sides.stream(path, self.lasting);
                waits.push((format!("stream {path}"), scope.spawn(read)));
            }
            let mut findings: Vec<_> = self.paths.iter().flat_map(|it| sides.page(it)).collect();
            for path in &self.upload {
                for &transfer in Transfer::VARIANTS {
                    let tried = format!("POST {path} of {}, {}", self.size, <&str>::from(transfer));
                    let differs = sides.upload(path, self.size.0, transfer);
                    findings.push(Finding { tried, differs, note: None });
                }
            }
            for (tried, wait) in waits {
                let differs = wait.join().map_err(|_| anyhow::anyhow!("a thread has failed"))?;
                findings.push(Finding { tried, differs, note: None });
            }
            Ok(findings)
        })?;
        let differ = findings.iter().filter(|it| !it.differs.is_empty()).count();
        if self.json {
            println!("{}", serde_json::to_string_pretty(&findings)?);
        } else {
            for Finding { tried, differs, note } in &findings {
                match (note, differs.is_empty()) {
                    (Some(_), _) => println!("note     {tried}"),
                    (None, true) => println!("same     {tried}"),
                    (None, false) => println!("DIFFERS  {tried}"),
                }
                for line in differs.iter().map(String::as_str).chain(*note) {
                    println!("           {line}");
                }
            }
            println!("{differ} of {} differ", findings.len());
        }
        Ok(ExitCode::from(u8::from(differ > 0)))
    }

    /// The app and the proxy: from the flags, else those of the stack in the run folder. Fails if neither gives them, or
    /// one is not a URL of scheme, host and port; the app's may have a path.
    fn ends(&self) -> anyhow::Result<Ends> {
        let stack = self.run.sides("--app and --proxy");
        let stack = stack.and_then(|stack| Ok((stack.old, self.run.started()?)));
        let stack = match (&self.app, &self.proxy) {
            (Some(_), Some(_)) => stack.ok(),
            _ => Some(stack?),
        };
        let url = |given: &Option<String>, default: Option<String>, flag: &str| {
            let name = match given {
                Some(_) => flag.to_owned(),
                None => format!("the stack has no address for {flag}"),
            };
            let text = given.clone().or(default).unwrap_or_default();
            let url: Uri = text.parse().with_context(|| format!("{name}: {text:?}"))?;
            let is_http = matches!(url.scheme_str(), Some("http" | "https"));
            let has_path = !matches!(url.path(), "" | "/");
            let side: Option<SideUrl> = has_path.then(|| text.parse()).transpose()?;
            ensure!(
                is_http && url.authority().is_some() && (!has_path || flag == "--app"),
                "{name}: {text:?} must be http://HOST:PORT or https://HOST:PORT"
            );
            Ok((url, side.and_then(|side| side.far().cloned())))
        };
        let old = stack.as_ref().map(|(old, _)| old.clone());
        let (app, below) = url(&self.app, old, "--app")?;
        let here = stack.as_ref().map(|(_, it)| format!("http://{}", it.addresses.proxy));
        let (proxy, _) = url(&self.proxy, here, "--proxy")?;
        let Some((_, settings)) = stack else {
            return Ok(Ends { app, below, proxy, own: BTreeMap::new(), trusts_none: false });
        };
        let carve = CarveFile::of(&settings.nginx_dir())?;
        let of_scheme = if proxy.scheme_str() == Some("https") { 443 } else { 80 };
        let port = proxy.port_u16().unwrap_or(of_scheme);
        let front = &carve.front;
        let is_its = settings.addresses.proxy.port() == port
            || front.listen.iter().any(|it| it.address.port() == port);
        let trusts_none = is_its && front.trusted_proxies.is_empty();
        Ok(Ends { app, below, proxy, own: carve.headers.response, trusts_none })
    }
}
