//! Questions about a key, which is in `X-Key`, to admin listeners: whether a side holds it, `GET /held`, and which side
//! another home gave, `GET /given`.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::homes::{Answer, Side};

/// A side that does not answer in this time serves nobody.
const LIMIT: Duration = Duration::from_secs(2);
/// Questions under way at once: an admin listener takes 64 connections.
const PLACES: usize = 16;

/// A side that hangs must not hold up a stop of the route.
const LIMIT_WHILE_STOPPED: Duration = Duration::from_millis(300);

/// Nor may a home that hangs hold up every key.
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

    /// Asks while the route is stopped: only a key that the side surely holds stays with it.
    pub(super) async fn holds_while_stopped(&self, key: &str) -> bool {
        timeout(LIMIT_WHILE_STOPPED, self.ask(key)).await == Ok(Answer::Held)
    }

    /// Asks the side. The wait for a place counts too: if the side hangs, many keys wait no longer than one, and nginx,
    /// which after 5 s asks another home, hears this one.
    pub(super) async fn ask(&self, key: &str) -> Answer {
        let answer = timeout(LIMIT, async {
            // Never closed, so there is always a place in the end.
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

/// The side that one of the other homes gave a moment ago. A home that does not answer in time gave none.
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
    let side = match answer.split_once("\r\n\r\n") {
        Some((head, "old")) if head.starts_with("HTTP/1.1 200 ") => Some(Side::Old),
        Some((head, "new")) if head.starts_with("HTTP/1.1 200 ") => Some(Side::New),
        _ => None,
    };
    Ok(side)
}

/// The whole answer, of at most so many bytes, or an error if it is no text. It has a length, so none of it is in
/// chunks.
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
