//! `carve doctor`: finds what works at the app itself, but fails or changes through the proxy.

mod answers;
mod ask;
mod websocket;

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anstream::println;
use anyhow::{Context, ensure};
use clap::Args;
use route::Size;
use serde::Serialize;
use service_kit::arguments::{Usage, timeout};
use strum::VariantArray;
use ureq::http::{HeaderName, HeaderValue, Uri};

use crate::place::RunDir;
use ask::{Sides, Transfer};

const HELP: &str = "\
Examples:
  carve doctor / /login /static/app.js
  carve doctor / --app http://127.0.0.1:8888 --proxy https://app.example.com --header 'Cookie: session=...'
  carve doctor /files --websocket /live --stream /events --upload /files --size 200m

The doctor sends each path with GET and HEAD, with compression, with a cookie of 9 kB, and with the headers of a load
balancer that ends TLS. It asks the app twice and ignores what differs between these two answers. It uploads only to
the paths of --upload, since a POST may change something there.

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
}

impl Doctor {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (app, proxy) = self.sides()?;
        for path in self.paths.iter().chain(&self.websocket).chain(&self.stream).chain(&self.upload)
        {
            if !path.starts_with('/') {
                return Err(Usage(format!("{path:?}: a path must begin with /")).into());
            }
        }
        let sides = &Sides::new(app, proxy, self.header.clone(), self.ca.as_deref())?;
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
            let mut findings = Vec::new();
            for path in &self.paths {
                for (name, differs) in sides.page(path) {
                    findings.push(Finding { tried: format!("{name} {path}"), differs });
                }
            }
            for path in &self.upload {
                for &transfer in Transfer::VARIANTS {
                    let tried = format!("POST {path} of {}, {}", self.size, <&str>::from(transfer));
                    let differs = sides.upload(path, self.size.0, transfer);
                    findings.push(Finding { tried, differs });
                }
            }
            for (tried, wait) in waits {
                let differs = wait.join().map_err(|_| anyhow::anyhow!("a thread has failed"))?;
                findings.push(Finding { tried, differs });
            }
            Ok(findings)
        })?;
        let differ = findings.iter().filter(|it| !it.differs.is_empty()).count();
        if self.json {
            println!("{}", serde_json::to_string_pretty(&findings)?);
        } else {
            for Finding { tried, differs } in &findings {
                match differs.is_empty() {
                    true => println!("same     {tried}"),
                    false => println!("DIFFERS  {tried}"),
                }
                for line in differs {
                    println!("           {line}");
                }
            }
            println!("{differ} of {} differ", findings.len());
        }
        Ok(ExitCode::from(u8::from(differ > 0)))
    }

    /// The URLs of the app and the proxy: from the flags, else those of the stack in the run folder. Fails if neither
    /// gives them, or one is not a URL of only scheme, host and port.
    fn sides(&self) -> anyhow::Result<(Uri, Uri)> {
        let started = match (&self.app, &self.proxy) {
            (Some(_), Some(_)) => None,
            _ => {
                let old = self.run.sides("--app and --proxy")?.old;
                Some((old, format!("http://{}", self.run.started()?.addresses.proxy)))
            }
        };
        let (app, proxy) = started.unwrap_or_default();
        let url = |given: &Option<String>, default: String, name: &str| -> anyhow::Result<Uri> {
            let text = given.clone().unwrap_or(default);
            let url: Uri = text.parse().with_context(|| format!("{name}: {text:?}"))?;
            let is_http = matches!(url.scheme_str(), Some("http" | "https"));
            ensure!(
                is_http && url.authority().is_some() && matches!(url.path(), "" | "/"),
                "{name}: {text:?} must be http://HOST:PORT or https://HOST:PORT"
            );
            Ok(url)
        };
        Ok((url(&self.app, app, "--app")?, url(&self.proxy, proxy, "--proxy")?))
    }
}
