//! Asks a side whether it holds a key: `GET /held` on its admin listener, with the key in `X-Key`.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// A side that does not answer in this time holds nothing that could still be paired.
const LIMIT: Duration = Duration::from_secs(2);
/// Questions under way at once: an admin listener takes 64 connections.
static PLACES: Semaphore = Semaphore::const_new(16);
/// What a side answers that holds the key.
const HELD: &[u8] = b"HTTP/1.1 204 ";

/// Whether the side holds the key; `false` if it cannot say.
pub(super) async fn holds(admin: SocketAddr, key: &str) -> bool {
    matches!(timeout(LIMIT, ask(admin, key)).await, Ok(Ok(true)))
}

async fn ask(admin: SocketAddr, key: &str) -> io::Result<bool> {
    // Never closed, so there is always a place in the end.
    let _place = PLACES.acquire().await;
    let mut stream = TcpStream::connect(admin).await?;
    let head =
        format!("GET /held HTTP/1.1\r\nhost: {admin}\r\nx-key: {key}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut status = [0; HELD.len()];
    stream.read_exact(&mut status).await?;
    Ok(status == HELD)
}
