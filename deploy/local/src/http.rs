//! The plain GET that readiness and tests need.

use std::time::Duration;

/// Status and body of a GET, whatever the status.
///
/// # Errors
/// Where no answer comes within 5 s.
pub fn get(url: &str) -> anyhow::Result<(u16, String)> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(5)))
        .build()
        .into();
    let mut answer = agent.get(url).call()?;
    Ok((answer.status().as_u16(), answer.body_mut().read_to_string()?))
}
