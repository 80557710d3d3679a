//! The implementations, and how each is asked: over a kept connection of one client, so that both
//! are timed from the same place.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::USER_AGENT;
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::Serialize;
use service_kit::label_value;
use tokio::time::timeout;

use crate::asked::{Asked, REQUEST_ID, SHADOW_MARK};

/// Longest body that is read, in bytes: a picture has some hundreds or a few thousand.
pub const MAX_BODY_BYTES: usize = 256 * 1024;
/// Longest head of an answer, in bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// A connection that idles longer is not used again: shorter than the implementations keep theirs
/// (65 s and 75 s), or a request would meet one that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const AGENT: HeaderValue = HeaderValue::from_static(concat!("shadow/", env!("CARGO_PKG_VERSION")));

/// One of the two implementations that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The implementation that takes over.
    New,
    /// The one that is replaced, and so the reference.
    Old,
}

impl Side {
    /// Both.
    pub const ALL: [Side; 2] = [Side::New, Side::Old];

    /// The label's value.
    pub fn as_str(self) -> &'static str {
        match self {
            Side::New => "new",
            Side::Old => "old",
        }
    }
}

/// Why an implementation gave no answer that could be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No connection.
    Connect,
    /// The connection broke, or what came is no HTTP.
    Broken,
    /// A body over [`MAX_BODY_BYTES`].
    TooLarge,
    /// 502, 503 or 504: the proxy would have had another answer.
    Unavailable,
    /// It took longer than it may.
    Timeout,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 5] =
        [Reason::Connect, Reason::Broken, Reason::TooLarge, Reason::Unavailable, Reason::Timeout];

    /// The label's value.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Connect => "connect",
            Reason::Broken => "broken",
            Reason::TooLarge => "too_large",
            Reason::Unavailable => "unavailable",
            Reason::Timeout => "timeout",
        }
    }
}

label_value!(Side, Reason);

/// Where an implementation is: `http://host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(Authority);

impl FromStr for BaseUrl {
    type Err = &'static str;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "must be http://HOST:PORT";
        let parts = url.parse::<Uri>().map_err(|_| WANTED)?.into_parts();
        let bare = parts.path_and_query.is_none_or(|path| path == "/");
        match parts.authority {
            Some(at) if bare && parts.scheme == Some(Scheme::HTTP) && is_host_and_port(&at) => {
                Ok(BaseUrl(at))
            }
            _ => Err(WANTED),
        }
    }
}

/// Whether it has a host, no user, and no port or one that there is.
fn is_host_and_port(authority: &Authority) -> bool {
    let (host, all) = (authority.host(), authority.as_str());
    !host.is_empty()
        && all.strip_prefix(host).is_some_and(|rest| match rest.strip_prefix(':') {
            Some(port) => port.parse::<u16>().is_ok(),
            None => rest.is_empty(),
        })
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.0)
    }
}

/// What an implementation answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// All of its body.
    pub body: Bytes,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What kind of failure.
    pub reason: Reason,
    /// The rest of it, for people.
    pub detail: String,
}

/// What came of asking one implementation.
#[derive(Clone, Debug)]
pub struct Reply<T = Answer> {
    /// From before the connection is taken to the last byte of the body.
    pub elapsed: Duration,
    /// The answer, or why there is none.
    pub outcome: Result<T, Failure>,
}

/// Asks implementations.
#[derive(Clone, Debug)]
pub struct Client {
    http: HttpClient<HttpConnector, Empty<Bytes>>,
    request_timeout: Duration,
}

impl Client {
    /// A client that gives up on a request after `request_timeout`.
    pub fn new(request_timeout: Duration) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = HttpClient::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .http1_max_buf_size(MAX_HEAD_BYTES)
            .build(connector);
        Client { http, request_timeout }
    }

    /// Asks the implementation at `base`, and takes the time.
    pub async fn ask(&self, base: &BaseUrl, asked: &Asked) -> Reply {
        let start = Instant::now();
        let outcome = match timeout(self.request_timeout, self.exchange(base, asked)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failure {
                reason: Reason::Timeout,
                detail: format!("no whole answer within {:?}", self.request_timeout),
            }),
        };
        Reply { elapsed: start.elapsed(), outcome }
    }

    async fn exchange(&self, base: &BaseUrl, asked: &Asked) -> Result<Answer, Failure> {
        let request = request_to(base, asked).map_err(|error| failure(Reason::Broken, &error))?;
        let response = self.http.request(request).await.map_err(|error| {
            let reason = if error.is_connect() { Reason::Connect } else { Reason::Broken };
            failure(reason, &error)
        })?;
        let status = response.status();
        // What says that it is too large need not be read.
        if response.body().size_hint().lower() > MAX_BODY_BYTES as u64 {
            return Err(too_large());
        }
        let body = Limited::new(response.into_body(), MAX_BODY_BYTES).collect().await;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => too_large(),
            false => failure(Reason::Broken, error.as_ref()),
        })?;
        if matches!(status.as_u16(), 502..=504) {
            let detail = format!("status {}", status.as_u16());
            return Err(Failure { reason: Reason::Unavailable, detail });
        }
        Ok(Answer { status, body: body.to_bytes() })
    }
}

/// The request as it came, but for the host and the marks.
fn request_to(base: &BaseUrl, asked: &Asked) -> Result<Request<Empty<Bytes>>, http::Error> {
    let uri = Uri::builder()
        .scheme(Scheme::HTTP)
        .authority(base.0.clone())
        .path_and_query(asked.target.clone())
        .build()?;
    let mut request = Request::builder()
        .method(asked.method.clone())
        .uri(uri)
        .header(USER_AGENT, AGENT)
        .header(SHADOW_MARK, HeaderValue::from_static("1"));
    if let Some(id) = &asked.request_id {
        request = request.header(REQUEST_ID, id.clone());
    }
    request.body(Empty::new())
}

fn too_large() -> Failure {
    let detail = format!("a body of more than {MAX_BODY_BYTES} bytes");
    Failure { reason: Reason::TooLarge, detail }
}

/// A failure in the words of an error and of all that caused it.
fn failure(reason: Reason, error: &(dyn Error + 'static)) -> Failure {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let mut words: Vec<String> = causes.map(ToString::to_string).collect();
    words.dedup(); // some wrap others in their own words
    Failure { reason, detail: words.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_scheme_host_and_port_alone() {
        for url in ["http://127.0.0.1:3000", "http://qr-service", "http://[::1]:80/"] {
            assert_eq!(url.parse::<BaseUrl>().unwrap().to_string(), url.trim_end_matches('/'));
        }
        for url in [
            "",
            "127.0.0.1:3000",
            "https://x:1",
            "http://",
            "http://x/qrcode",
            "http://x/?a",
            "http://me@x",
            "http://x:99999",
        ] {
            assert!(url.parse::<BaseUrl>().is_err(), "{url}");
        }
    }
}
