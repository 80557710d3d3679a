//! Asks admin listeners about the key in `X-Key`: a side whether it holds the key (`GET /held`), and another home which
//! side it gave (`GET /given`).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::homes::{Answer, Side};

/// A side that does not answer in this time counts as away.
const LIMIT: Duration = Duration::from_secs(2);
/// Questions under way at once; far fewer than the 256 connections that an admin listener takes.
const PLACES: usize = 16;

/// Shorter while the route is stopped: a side that hangs must not hold up the stop.
const LIMIT_WHILE_STOPPED: Duration = Duration::from_millis(300);

/// A home that hangs must not hold up every key.
const LIMIT_OF_HOMES: Duration = Duration::from_millis(300);
static PLACES_OF_HOMES: Semaphore = Semaphore::const_new(16);

/// A side's admin listener.
pub(super) struct AdminListener {
    admin: SocketAddr,
    places: Semaphore,
}

impl AdminListener {
    pub(super) fn new(admin: SocketAddr) -> Self {
        AdminListener { admin, places: Semaphore::new(PLACES) }
    }

    /// Asks while the route is stopped. True only if the side confirms in time that it holds the key.
    pub(super) async fn holds_while_stopped(&self, key: &str) -> bool {
        timeout(LIMIT_WHILE_STOPPED, self.ask(key)).await == Ok(Answer::Held)
    }

    /// Asks the side. The time limit includes the wait for a place, so if the side hangs, many keys wait no longer than
    /// one. nginx then gets this answer before it asks another home after 5 s.
    pub(super) async fn ask(&self, key: &str) -> Answer {
        let answer = timeout(LIMIT, async {
            // The semaphore is never closed.
            let _place = self.places.acquire().await;
            answer(self.admin, "/held", key, 4096).await
        });
        match answer.await {
            Ok(Ok(answer)) if answer.starts_with("HTTP/1.1 204 ") => Answer::Held,
            Ok(Ok(answer)) if answer.starts_with("HTTP/1.1 404 ") => Answer::Free,
            _ => Answer::Away,
        }
    }
}

/// Returns the side that another home gave a moment ago. A home that does not answer in time counts as having given
/// none.
pub(super) async fn given(homes: &[SocketAddr], key: &str) -> Option<Side> {
    let Ok(_place) = PLACES_OF_HOMES.try_acquire() else { return None };
    let answers = homes.iter().map(|&admin| async move {
        let answer = timeout(LIMIT_OF_HOMES, side_given(admin, key)).await;
        answer.ok()?.ok()?
    });
    join_all(answers).await.into_iter().flatten().next()
}

async fn side_given(admin: SocketAddr, key: &str) -> io::Result<Option<Side>> {
    let answer = answer(admin, "/given", key, 4096).await?;
    let given = answer.split_once("\r\n\r\n").filter(|(head, _)| head.starts_with("HTTP/1.1 200 "));
    Ok(given.and_then(|(_, side)| side.parse().ok()))
}

/// Sends GET `path` and returns head and body, of at most `most` bytes. The body must have a length, as chunks are not
/// decoded. Fails if the connection fails or the answer is not UTF-8.
pub(super) async fn answer(
    admin: SocketAddr,
    path: &str,
    key: &str,
    most: u64,
) -> io::Result<String> {
    let mut stream = TcpStream::connect(admin).await?;
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: {admin}\r\nx-key: {key}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = String::new();
    stream.take(most).read_to_string(&mut answer).await?;
    Ok(answer)
}
