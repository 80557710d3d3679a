//! The HTTP client of the readiness checks, the tests and the load tests.

use std::time::Duration;

use ureq::http::{HeaderMap, Response};
use ureq::{Agent, Body};

/// A whole response, whatever its status.
#[derive(Debug)]
pub struct HttpReply {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpReply {
    /// A header's value; empty if the header is missing or not text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The program that made the response.
    pub fn served_by(&self) -> &str {
        self.header("x-served-by")
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A client that keeps its connections, as browsers do, follows no redirect, and uses no proxy of the environment.
pub fn client(timeout: Duration) -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .timeout_global(Some(timeout))
        .build()
        .into()
}

/// Sends a GET.
pub fn get(client: &Agent, url: &str, headers: &[(&str, &str)]) -> Result<HttpReply, ureq::Error> {
    let request = client.get(url);
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    read(request.call()?)
}

/// Reads a response to its end. Fails if the body cannot be read.
pub fn read(mut response: Response<Body>) -> Result<HttpReply, ureq::Error> {
    let body = response.body_mut().read_to_vec()?;
    Ok(HttpReply { status: response.status().as_u16(), headers: response.headers().clone(), body })
}

/// Whether a kept connection ended before the first byte of a response. A client may then send the request again
/// (RFC 9112, section 9.3.1); ureq leaves that to its caller.
pub fn is_closed(error: &ureq::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    let ureq::Error::Io(error) = error else { return false };
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}
