//! The plain GET that readiness and tests need.

use std::time::Duration;

/// Status and body of a GET, whatever the status.
///
/// # Errors
/// Where no answer comes within 5 s.
pub fn get(url: &str) -> anyhow::Result<(u16, String)> {
    ramp::http::get(url, Duration::from_secs(5))
}
