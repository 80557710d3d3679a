//! nginx' own counts of requests and connections, from its `stub_status`.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use http::Uri;
use http::uri::Scheme;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::loss::{Connections, Loss, Reading};
use crate::progress::Progress;

const PERIOD: Duration = Duration::from_secs(1);
/// nginx answers without asking anyone, so a slow answer is worth nothing.
const TIMEOUT: Duration = Duration::from_millis(500);
/// The answer has about 300 bytes.
const MAX_ANSWER_BYTES: u64 = 8192;

/// The address of `stub_status`: `http://HOST:PORT/PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusUrl {
    /// Host and port, as in the header `Host`.
    host: String,
    /// Host and port to connect to.
    address: String,
    target: String,
}

impl FromStr for StatusUrl {
    type Err = &'static str;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "must be http://HOST:PORT/PATH";
        let uri: Uri = url.parse().map_err(|_| WANTED)?;
        let authority = uri.authority().ok_or(WANTED)?;
        let host = authority.as_str();
        let is_valid = uri.scheme() == Some(&Scheme::HTTP)
            && !authority.host().is_empty()
            && !host.contains('@');
        if !is_valid {
            return Err(WANTED);
        }
        let address = match (authority.port_u16(), host.strip_prefix(authority.host())) {
            (Some(_), _) => host.to_owned(),
            (None, Some("")) => format!("{host}:80"),
            _ => return Err(WANTED),
        };
        let target = uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
        Ok(StatusUrl { host: host.to_owned(), address, target })
    }
}

impl fmt::Display for StatusUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.host, self.target)
    }
}

/// Asks nginx every second, for ever, and tells `progress` what it says and what is lost.
pub(crate) async fn watch(url: StatusUrl, progress: Arc<Progress>) {
    let mut loss = Loss::default();
    let mut is_answering = true;
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // Before the reading: the rule needs the lines that were counted by then.
        let lines = progress.lines();
        match ask(&url).await {
            Ok((reading, connections)) => {
                progress.set_status(reading, connections, loss.observe(reading, lines));
                if !is_answering {
                    tracing::info!(%url, "nginx' status answers again");
                }
                is_answering = true;
            }
            Err(error) => {
                // Nobody listens, so the nginx that listens next is another one. A slow answer says
                // nothing of the kind, and losses are likely just then.
                if is_refused(&error) {
                    loss.restart();
                }
                if is_answering {
                    let error = format!("{error:#}");
                    tracing::warn!(%url, error, "nginx' status does not answer");
                }
                is_answering = false;
            }
        }
    }
}

fn is_refused(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref().map(io::Error::kind);
    kind == Some(io::ErrorKind::ConnectionRefused)
}

/// One request on a connection of its own.
async fn ask(url: &StatusUrl) -> anyhow::Result<(Reading, Connections)> {
    let answer = timeout(TIMEOUT, exchange(url)).await.context("no answer in time")??;
    let answer = std::str::from_utf8(&answer).context("the answer is no text")?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the answer is no HTTP")?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    ensure!(status == "200", "the answer has status {status:?}");
    let (requests, connections) = parse(body).context("the answer is not from stub_status")?;
    let open = connections.reading.saturating_add(connections.writing);
    Ok((Reading { at: Instant::now(), requests, open }, connections))
}

async fn exchange(url: &StatusUrl) -> anyhow::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(&url.address).await?;
    let request =
        format!("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", url.target, url.host);
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await?;
    Ok(answer)
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
