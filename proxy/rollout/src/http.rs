//! HTTP GET, and POST of JSON. The proxy of `HTTP_PROXY`, `HTTPS_PROXY` or `ALL_PROXY` gets no request to this machine,
//! and none to nginx or a home wherever it runs.

use std::net::{ToSocketAddrs, UdpSocket};
use std::time::Duration;

use anyhow::{Context, ensure};
use ureq::typestate::WithoutBody;

/// Sends a GET over a new connection and returns status and body. Fails only if no answer arrives in time.
pub fn get(url: &str, timeout: Duration) -> anyhow::Result<(u16, String)> {
    get_with(url, &[], timeout)
}

/// Sends a GET and returns the body. Fails if there is no answer, or its status is not 200. An error names `who` or the
/// URL.
pub(crate) fn body(who: &str, url: &str, timeout: Duration) -> anyhow::Result<String> {
    let answer = read(agent(timeout, false).get(url));
    let (status, body) = answer.with_context(|| format!("{who} does not answer at {url}"))?;
    ensure!(status == 200, "{url} answers {status}");
    Ok(body)
}

/// Whether the connection was refused, so that nothing listens there.
pub(crate) fn is_refused(error: &anyhow::Error) -> bool {
    let is = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionRefused;
    matches!(error.downcast_ref(), Some(ureq::Error::Io(error)) if is(error))
}

/// Sends JSON over a new connection and returns the answer's status.
pub(crate) fn post(url: &str, json: &str, timeout: Duration) -> anyhow::Result<u16> {
    let request =
        agent(timeout, is_elsewhere(url)).post(url).header("Content-Type", "application/json");
    Ok(request.send(json)?.status().as_u16())
}

fn agent(timeout: Duration, by_proxy: bool) -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let config = config.timeout_global(Some(timeout));
    if by_proxy { config.build() } else { config.proxy(None).build() }.into()
}

/// Whether the URL's host is not this machine: only an own address can be bound to. Also if DNS does not know it, since
/// then only a proxy can.
fn is_elsewhere(url: &str) -> bool {
    let url: Option<ureq::http::Uri> = url.parse().ok();
    let host = url.as_ref().and_then(ureq::http::Uri::host).unwrap_or_default();
    let addresses = (host.trim_matches(['[', ']']), 0).to_socket_addrs();
    !addresses.into_iter().flatten().any(|it| it.ip().is_loopback() || UdpSocket::bind(it).is_ok())
}

/// Sends a GET like [`get`], with a query.
pub fn get_with(
    url: &str,
    query: &[(&str, &str)],
    timeout: Duration,
) -> anyhow::Result<(u16, String)> {
    read(agent(timeout, is_elsewhere(url)).get(url).query_pairs(query.iter().copied()))
}

fn read(request: ureq::RequestBuilder<WithoutBody>) -> anyhow::Result<(u16, String)> {
    let mut answer = request.call()?;
    Ok((answer.status().as_u16(), answer.body_mut().read_to_string()?))
}

#[cfg(test)]
mod tests;
