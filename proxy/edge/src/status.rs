//! nginx' own counts of requests and connections, from its `stub_status`.

use std::io::ErrorKind;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use http::Uri;
use http::uri::{Authority, Scheme};

use crate::loss::{Connections, Loss, StubStatus};
use crate::progress::Progress;

const PERIOD: Duration = Duration::from_secs(1);
/// nginx answers this itself at once. The counts of a slow answer are too old to use.
const TIMEOUT: Duration = Duration::from_millis(500);

/// A clap `value_parser` for the URL of `stub_status`.
pub(crate) fn status_url(url: &str) -> Result<String, &'static str> {
    let is_server = |it: &Authority| {
        let has_valid_port = it.port_u16().is_some() || it.as_str() == it.host();
        has_valid_port && !it.host().is_empty() && !it.as_str().contains('@')
    };
    let uri = url.parse().ok().filter(|uri: &Uri| {
        uri.scheme() == Some(&Scheme::HTTP) && uri.authority().is_some_and(is_server)
    });
    uri.map(|_| url.to_owned()).ok_or("must be http://HOST:PORT/PATH")
}

/// Asks nginx every second, for ever, and stores its counts and the lost requests in `progress`.
pub(crate) fn watch(url: &str, progress: &Progress) -> ! {
    let mut loss = Loss::default();
    let mut is_answering = true;
    loop {
        match ask(url) {
            Ok((reading, connections)) => {
                let read_to_end_at = progress.done().read_to_end_at;
                let until = |ms| progress.done().counts.ends.until(ms);
                let lost = loss.observe(reading, read_to_end_at, until);
                progress.set_status(reading, connections, lost);
                if !is_answering {
                    tracing::info!(url, "nginx' status answers again");
                }
                is_answering = true;
            }
            Err(error) => {
                // Nobody listens, so a new nginx will answer next. A slow answer does not mean that nginx restarted,
                // and losses are likely then, so it resets nothing.
                if is_refused(&error) {
                    loss.restart();
                }
                if is_answering {
                    let error = format!("{error:#}");
                    tracing::warn!(url, error, "nginx' status does not answer");
                }
                is_answering = false;
            }
        }
        thread::sleep(PERIOD);
    }
}

fn is_refused(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ureq::Error::Io(it)) if it.kind() == ErrorKind::ConnectionRefused)
}

/// Sends one request on a new connection. Fails if the answer is late, not 200, or not from `stub_status`.
fn ask(url: &str) -> anyhow::Result<(StubStatus, Connections)> {
    let config = ureq::Agent::config_builder().proxy(None).http_status_as_error(false);
    let agent: ureq::Agent = config.timeout_global(Some(TIMEOUT)).build().into();
    let mut answer = agent.get(url).call()?;
    let status = answer.status().as_u16();
    ensure!(status == 200, "the answer has status {status}");
    let body = answer.body_mut().read_to_string()?;
    let (requests, connections) = parse(&body).context("the answer is not from stub_status")?;
    let open = connections.reading.saturating_add(connections.writing);
    let at_ms = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    Ok((StubStatus { at: Instant::now(), at_ms, requests, open }, connections))
}

/// The requests that nginx has counted, and its connections.
fn parse(body: &str) -> Option<(u64, Connections)> {
    let mut lines = body.lines();
    let is_status = lines.next()?.starts_with("Active connections:")
        && lines.next()?.trim() == "server accepts handled requests";
    let counted: Option<Vec<u64>> =
        lines.next()?.split_whitespace().map(|count| count.parse().ok()).collect();
    let [accepted, handled, requests] = counted?[..] else { return None };
    let mut words = lines.next()?.split_whitespace();
    let mut value = |name| (words.next() == Some(name)).then(|| words.next()?.parse().ok())?;
    let connections = Connections {
        refused: accepted.saturating_sub(handled),
        reading: value("Reading:")?,
        writing: value("Writing:")?,
        waiting: value("Waiting:")?,
    };
    is_status.then_some((requests, connections))
}

#[cfg(test)]
mod tests;
