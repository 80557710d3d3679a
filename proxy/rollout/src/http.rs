//! HTTP GET, and POST of JSON.

use std::time::Duration;

use anyhow::{Context, ensure};

/// Sends a GET over a new connection and returns status and body. Fails only if no answer arrives in time.
pub fn get(url: &str, timeout: Duration) -> anyhow::Result<(u16, String)> {
    get_with(url, &[], timeout)
}

/// Sends a GET and returns the body. Fails if there is no answer, or its status is not 200. An error names `who` or the
/// URL.
pub(crate) fn body(who: &str, url: &str, timeout: Duration) -> anyhow::Result<String> {
    let answer = get(url, timeout);
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
    let request = agent(timeout).post(url).header("Content-Type", "application/json");
    Ok(request.send(json)?.status().as_u16())
}

fn agent(timeout: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    config.timeout_global(Some(timeout)).build().into()
}

/// Sends a GET like [`get`], with a query.
pub fn get_with(
    url: &str,
    query: &[(&str, &str)],
    timeout: Duration,
) -> anyhow::Result<(u16, String)> {
    let mut answer = agent(timeout).get(url).query_pairs(query.iter().copied()).call()?;
    Ok((answer.status().as_u16(), answer.body_mut().read_to_string()?))
}
