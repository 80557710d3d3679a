//! `carve doctor`: finds what works at the app itself, but fails or changes through the proxy.

mod answers;
mod ask;
mod websocket;

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use anstream::println;
use anyhow::{Context, ensure};
use clap::Args;
use route::Size;
use serde::Serialize;
use service_kit::arguments::{Usage, timeout};
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
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<Header>,
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

/// A header to send.
#[derive(Clone, Debug)]
struct Header(HeaderName, HeaderValue);

impl FromStr for Header {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (name, value) = text.split_once(':').context("must be NAME: VALUE")?;
        let value = value.trim().parse().with_context(|| format!("{name}'s value"))?;
        let name = name.trim().parse().with_context(|| format!("{name:?} is not a header name"))?;
        Ok(Header(name, value))
    }
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
        let headers: Vec<_> = self.header.iter().map(|it| (it.0.clone(), it.1.clone())).collect();
        let sides = Sides::new(app, proxy, headers, self.ca.as_deref())?;
        sides.app_answers(&self.paths[0])?;
        let findings = thread::scope(|scope| -> anyhow::Result<Vec<Finding>> {
            // These wait most of the time, so each gets a thread.
            let waits: Vec<_> = (self.websocket.iter().map(|path| (path, true)))
                .chain(self.stream.iter().map(|path| (path, false)))
                .map(|(path, is_websocket)| {
                    let sides = &sides;
                    scope.spawn(move || match is_websocket {
                        true => finding(
                            format!("WebSocket {path}"),
                            sides.websocket(path, self.lasting),
                        ),
                        false => {
                            finding(format!("stream {path}"), sides.stream(path, self.lasting))
                        }
                    })
                })
                .collect();
            let mut findings = Vec::new();
            for path in &self.paths {
                for (name, differs) in sides.page(path) {
                    findings.push(finding(format!("{name} {path}"), differs));
                }
            }
            for path in &self.upload {
                for transfer in Transfer::ALL {
                    let tried = format!("POST {path} of {}, {}", self.size, transfer.as_str());
                    findings.push(finding(tried, sides.upload(path, self.size.0, transfer)));
                }
            }
            for wait in waits {
                findings.push(wait.join().map_err(|_| anyhow::anyhow!("a thread has failed"))?);
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
                let run_dir = self.run.path()?;
                let nothing = || {
                    format!("nothing was started in {}: give --app and --proxy", run_dir.display())
                };
                let started = carve::local::render::started_in(&run_dir)?.with_context(nothing)?;
                Some((started.old, format!("http://{}", self.run.started()?.addresses.proxy)))
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

fn finding(tried: String, differs: Vec<String>) -> Finding {
    Finding { tried, differs }
}
