//! Sends the app and the proxy the same requests.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use route::FarUrl;
use strum::{IntoStaticStr, VariantArray};
use ureq::http::header::{CONTENT_LENGTH, COOKIE, EXPECT, HOST};
use ureq::http::{HeaderName, HeaderValue, Method, Request, Response, Uri};
use ureq::{Agent, Body, SendBody};

use super::Finding;
use super::answers::{Answer, Outcome, differences, outcomes, status};

/// Longest wait for a whole answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How many bytes of a body are compared.
const MAX_BODY: u64 = 16 << 20;
/// If the first byte comes this much later through the proxy, something has buffered the stream.
const LATE: Duration = Duration::from_secs(1);
const LONG_COOKIE: usize = 9000;

const FORWARDED_PROTO: &str = "x-forwarded-proto";
const BALANCED: &str = "GET from a load balancer with TLS";
const ADVICE: &str = "the proxy does not believe this client's X-Forwarded-*, which the app uses: if a load balancer with \
                      TLS stands in front, name it in trusted_proxies of carve.toml; else ignore this";

pub(super) type Headers = Vec<(HeaderName, HeaderValue)>;

/// The addresses of the app and the proxy, and what is known about the proxy.
pub(super) struct Ends {
    pub(super) app: Uri,
    /// The app's address if it has a path.
    pub(super) below: Option<FarUrl>,
    pub(super) proxy: Uri,
    /// The headers of answers that the stack's `carve.toml` sets or, if empty, removes.
    pub(super) own: BTreeMap<String, String>,
    /// Whether the proxy is the stack's, and trusts no load balancer.
    pub(super) trusts_none: bool,
}

/// How an upload announces its length.
#[derive(Clone, Copy, Debug, IntoStaticStr, VariantArray)]
pub(super) enum Transfer {
    #[strum(serialize = "with its length")]
    Length,
    #[strum(serialize = "chunked")]
    Chunked,
    #[strum(serialize = "with Expect: 100-continue")]
    Expect,
}

/// The app and the proxy in front of it.
pub(super) struct Sides {
    agent: Agent,
    pub(super) ends: Ends,
    pub(super) headers: Headers,
    #[cfg_attr(not(feature = "tls"), expect(dead_code, reason = "for wss:// alone"))]
    pub(super) ca: Vec<u8>,
}

impl Sides {
    pub(super) fn new(ends: Ends, headers: Headers, ca: Option<&Path>) -> anyhow::Result<Self> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("carve-doctor/", env!("CARGO_PKG_VERSION")))
            // Each request gets a new connection, so that no request fails because of an earlier one.
            .max_idle_connections(0)
            .proxy(None);
        let ca = ca.map(|file| std::fs::read(file).with_context(|| file.display().to_string()));
        let ca = ca.transpose()?.unwrap_or_default();
        #[cfg(feature = "tls")]
        let config = match ca.is_empty() {
            true => config,
            false => config.tls_config(trusting(&ca)?),
        };
        Ok(Sides { agent: config.build().into(), ends, headers, ca })
    }

    /// Fails if the app does not answer, since there is then nothing to compare with.
    pub(super) fn app_answers(&self, path: &str) -> anyhow::Result<()> {
        let answer = self.get(&self.ends.app, Method::GET, path, &Vec::new());
        answer.map(drop).map_err(|why| anyhow!("{} does not answer: {why}", self.ends.app))
    }

    /// Requests a path in several ways.
    pub(super) fn page(&self, path: &str) -> Vec<Finding> {
        let long = format!("carve_doctor={}", "x".repeat(LONG_COOKIE));
        let proxy = self.ends.proxy.authority().map_or("", |it| it.host());
        let balanced =
            [(FORWARDED_PROTO, "https"), ("x-forwarded-port", "443"), ("x-forwarded-host", proxy)];
        let ways: [(_, _, &[(&str, &str)]); 5] = [
            ("GET", Method::GET, &[]),
            ("HEAD", Method::HEAD, &[]),
            ("GET, compressed,", Method::GET, &[("accept-encoding", "gzip")]),
            ("GET with a cookie of 9 kB", Method::GET, &[("cookie", &long)]),
            (BALANCED, Method::GET, &balanced),
        ];
        ways.into_iter()
            .map(|(way, method, headers)| {
                let header = |(name, value): &(&str, &str)| {
                    Some((name.parse().ok()?, HeaderValue::from_str(value).ok()?))
                };
                let headers: Headers = headers.iter().filter_map(header).collect();
                let mut differs = self.compared(&method, path, &headers, &headers);
                let mut note = None;
                if way == BALANCED
                    && !differs.is_empty()
                    && self.compared(&method, path, &Vec::new(), &headers).is_empty()
                {
                    match self.ends.trusts_none {
                        true => (differs, note) = (Vec::new(), Some(ADVICE)),
                        false => differs.push(ADVICE.to_owned()),
                    }
                }
                Finding { tried: format!("{way} {path}"), differs, note }
            })
            .collect()
    }

    /// Asks the app with these headers and the proxy with those. Returns the differences.
    fn compared(&self, method: &Method, path: &str, app: &Headers, proxy: &Headers) -> Vec<String> {
        // Asks the proxy between the two requests to the app, so that what changes with time also differs between the
        // app's two answers.
        let ask = |side, headers| self.get(side, method.clone(), path, headers);
        let first = ask(&self.ends.app, app);
        let proxied = ask(&self.ends.proxy, proxy);
        let answers = [first, ask(&self.ends.app, app)];
        differences(&answers, &proxied, &self.ends.own)
    }

    /// Sends a POST of `size` bytes to both and compares the statuses. Returns the differences.
    pub(super) fn upload(&self, path: &str, size: u64, transfer: Transfer) -> Vec<String> {
        let send = |side: &Uri| {
            let mut headers = Vec::new();
            if matches!(transfer, Transfer::Length | Transfer::Expect) {
                headers.push((CONTENT_LENGTH, HeaderValue::from(size)));
            }
            if matches!(transfer, Transfer::Expect) {
                headers.push((EXPECT, HeaderValue::from_static("100-continue")));
            }
            let mut body = io::repeat(b'x').take(size);
            let body = SendBody::from_reader(&mut body);
            let sent = self.request(side, Method::POST, path, &headers, TIMEOUT * 4, body);
            status(&whole(sent, None))
        };
        match send(&self.ends.app) {
            // The app has answered and closed before it read everything, so it is chance whether its answer arrives.
            Err(_) => Vec::new(),
            answer => outcomes(&answer, &send(&self.ends.proxy)),
        }
    }

    /// Reads a streamed answer from both for `lasting`. Reports differing statuses, a late first byte and an early end.
    pub(super) fn stream(&self, path: &str, lasting: Duration) -> Vec<String> {
        // One after the other: a server with one thread would answer only one.
        let sides = [&self.ends.app, &self.ends.proxy];
        let [app, proxied] = sides.map(|side| self.lasts(side, path, lasting));
        let [app_status, status] = [&app, &proxied]
            .map(|it| it.as_ref().map(|lasted| lasted.status).map_err(String::clone));
        let mut lines = outcomes(&app_status, &status);
        let (Ok(app), Ok(proxied)) = (app, proxied) else { return lines };
        if proxied.first > app.first + LATE {
            let (app, proxied) = (app.first.as_secs_f32(), proxied.first.as_secs_f32());
            lines.push(format!(
                "its first byte comes after {app:.1} s, through the proxy after {proxied:.1} s"
            ));
        }
        if let (None, Some(end)) = (app.end, proxied.end) {
            let (lasting, end) = (lasting.as_secs(), end.as_secs_f32());
            lines.push(format!(
                "it lasts longer than {lasting} s, through the proxy it ends after {end:.1} s"
            ));
        }
        lines
    }

    fn lasts(&self, side: &Uri, path: &str, lasting: Duration) -> Result<StreamedAnswer, String> {
        let begin = Instant::now();
        let answer = self.request(side, Method::GET, path, &Vec::new(), lasting, SendBody::none());
        let mut answer = answer.map_err(|error| why(&error))?;
        let status = answer.status().as_u16();
        let mut lasted = StreamedAnswer { status, first: lasting, end: None };
        let (mut reader, mut buffer) = (answer.body_mut().as_reader(), [0; 4096]);
        loop {
            match reader.read(&mut buffer) {
                Ok(1..) => lasted.first = lasted.first.min(begin.elapsed()),
                // The read timed out: the stream still lasted at the time limit.
                Err(_) if begin.elapsed() >= lasting => return Ok(lasted),
                Ok(0) | Err(_) => {
                    lasted.end = Some(begin.elapsed());
                    return Ok(lasted);
                }
            }
        }
    }

    fn get(&self, side: &Uri, method: Method, path: &str, headers: &Headers) -> Outcome {
        let below = self.ends.below.as_ref().filter(|_| *side == self.ends.app);
        whole(self.request(side, method, path, headers, TIMEOUT, SendBody::none()), below)
    }

    /// The header by which the proxy tells the app that the client uses TLS, for requests to the app itself.
    pub(super) fn of_tls(&self, side: &Uri) -> Option<(HeaderName, HeaderValue)> {
        let is_tls = *side == self.ends.app && self.ends.proxy.scheme_str() == Some("https");
        let name = HeaderName::from_static(FORWARDED_PROTO);
        is_tls.then_some((name, HeaderValue::from_static("https")))
    }

    fn request(
        &self,
        side: &Uri,
        method: Method,
        path: &str,
        headers: &Headers,
        timeout: Duration,
        body: SendBody<'_>,
    ) -> Result<Response<Body>, ureq::Error> {
        let url = format!("{}{path}", side.to_string().trim_end_matches('/'));
        let mut request = Request::builder().method(method).uri(url);
        // Behind the proxy the app sees the host that clients name, so a direct request names the same host.
        if let Some(host) = self.ends.proxy.authority() {
            request = request.header(HOST, host.as_str());
        }
        let has = |these: &Headers, name: &HeaderName| these.iter().any(|it| it.0 == *name);
        let own = self.headers.iter().filter(|(name, _)| *name != COOKIE || !has(headers, &COOKIE));
        let of_tls = self.of_tls(side);
        let of_tls =
            of_tls.iter().filter(|(name, _)| !has(headers, name) && !has(&self.headers, name));
        for (name, value) in of_tls.chain(own).chain(headers) {
            request = request.header(name, value);
        }
        let request =
            self.agent.configure_request(request.body(body)?).timeout_global(Some(timeout)).build();
        self.agent.run(request)
    }
}

/// A streamed answer, read up to a time limit.
struct StreamedAnswer {
    status: u16,
    /// When the first byte came; the time limit if none did.
    first: Duration,
    /// When the answer ended; `None` if it lasted until the time limit.
    end: Option<Duration>,
}

/// Why there is no answer.
fn why(error: &ureq::Error) -> String {
    let text = error.to_string();
    match text.contains("CaUsedAsEndEntity") {
        true => "the server's certificate is one of an authority, which may not be a server's own: make it with \
                 basicConstraints=critical,CA:FALSE"
            .to_owned(),
        false => text,
    }
}

fn whole(answer: Result<Response<Body>, ureq::Error>, below: Option<&FarUrl>) -> Outcome {
    let mut answer = answer.map_err(|error| why(&error))?;
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let mut body = Vec::new();
    match answer.body_mut().as_reader().take(MAX_BODY).read_to_end(&mut body) {
        Ok(_) => Ok(Answer::new(status, &headers, body, below)),
        Err(error) => Err(format!("{status}, and then {error}")),
    }
}

#[cfg(feature = "tls")]
fn trusting(ca: &[u8]) -> anyhow::Result<ureq::tls::TlsConfig> {
    use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
    let certificates: Result<Vec<_>, _> = parse_pem(ca).collect();
    let certificates = certificates.context("--ca")?.into_iter().filter_map(|item| match item {
        PemItem::Certificate(certificate) => Some(certificate),
        _ => None,
    });
    let certificates: Vec<_> = certificates.collect();
    anyhow::ensure!(!certificates.is_empty(), "--ca has no certificate");
    Ok(TlsConfig::builder().root_certs(RootCerts::new_with_certs(&certificates)).build())
}
