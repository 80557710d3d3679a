//! Clients that are slow: they hold a connection for as long as nginx lets them, and come back.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;

use crate::allow_all_files;

/// What a client is slow at.
#[derive(Clone, Copy, Debug)]
enum Slow {
    /// It sends its request's head byte by byte.
    Head,
    /// It sends its request's body byte by byte.
    Body,
    /// It sends requests and reads no answer.
    Reading,
}

const BETWEEN_BYTES: Duration = Duration::from_secs(1);
/// Fewer than nginx admits at once from one address.
const PER_ADDRESS: usize = 2000;

/// Clients that are slow, beside the caller.
pub struct SlowClients {
    open: Arc<AtomicUsize>,
    stop: watch::Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl SlowClients {
    /// Starts so many: two fifths dribble heads, two fifths bodies, one fifth does not read. They come
    /// from 127.0.0.2 and the addresses after it.
    ///
    /// # Errors
    /// If this process may not open so many connections.
    pub fn start(server: SocketAddr, count: usize) -> anyhow::Result<Self> {
        let wanted = count as u64 + 4096;
        let maximum = getrlimit(Resource::Nofile).maximum;
        ensure!(maximum.is_none_or(|most| most >= wanted), "ulimit -Hn must be {wanted} or more");
        allow_all_files()?;
        let open = Arc::new(AtomicUsize::new(0));
        let (stop, stopped) = watch::channel(());
        let counted = Arc::clone(&open);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let run = move || runtime.block_on(all(server, count, counted, stopped));
        let thread = std::thread::Builder::new().name("slow clients".to_owned());
        let thread = thread.spawn(run).context("no thread for slow clients")?;
        Ok(SlowClients { open, stop, thread })
    }

    /// How many connections are open now.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Closes all connections.
    ///
    /// # Errors
    /// If the clients could not run.
    pub fn stop(self) -> anyhow::Result<()> {
        drop(self.stop);
        self.thread.join().map_err(|_| anyhow::anyhow!("the slow clients failed"))?
    }
}

async fn all(
    server: SocketAddr,
    count: usize,
    open: Arc<AtomicUsize>,
    mut stopped: watch::Receiver<()>,
) -> anyhow::Result<()> {
    for number in 0..count {
        let last = 2 + u8::try_from(number / PER_ADDRESS).context("too many slow clients")?;
        let from = Ipv4Addr::new(127, 0, 0, last);
        let slow = [Slow::Head, Slow::Body, Slow::Head, Slow::Body, Slow::Reading][number % 5];
        tokio::spawn(come_back(server, from, slow, Arc::clone(&open)));
        // 2,000 a second, as if they had not agreed on a moment.
        if number % 20 == 19 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    // Ends when the sender is dropped, and the runtime drops the clients.
    let _ = stopped.changed().await;
    Ok(())
}

async fn come_back(server: SocketAddr, from: Ipv4Addr, slow: Slow, open: Arc<AtomicUsize>) {
    loop {
        if let Ok(stream) = connect(server, from).await {
            open.fetch_add(1, Ordering::Relaxed);
            // Ends when nginx has had enough.
            let _ = hold(stream, slow).await;
            open.fetch_sub(1, Ordering::Relaxed);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn connect(server: SocketAddr, from: Ipv4Addr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    socket.bind(SocketAddr::new(IpAddr::V4(from), 0))?;
    socket.connect(server).await
}

/// Holds a connection until nginx closes it.
async fn hold(mut stream: TcpStream, slow: Slow) -> io::Result<()> {
    let bytes: &[u8] = match slow {
        Slow::Head => b"GET / HTTP/1.1\r\nHost: slow\r\nX-Slow: ",
        Slow::Body => {
            let head = "POST /api/links HTTP/1.1\r\nHost: slow\r\nContent-Type: application/json\r\n\
                        Content-Length: 16000\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            b"{"
        }
        Slow::Reading => {
            let request = "GET /qrcode?text=slow HTTP/1.1\r\nHost: slow\r\n\r\n";
            stream.write_all(request.repeat(4).as_bytes()).await?;
            // Sleeps until the clients are stopped, unless nginx closes first; reads nothing else.
            loop {
                tokio::time::sleep(BETWEEN_BYTES).await;
                stream.write_all(b"\r\n").await?;
            }
        }
    };
    let mut answer = [0; 512];
    for byte in bytes.iter().chain(std::iter::repeat(&b'a')) {
        let ended = tokio::time::timeout(BETWEEN_BYTES, stream.read(&mut answer)).await;
        match ended {
            Ok(Ok(0)) => return Ok(()),
            Ok(Err(error)) => return Err(error),
            Ok(Ok(_)) | Err(_) => stream.write_all(&[*byte]).await?,
        }
    }
    Ok(())
}
