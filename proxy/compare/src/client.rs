//! The HTTP client. It asks both sides over kept connections, so both are timed from one place.

use std::error::Error;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use route::SideUrl;
use serde::Serialize;
use service_kit::label_value;
use tokio::time::timeout;

use crate::asked::{Asked, REQUEST_ID, SHADOW_MARK};
use crate::unix::{self, UnixConnector};

/// Longest body that is read: two of them are held for each comparison under way.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// Longest head of an answer that is read.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// A connection that was idle for longer is not used again. This is shorter than both sides keep
/// idle connections (65 s and 75 s), so no request meets a connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const AGENT: HeaderValue = HeaderValue::from_static(concat!("shadow/", env!("CARGO_PKG_VERSION")));

/// Why a side gave no answer that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    /// No connection.
    Connect,
    /// The connection broke, or the answer was not HTTP.
    Broken,
    /// The body is longer than [`MAX_BODY_BYTES`].
    TooLarge,
    /// 502, 503 or 504: the server is overloaded or down, and its route did not answer.
    Unavailable,
    Timeout,
}

impl Reason {
    pub(crate) const ALL: [Reason; 5] =
        [Reason::Connect, Reason::Broken, Reason::TooLarge, Reason::Unavailable, Reason::Timeout];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Reason::Connect => "connect",
            Reason::Broken => "broken",
            Reason::TooLarge => "too_large",
            Reason::Unavailable => "unavailable",
            Reason::Timeout => "timeout",
        }
    }
}

label_value!(Reason);

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// The answer as judges see it.
    pub(crate) fn for_judge(&self) -> crate::judge::Answer<'_> {
        crate::judge::Answer {
            status: self.status.as_u16(),
            headers: &self.headers,
            body: &self.body,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    /// The error's message, for people.
    pub(crate) detail: String,
    /// The status, if the side got that far.
    pub(crate) status: Option<StatusCode>,
}

/// The outcome of one request to one side.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// From before a connection is taken to the last byte of the body.
    pub(crate) elapsed: Duration,
    pub(crate) outcome: Result<Answer, Failure>,
}

impl Reply {
    /// The status, also of an answer that cannot be compared.
    pub(crate) fn status(&self) -> Option<StatusCode> {
        match &self.outcome {
            Ok(answer) => Some(answer.status),
            Err(failure) => failure.status,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: HttpClient<HttpConnector, Full<Bytes>>,
    unix: HttpClient<UnixConnector, Full<Bytes>>,
    request_timeout: Duration,
}

impl Client {
    pub(crate) fn new(request_timeout: Duration) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let mut builder = HttpClient::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .http1_max_buf_size(MAX_HEAD_BYTES);
        let (http, unix) = (builder.build(connector), builder.build(unix::connector()));
        Client { http, unix, request_timeout }
    }

    /// Sends `asked` to the side at `base` and measures the time.
    pub(crate) async fn ask(&self, base: &SideUrl, asked: &Asked) -> Reply {
        let start = Instant::now();
        let outcome = timeout(self.request_timeout, self.exchange(base, asked)).await;
        let outcome = outcome.unwrap_or_else(|_| {
            let detail = format!("no complete answer within {:?}", self.request_timeout);
            Err(Failure { reason: Reason::Timeout, detail, status: None })
        });
        Reply { elapsed: start.elapsed(), outcome }
    }

    async fn exchange(&self, base: &SideUrl, asked: &Asked) -> Result<Answer, Failure> {
        let request = request_to(base, asked).map_err(|error| failure(Reason::Broken, &error))?;
        let response = match base {
            SideUrl::Far(url) if url.is_tls => {
                let detail = format!("{url}: nginx asks a side behind TLS, under `carve up`");
                return Err(Failure { reason: Reason::Connect, detail, status: None });
            }
            SideUrl::Tcp(_) | SideUrl::Far(_) => self.http.request(request),
            SideUrl::Unix(_) => self.unix.request(request),
        };
        let response = response.await.map_err(|error| {
            let reason = if error.is_connect() { Reason::Connect } else { Reason::Broken };
            failure(reason, &error)
        })?;
        let (status, headers) = (response.status(), response.headers().clone());
        // A body that announces too many bytes is not read at all.
        if response.body().size_hint().lower() > MAX_BODY_BYTES as u64 {
            return Err(too_large(status));
        }
        let body = Limited::new(response.into_body(), MAX_BODY_BYTES).collect().await;
        let body = body.map_err(|error| match error.is::<LengthLimitError>() {
            true => too_large(status),
            false => failure(Reason::Broken, error.as_ref()),
        })?;
        if matches!(status.as_u16(), 502..=504) {
            let detail = format!("status {}", status.as_u16());
            return Err(Failure { reason: Reason::Unavailable, detail, status: Some(status) });
        }
        Ok(Answer { status, headers, body: body.to_bytes() })
    }
}

/// The URL of a path and query on a side.
fn url(base: &SideUrl, target: PathAndQuery) -> Result<Uri, http::Error> {
    let path_and_query = target.as_str().to_owned();
    let uri = Uri::builder().scheme(Scheme::HTTP).path_and_query(target);
    match base {
        SideUrl::Tcp(url) => uri.authority(url.authority()),
        SideUrl::Unix(path) => uri.authority(unix::authority(path)),
        SideUrl::Far(url) => uri
            .authority(url.server.authority())
            .path_and_query(format!("{}{path_and_query}", url.prefix)),
    }
    .build()
}

/// The mirrored request, with this side's host and the shadow's mark.
fn request_to(base: &SideUrl, asked: &Asked) -> Result<Request<Full<Bytes>>, http::Error> {
    let mut request = Request::builder()
        .method(asked.method.clone())
        .uri(url(base, asked.target.clone())?)
        .header(USER_AGENT, AGENT)
        .header(SHADOW_MARK, HeaderValue::from_static("1"));
    if base.tcp().is_none() {
        // Else it would be what stands for the path; nginx and curl send this name too.
        request = request.header(HOST, HeaderValue::from_static("localhost"));
    }
    if let Some(id) = &asked.request_id {
        request = request.header(REQUEST_ID, id.clone());
    }
    for (name, value) in &asked.headers {
        request = request.header(name, value);
    }
    request.body(Full::new(asked.body.clone()))
}

fn too_large(status: StatusCode) -> Failure {
    let detail = format!("the body has more than {MAX_BODY_BYTES} bytes");
    Failure { reason: Reason::TooLarge, detail, status: Some(status) }
}

/// A failure whose detail is the error's message, followed by the messages of its causes.
fn failure(reason: Reason, error: &(dyn Error + 'static)) -> Failure {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let mut messages: Vec<String> = causes.map(ToString::to_string).collect();
    messages.dedup(); // some errors repeat their cause's message
    Failure { reason, detail: messages.join(": "), status: None }
}
