//! Asks a side whether it holds a key: `GET /held` on its admin listener, with the key in `X-Key`.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::homes::Answer;

/// A side that does not answer in this time serves nobody.
const LIMIT: Duration = Duration::from_secs(2);
/// Questions under way at once: an admin listener takes 64 connections.
static PLACES: Semaphore = Semaphore::const_new(16);

/// A side that hangs must not hold up a stop of the route.
const LIMIT_WHILE_STOPPED: Duration = Duration::from_millis(300);

/// Asks the new side while the route is stopped: only a key that it surely holds stays with it.
pub(super) async fn holds_while_stopped(admin: SocketAddr, key: &str) -> bool {
    timeout(LIMIT_WHILE_STOPPED, ask(admin, key)).await == Ok(Answer::Held)
}

/// Asks the side whose admin listener is at `admin`.
pub(super) async fn ask(admin: SocketAddr, key: &str) -> Answer {
    // Never closed, so there is always a place in the end.
    let _place = PLACES.acquire().await;
    match timeout(LIMIT, status(admin, key)).await {
        Ok(Ok(status)) if status == *b"204" => Answer::Held,
        Ok(Ok(status)) if status == *b"404" => Answer::Free,
        _ => Answer::Away,
    }
}

async fn status(admin: SocketAddr, key: &str) -> io::Result<[u8; 3]> {
    let mut stream = TcpStream::connect(admin).await?;
    let head =
        format!("GET /held HTTP/1.1\r\nhost: {admin}\r\nx-key: {key}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut line = *b"HTTP/1.1 ___";
    stream.read_exact(&mut line).await?;
    Ok([line[9], line[10], line[11]])
}
