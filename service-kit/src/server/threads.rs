//! How several threads share a service's connections.
//!
//! `docs/adr/0016-threads.md` says which way is the default, and why.

use std::future::Future;
use std::io;
use std::num::NonZeroU16;
use std::sync::mpsc::sync_channel;
use std::thread;

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};

use super::accept::{Acceptor, Handed};
use super::clients::Clients;
use super::listener::{Listener, Port, StdListener, listen_tcp};
use super::requests::Routes;
use super::stream::Stream;
use crate::ListenAddr;

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

/// The public listeners. All are open before any connection is served.
pub(super) struct Public {
    /// Those of each thread that accepts; the first thread has one of every address.
    listeners: Vec<Vec<StdListener>>,
    threads: Threads,
}

impl Public {
    /// Listens on all of `addresses`, on a port as often as these threads need. A Unix socket has one listener
    /// however many threads there are: the thread that accepts passes connections on.
    ///
    /// # Errors
    /// The address that cannot be bound, and why.
    pub(super) fn bind(
        threads: Threads,
        addresses: &[ListenAddr],
        takes_over: bool,
    ) -> Result<Self, (ListenAddr, io::Error)> {
        let is_joined = threads.mode == ServeMode::Reuseport && threads.are_apart();
        let accepting = if is_joined { threads.count.get() } else { 1 };
        let mut listeners: Vec<Vec<StdListener>> = (0..accepting).map(|_| Vec::new()).collect();
        // A socket that is taken over comes last: nothing can fail after it.
        let (unix, tcp): (Vec<_>, Vec<_>) =
            addresses.iter().partition(|addr| matches!(addr, ListenAddr::Unix(_)));
        for addr in tcp.into_iter().chain(unix) {
            bind_one(addr, &mut listeners, takes_over).map_err(|error| (addr.clone(), error))?;
        }
        Ok(Public { listeners, threads })
    }

    /// The addresses, with the real ports.
    pub(super) fn addresses(&self) -> io::Result<Vec<ListenAddr>> {
        self.listeners.iter().take(1).flatten().map(StdListener::addr).collect()
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
        let mut listeners = self.listeners.into_iter();
        if !self.threads.are_apart() {
            let listeners = on_this_runtime(listeners.next().unwrap_or_default())?;
            let acceptor = Acceptor { clients: &clients, home: Some(0), threads: Vec::new() };
            acceptor.run(listeners, &routes, stopped).await;
            return Ok(Rest::Here(clients));
        }
        let (stop, _) = watch::channel(false);
        let count = self.threads.count.get();
        let (threads, inboxes): (Vec<_>, Vec<_>) = (0..count).map(|_| unbounded_channel()).unzip();
        let is_acceptor = self.threads.mode == ServeMode::Acceptor;
        let mut ended = Vec::new();
        for (home, inbox) in (0..count).zip(inboxes) {
            let accepted = if is_acceptor { None } else { listeners.next() };
            let accepts = accepted.map(|listeners| (listeners, threads.clone()));
            let clients = clients.of_another_thread();
            let worker = Worker { home, accepts, inbox, clients, stop: stop.subscribe() };
            ended.push(worker.start(routes.clone())?);
        }
        match listeners.next() {
            Some(listeners) => {
                let acceptor = Acceptor { clients: &clients, home: None, threads };
                acceptor.run(on_this_runtime(listeners)?, &routes, stopped).await;
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

/// Adds the listeners of one address to those of the threads.
fn bind_one(
    addr: &ListenAddr,
    threads: &mut [Vec<StdListener>],
    takes_over: bool,
) -> io::Result<()> {
    let Some((first, others)) = threads.split_first_mut() else { return Ok(()) };
    match addr {
        ListenAddr::Unix(path) => first.push(StdListener::unix(path, takes_over)?),
        ListenAddr::Tcp(addr) => {
            let port = if others.is_empty() { Port::Alone } else { Port::First };
            let listener = listen_tcp(*addr, port)?;
            // The real port, if any was asked for.
            let addr = listener.local_addr()?;
            first.push(StdListener::Tcp(listener));
            for thread in others {
                thread.push(StdListener::Tcp(listen_tcp(addr, Port::Another)?));
            }
        }
    }
    Ok(())
}

fn on_this_runtime(listeners: Vec<StdListener>) -> io::Result<Vec<Listener>> {
    listeners.into_iter().map(Listener::try_from).collect()
}

/// A thread that serves, before it starts.
struct Worker {
    /// Its number.
    home: u16,
    /// Its listeners and the ways to all threads, if it accepts.
    accepts: Option<(Vec<StdListener>, Vec<UnboundedSender<Handed>>)>,
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
            let Some((listeners, threads)) = self.accepts else { return Ok(()) };
            let stopped = async {
                // An error means the end as well.
                let _ = self.stop.changed().await;
            };
            let acceptor = Acceptor { clients, home: Some(self.home), threads };
            acceptor.run(on_this_runtime(listeners)?, &routes, stopped).await;
            Ok(())
        };
        let receives = async {
            // Ends when no thread accepts any more.
            while let Some((stream, place)) = self.inbox.recv().await {
                match Stream::try_from(stream) {
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
