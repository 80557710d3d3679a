//! The request that is sent to both sides.

use bytes::Bytes;
use http::header::{AUTHORIZATION, CACHE_CONTROL, COOKIE, HOST};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Marks the shadow's own requests. If a side's URL is the proxy's, the proxy mirrors them back to the shadow, and
/// [`MirroredRequest::of`] drops them.
pub(crate) const SHADOW_MARK: HeaderName = HeaderName::from_static("x-route-shadow");

/// How the client reached the proxy, which redirects depend on. nginx sends these headers to the sides too.
const FORWARDED: [HeaderName; 3] = [
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-port"),
];

/// The parts of a mirrored request that are sent again.
///
/// `If-None-Match` is left out: each side makes its own tags, so only one of them might answer 304.
#[derive(Clone, Debug)]
pub(crate) struct MirroredRequest {
    pub(crate) method: Method,
    /// Path and query, byte for byte.
    pub(crate) target: PathAndQuery,
    /// The client's Host, which redirects and whole answers may depend on; `None` for each side's own.
    pub(crate) host: Option<HeaderValue>,
    /// X-Request-Id, so that the logs of both sides can be matched.
    pub(crate) request_id: Option<HeaderValue>,
    /// The headers that the route file names.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The names in a request's class, as nginx logs them: its first parameters, and whether it has credentials.
pub(crate) fn names<B>(request: &Request<B>) -> String {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let is_name = |name: &&str| (1..=24).contains(&name.len()) && name.bytes().all(is_part);
    let pairs = request.uri().query().unwrap_or_default().split('&').take(4);
    let names = pairs.map_while(|pair| Some(pair.split_once('=')?.0).filter(is_name));
    let marks = [(AUTHORIZATION, "+authorization"), (COOKIE, "+cookie")].into_iter();
    let marks = marks.filter(|(name, _)| request.headers().contains_key(name)).map(|it| it.1);
    names.chain(marks).collect::<Vec<_>>().join(",")
}

fn copied(value: &HeaderValue) -> Option<HeaderValue> {
    HeaderValue::from_bytes(value.as_bytes()).ok()
}

impl MirroredRequest {
    /// The request to send again, with the headers in `sent`. `None` if a shadow sent `request`, or if it has no path
    /// (CONNECT).
    pub(crate) fn of<B>(request: &Request<B>, sent: &[HeaderName]) -> Option<Self> {
        if request.method() == Method::CONNECT || request.headers().contains_key(SHADOW_MARK) {
            return None;
        }
        // Copies the target and the headers: as slices of the connection's buffer they would keep all of it in memory.
        let target = request.uri().path_and_query()?.as_str();
        Some(MirroredRequest {
            method: request.method().clone(),
            target: PathAndQuery::from_maybe_shared(Bytes::copy_from_slice(target.as_bytes()))
                .ok()?,
            host: request.headers().get(HOST).and_then(copied),
            request_id: request.headers().get(REQUEST_ID).and_then(copied),
            headers: sent
                .iter()
                .chain(&FORWARDED)
                .flat_map(|name| {
                    request.headers().get_all(name).iter().map(move |value| (name, value))
                })
                .filter_map(|(name, value)| Some((name.clone(), copied(value)?)))
                .collect(),
            body: Bytes::new(),
        })
    }

    /// A GET of `target` without headers.
    pub(crate) fn get(target: PathAndQuery) -> Self {
        MirroredRequest {
            method: Method::GET,
            target,
            host: None,
            request_id: None,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// The same request, made so that no cache answers it: with `Cache-Control: no-cache`, and with `parameter`, which
    /// the app ignores, set to a random value.
    pub(crate) fn fresh(&self, parameter: Option<&str>) -> Self {
        let mut fresh = self.clone();
        fresh.headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Some(parameter) = parameter {
            let mark = if self.target.query().is_some() { '&' } else { '?' };
            let target = format!("{}{mark}{parameter}={:016x}", self.target, fastrand::u64(..));
            fresh.target = target.parse().unwrap_or(fresh.target);
        }
        fresh
    }

    /// The request as judges see it.
    pub(crate) fn for_judge(&self) -> crate::judge::RequestLine<'_> {
        crate::judge::RequestLine { method: self.method.as_str(), target: self.target.as_str() }
    }
}
