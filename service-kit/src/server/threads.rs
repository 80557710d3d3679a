//! How several threads share a service's connections.
//!
//! `docs/adr/0016-threads.md` says which way is the default, and why.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::num::NonZeroU16;
use std::sync::mpsc::sync_channel;
use std::thread;

use anyhow::Context;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};

use super::accept::{Acceptor, Handed};
use super::clients::Clients;
use super::requests::Routes;
use super::{BACKLOG, listen};

/// How threads share connections. With one thread all are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ServeMode {
    /// One runtime, whose threads take over each other's connections when they have nothing to do.
    #[default]
    Shared,
    /// Each thread has its own runtime and listener, and the kernel chooses the listener of a connection
    /// (`SO_REUSEPORT`). A thread that has more connections than another passes a new one on.
    Reuseport,
    /// Each thread has its own runtime, and one further thread accepts for all.
    Acceptor,
}

/// The threads of a service.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    /// How many serve.
    pub count: NonZeroU16,
    /// How they share connections.
    pub mode: ServeMode,
}

impl Threads {
    /// The runtime on which [`serve`](super::serve) is called.
    ///
    /// # Errors
    /// If it cannot start.
    pub fn runtime(self) -> io::Result<Runtime> {
        // With one thread the simpler scheduler is enough: no task has to move to another thread.
        let mut runtime = match self.mode {
            ServeMode::Shared if self.count.get() > 1 => Builder::new_multi_thread(),
            _ => Builder::new_current_thread(),
        };
        runtime.worker_threads(self.count.get().into()).enable_all().build()
    }

    /// Whether each thread has a runtime of its own, besides that of [`Threads::runtime`].
    fn are_apart(self) -> bool {
        self.mode != ServeMode::Shared && self.count.get() > 1
    }
}

impl Default for Threads {
    fn default() -> Self {
        Threads { count: NonZeroU16::MIN, mode: ServeMode::Shared }
    }
}

/// The public listener, or one for each thread. All are open before any connection is served.
pub(super) struct Public {
    pub(super) first: TcpListener,
    others: Vec<StdTcpListener>,
    threads: Threads,
}

impl Public {
    /// Listens on `addr` as often as these threads need.
    pub(super) fn bind(threads: Threads, addr: SocketAddr) -> io::Result<Self> {
        if threads.mode != ServeMode::Reuseport || !threads.are_apart() {
            return Ok(Public { first: listen(addr)?, others: Vec::new(), threads });
        }
        let first = listen_beside(addr, false)?;
        // The real port, if any was asked for.
        let addr = first.local_addr()?;
        let others = (1..threads.count.get()).map(|_| listen_beside(addr, true));
        let others = others.collect::<io::Result<_>>()?;
        Ok(Public { first: TcpListener::from_std(first)?, others, threads })
    }

    /// How many threads share the limits.
    pub(super) fn threads(&self) -> u16 {
        if self.threads.are_apart() { self.threads.count.get() } else { 1 }
    }

    /// Serves until `stopped` resolves. Returns what is left: the connections that are still open.
    pub(super) async fn serve<R: Routes>(
        self,
        clients: Clients,
        routes: R,
        stopped: impl Future<Output = ()>,
    ) -> anyhow::Result<Rest> {
        if !self.threads.are_apart() {
            let acceptor = Acceptor { clients: &clients, home: Some(0), threads: Vec::new() };
            acceptor.run(self.first, &routes, stopped).await;
            return Ok(Rest::Here(clients));
        }
        let (stop, _) = watch::channel(false);
        let count = self.threads.count.get();
        let (threads, inboxes): (Vec<_>, Vec<_>) = (0..count).map(|_| unbounded_channel()).unzip();
        let is_acceptor = self.threads.mode == ServeMode::Acceptor;
        let (mut first, mut others) = (Some(self.first), self.others.into_iter());
        let mut ended = Vec::new();
        for (home, inbox) in (0..count).zip(inboxes) {
            let listener = match is_acceptor {
                true => None,
                false => {
                    first.take().map(TcpListener::into_std).transpose()?.or_else(|| others.next())
                }
            };
            let accepts = listener.map(|listener| (listener, threads.clone()));
            let clients = clients.of_another_thread();
            let worker = Worker { home, accepts, inbox, clients, stop: stop.subscribe() };
            ended.push(worker.start(routes.clone())?);
        }
        match first {
            Some(listener) => {
                let acceptor = Acceptor { clients: &clients, home: None, threads };
                acceptor.run(listener, &routes, stopped).await;
            }
            None => {
                drop(threads);
                stopped.await;
            }
        }
        stop.send_replace(true);
        Ok(Rest::OnThreads { clients, ended, stop })
    }
}

/// Listens where other sockets of this process do or will. Unless it `joins` them, the port must be free: with
/// `SO_REUSEPORT` alone a second process of the same user would take half of the connections.
fn listen_beside(addr: SocketAddr, joins: bool) -> io::Result<StdTcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(joins)?;
    socket.bind(&addr.into())?;
    socket.set_reuse_port(true)?;
    socket.listen(BACKLOG.into())?;
    Ok(socket.into())
}

/// A thread that serves, before it starts.
struct Worker {
    /// Its number.
    home: u16,
    /// Its listener and the ways to all threads, if it accepts.
    accepts: Option<(StdTcpListener, Vec<UnboundedSender<Handed>>)>,
    /// What other threads have accepted for it.
    inbox: UnboundedReceiver<Handed>,
    clients: Clients,
    stop: watch::Receiver<bool>,
}

impl Worker {
    /// Starts the thread. What it returns resolves when its last connection has ended.
    fn start(self, routes: impl Routes) -> anyhow::Result<oneshot::Receiver<()>> {
        let (end, ended) = oneshot::channel();
        let (ready, is_ready) = sync_channel(1);
        let name = format!("serve-{}", self.home);
        let run = move || {
            let runtime = Builder::new_current_thread().enable_io().enable_time().build();
            let _ = ready.send(runtime.as_ref().map(|_| ()).map_err(io::Error::kind));
            if let Ok(runtime) = runtime {
                runtime.block_on(self.serve(routes));
            }
            drop(end);
        };
        let cannot = "cannot start a thread";
        thread::Builder::new().name(name).spawn(run).context(cannot)?;
        is_ready.recv().context(cannot)?.map_err(io::Error::from).context(cannot)?;
        Ok(ended)
    }

    /// Serves until its connections have ended after a stop, or nobody waits for them any more.
    async fn serve(self, routes: impl Routes) {
        let given_up = given_up(self.stop.clone());
        tokio::select! {
            served = self.serve_all(routes) => {
                if let Err(error) = served {
                    tracing::error!(%error, "a thread cannot accept connections");
                }
            }
            () = given_up => {}
        }
    }

    /// Serves the connections that it accepts and keeps, and those that it is given.
    async fn serve_all(mut self, routes: impl Routes) -> io::Result<()> {
        let clients = &self.clients;
        let accepts = async {
            let Some((listener, threads)) = self.accepts else { return Ok(()) };
            let stopped = async {
                // An error means the end as well.
                let _ = self.stop.changed().await;
            };
            let acceptor = Acceptor { clients, home: Some(self.home), threads };
            acceptor.run(TcpListener::from_std(listener)?, &routes, stopped).await;
            Ok(())
        };
        let receives = async {
            // Ends when no thread accepts any more.
            while let Some((stream, place)) = self.inbox.recv().await {
                match TcpStream::from_std(stream) {
                    Ok(stream) => clients.serve(stream, place, routes.clone()),
                    Err(error) => tracing::debug!(%error, "cannot take a connection"),
                }
            }
        };
        let (accepted, ()) = tokio::join!(accepts, receives);
        self.clients.shutdown().await;
        accepted
    }
}

/// Resolves when nobody waits for the end of the threads any more.
async fn given_up(mut stop: watch::Receiver<bool>) {
    while stop.changed().await.is_ok() {}
}

/// The connections that are open after a stop. Dropped, it ends them.
pub(super) enum Rest {
    /// On this runtime.
    Here(Clients),
    /// On threads of their own; `clients` are those that were refused.
    OnThreads { clients: Clients, ended: Vec<oneshot::Receiver<()>>, stop: watch::Sender<bool> },
}

impl Rest {
    /// Returns when all connections have ended; each may end the request that it has begun.
    pub(super) async fn shutdown(self) {
        match self {
            Rest::Here(clients) => clients.shutdown().await,
            Rest::OnThreads { clients, ended, stop } => {
                for thread in ended {
                    // Its sender is dropped at the thread's end.
                    let _ = thread.await;
                }
                clients.shutdown().await;
                drop(stop);
            }
        }
    }
}
