//! The HTTP client. It sends requests to both sides over kept connections and measures both in the same way.

use std::error::Error;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{HOST, LOCATION, USER_AGENT};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
#[cfg(feature = "tls")]
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client as HttpClient, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use route::{FarUrl, SideUrl};
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};
use tokio::time::timeout;

use crate::content::{Collector, Content, Limits, decoded};
use crate::mirrored::{MirroredRequest, REQUEST_ID, SHADOW_MARK};
use crate::routes::ComparedRoute;
#[cfg(feature = "tls")]
use crate::tls;
use crate::unix::{self, UnixConnector};

/// The longest head of an answer that is accepted.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// A connection that was idle for longer is not used again. Both sides keep idle connections longer (65 s and 75 s), so
/// no request is sent on a connection that the side is closing.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const AGENT: HeaderValue = HeaderValue::from_static(concat!("shadow/", env!("CARGO_PKG_VERSION")));

/// Why a side gave no answer that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "snake_case")]
pub(crate) enum Reason {
    /// No connection.
    Connect,
    /// The connection broke, or the answer was not HTTP.
    Broken,
    /// The body is longer than the route's `shadow.max_answer`.
    TooLarge,
    /// 502, 503 or 504: the server is overloaded or down, and the app behind it did not answer.
    Unavailable,
    Timeout,
}

#[derive(Clone, Debug)]
pub(crate) struct ReceivedAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The body: first as received, later decoded for the judge.
    pub(crate) content: Content,
    /// The length of the body as received.
    pub(crate) received_bytes: u64,
}

impl ReceivedAnswer {
    /// The answer as judges see it; without its body if that was not kept.
    pub(crate) fn for_judge(&self) -> crate::judge::Answer<'_> {
        let body: &[u8] = match &self.content {
            Content::Kept(body) => body,
            Content::Digested(_) => &[],
        };
        crate::judge::Answer { status: self.status.as_u16(), headers: &self.headers, body }
    }

    /// Whether the side does not do this request yet and says why. Clients get the old side's answer then.
    pub(crate) fn has_declined(&self) -> bool {
        self.status == StatusCode::NOT_IMPLEMENTED && self.headers.contains_key("x-carve-decline")
    }

    fn decoded(self, limits: &Limits) -> Result<Self, Failure> {
        match decoded(&self.headers, self.content, limits) {
            Ok(content) => Ok(ReceivedAnswer { content, ..self }),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                Err(too_large(self.status, limits))
            }
            Err(error) => {
                let detail = format!("content-encoding {error}");
                Err(Failure { reason: Reason::Broken, detail, status: Some(self.status) })
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    /// The error's message, for people.
    pub(crate) detail: String,
    /// The status, if the side sent one.
    pub(crate) status: Option<StatusCode>,
}

/// The outcome of one request to one side.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The time from before a connection is chosen to the last byte of the body.
    pub(crate) elapsed: Duration,
    pub(crate) outcome: Result<ReceivedAnswer, Failure>,
}

impl Reply {
    /// The reply with its body decoded. Blocks the thread while it decodes.
    pub(crate) fn decoded(self, limits: &Limits) -> Self {
        let outcome = self.outcome.and_then(|answer| answer.decoded(limits));
        Reply { outcome, ..self }
    }

    /// The status; also known for some answers that cannot be compared.
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
    /// `None` if no side is behind TLS.
    #[cfg(feature = "tls")]
    tls: Option<HttpClient<HttpsConnector<HttpConnector>, Full<Bytes>>>,
    unix: HttpClient<UnixConnector, Full<Bytes>>,
}

impl Client {
    /// A client for the sides of these routes. Fails if one of them is behind TLS, and the file of authorities cannot
    /// be read or this program was built without TLS.
    #[cfg_attr(not(feature = "tls"), expect(unused_variables, reason = "for TLS alone"))]
    pub(crate) fn new(authorities: &Path, routes: &[Arc<ComparedRoute>]) -> anyhow::Result<Self> {
        let needs_tls = routes.iter().any(|it| is_tls(&it.old) || is_tls(&it.new));
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let mut builder = HttpClient::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .http1_max_buf_size(MAX_HEAD_BYTES);
        #[cfg(feature = "tls")]
        let tls = needs_tls.then(|| tls::connector(authorities, connector.clone())).transpose()?;
        #[cfg(not(feature = "tls"))]
        anyhow::ensure!(
            !needs_tls,
            "a side is https://, but this carve was built without TLS (feature tls)"
        );
        Ok(Client {
            http: builder.build(connector),
            #[cfg(feature = "tls")]
            tls: tls.map(|connector| builder.build(connector)),
            unix: builder.build(unix::connector()),
        })
    }

    fn send(&self, base: &SideUrl, request: Request<Full<Bytes>>) -> ResponseFuture {
        #[cfg(feature = "tls")]
        if let (Some(tls), true) = (&self.tls, is_tls(base)) {
            return tls.request(request);
        }
        match base {
            SideUrl::Tcp(_) | SideUrl::Far(_) => self.http.request(request),
            SideUrl::Unix(_) => self.unix.request(request),
        }
    }

    /// Sends `asked` to the side at `base`, and measures the time until the whole answer has arrived.
    pub(crate) async fn ask(
        &self,
        base: &SideUrl,
        asked: &MirroredRequest,
        limits: &Limits,
    ) -> Reply {
        let start = Instant::now();
        let outcome = timeout(limits.timeout, self.exchange(base, asked, limits)).await;
        let outcome = outcome.unwrap_or_else(|_| {
            let detail = format!("no complete answer within {:?}", limits.timeout);
            Err(Failure { reason: Reason::Timeout, detail, status: None })
        });
        Reply { elapsed: start.elapsed(), outcome }
    }

    async fn exchange(
        &self,
        base: &SideUrl,
        asked: &MirroredRequest,
        limits: &Limits,
    ) -> Result<ReceivedAnswer, Failure> {
        let request = request_to(base, asked).map_err(|error| failure(Reason::Broken, &error))?;
        let response = self.send(base, request).await.map_err(|error| {
            let reason = if error.is_connect() { Reason::Connect } else { Reason::Broken };
            failure(reason, &error)
        })?;
        let (head, mut body) = response.into_parts();
        let (status, mut headers) = (head.status, head.headers);
        if let Some(far) = base.far() {
            tell_as_nginx_does(far, &mut headers);
        }
        // A body that announces too many bytes is not read at all.
        if body.size_hint().lower() > limits.max_bytes {
            return Err(too_large(status, limits));
        }
        let mut collector = Collector::receiving(limits, &headers);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| failure(Reason::Broken, &error))?;
            let data = frame.data_ref().map_or(&[][..], |data| &data[..]);
            collector.push(data).map_err(|_| too_large(status, limits))?;
        }
        if matches!(status.as_u16(), 502..=504) {
            let detail = format!("status {}", status.as_u16());
            return Err(Failure { reason: Reason::Unavailable, detail, status: Some(status) });
        }
        let content = collector.finish();
        Ok(ReceivedAnswer { status, headers, received_bytes: content.bytes(), content })
    }
}

fn is_tls(url: &SideUrl) -> bool {
    url.far().is_some_and(|far| far.is_tls)
}

/// Removes a side's path prefix from redirects, as nginx does: clients do not know the prefix.
fn tell_as_nginx_does(far: &FarUrl, headers: &mut HeaderMap) {
    let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
    let outside = location.and_then(|location| far.outside(location)?.parse().ok());
    if let Some(outside) = outside {
        headers.insert(LOCATION, outside);
    }
}

/// The URL of a path and query on a side.
fn url(base: &SideUrl, target: PathAndQuery) -> Result<Uri, http::Error> {
    let path_and_query = target.as_str().to_owned();
    let scheme = if is_tls(base) { Scheme::HTTPS } else { Scheme::HTTP };
    let uri = Uri::builder().scheme(scheme).path_and_query(target);
    match base {
        SideUrl::Tcp(url) => uri.authority(url.authority()),
        SideUrl::Unix(path) => uri.authority(unix::authority(path)),
        SideUrl::Far(url) => uri
            .authority(url.server.authority())
            .path_and_query(format!("{}{path_and_query}", url.prefix)),
    }
    .build()
}

/// The request to this side, with the client's host if it is known, and the shadow's mark.
fn request_to(
    base: &SideUrl,
    asked: &MirroredRequest,
) -> Result<Request<Full<Bytes>>, http::Error> {
    let mut request = Request::builder()
        .method(asked.method.clone())
        .uri(url(base, asked.target.clone())?)
        .header(SHADOW_MARK, HeaderValue::from_static("1"));
    if !asked.headers.contains_key(USER_AGENT) {
        request = request.header(USER_AGENT, AGENT);
    }
    if let Some(host) = &asked.host {
        request = request.header(HOST, host.clone());
    } else if base.tcp().is_none() {
        // Otherwise the Host would be the encoded path of the socket. nginx and curl send `localhost` too.
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

fn too_large(status: StatusCode, limits: &Limits) -> Failure {
    let detail = format!("the body has more than {} bytes (shadow.max_answer)", limits.max_bytes);
    Failure { reason: Reason::TooLarge, detail, status: Some(status) }
}

/// A failure whose detail is the error's message, followed by the messages of its causes.
fn failure(reason: Reason, error: &(dyn Error + 'static)) -> Failure {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let mut messages: Vec<String> = causes.map(ToString::to_string).collect();
    messages.dedup(); // some errors repeat their cause's message
    Failure { reason, detail: messages.join(": "), status: None }
}
