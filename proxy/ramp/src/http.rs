//! The plain GET.

use std::time::Duration;

/// Status and body of a GET over a connection of its own, whatever the status.
///
/// # Errors
/// Where no answer comes in time.
pub fn get(url: &str, timeout: Duration) -> anyhow::Result<(u16, String)> {
    get_with(url, &[], timeout)
}

/// As [`get`], with a query.
///
/// # Errors
/// Where no answer comes in time.
pub fn get_with(
    url: &str,
    query: &[(&str, &str)],
    timeout: Duration,
) -> anyhow::Result<(u16, String)> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(timeout))
        .build()
        .into();
    let mut answer = agent.get(url).query_pairs(query.iter().copied()).call()?;
    Ok((answer.status().as_u16(), answer.body_mut().read_to_string()?))
}
