//! The accept loop. It limits connections, and closes the longest-idle ones when the limit is reached.

use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use futures_util::FutureExt;
use futures_util::future::select_all;
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use super::Serving;
use super::activity::Activity;
use super::connection;
use super::listener::Listener;
use super::metrics::Connections;
use super::socket::{Socket, Stream};

/// Pause after a failed accept, when file descriptors or memory are short.
const SHORTAGE: Duration = Duration::from_millis(50);
/// A connection that has been idle for less than this is not closed to make room: its request may be on its way.
const LEAST_WAIT: Duration = Duration::from_millis(100);
/// At the limit, time between two searches for idle connections.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The connections of one listener or of several.
pub(super) struct Clients {
    builder: Arc<auto::Builder<TokioExecutor>>,
    serving: Serving,
    /// One permit for each connection that may still be accepted.
    free: Arc<Semaphore>,
    open: Arc<Mutex<Open>>,
}

/// The open connections, by number.
#[derive(Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, (AbortHandle, Arc<Activity>)>,
}

impl Clients {
    pub(super) fn new(serving: &Serving) -> Self {
        Clients {
            builder: Arc::new(connection::builder(serving.protocol, serving.half_close)),
            serving: serving.clone(),
            free: Arc::new(Semaphore::new(serving.max_connections as usize)),
            open: Arc::default(),
        }
    }

    /// Accepts connections until `stopped` resolves, then those that are still in the kernel's queue. Drops `routes` on
    /// return: they may hold the last sender of a channel.
    pub(super) async fn accept(
        &self,
        listeners: Vec<Listener>,
        routes: Router,
        stopped: impl Future<Output = ()>,
    ) {
        if self.serving.write_timeout.is_some() {
            listeners.iter().for_each(Listener::bound_send_buffer);
        }
        let mut stopped = pin!(stopped);
        loop {
            let next = async {
                let stream = accept_any(&listeners).await?;
                io::Result::Ok((stream, self.permit().await))
            };
            tokio::select! {
                accepted = next => match accepted {
                    Ok((stream, permit)) => self.serve(stream, permit, routes.clone()),
                    // That client has left; the next may be waiting.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept connections");
                        self.shed();
                        sleep(SHORTAGE).await;
                    }
                },
                () = &mut stopped => break,
            }
        }
        // Closing a listener would reset the connections in its queue.
        while let Some(Ok(stream)) = accept_any(&listeners).now_or_never() {
            let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() else { break };
            self.serve(stream, permit, routes.clone());
        }
    }

    /// Closes every connection after its current requests; returns once all are closed.
    pub(super) async fn drain(&self) {
        self.open().connections.values().for_each(|(_, activity)| activity.stop());
        // All permits are free once every connection has ended. The semaphore is never closed.
        let _ = self.free.acquire_many(self.serving.max_connections).await;
    }

    /// Waits for room for a connection, and closes idle ones if there is none.
    async fn permit(&self) -> OwnedSemaphorePermit {
        let free = || Arc::clone(&self.free);
        if let Ok(permit) = free().try_acquire_owned() {
            return permit;
        }
        self.serving.connections.limited.inc();
        loop {
            self.shed();
            // The semaphore is never closed.
            if let Ok(Ok(permit)) = timeout(LOOK_AGAIN, free().acquire_owned()).await {
                return permit;
            }
        }
    }

    /// Closes idle connections, first those that linger, then the longest-idle ones: several at a time, because finding
    /// them scans all connections.
    fn shed(&self) {
        let now = Instant::now();
        let open = self.open();
        let mut waiting: Vec<_> = open
            .connections
            .values()
            .filter_map(|(task, activity)| Some((activity.idle_since()?, activity, task)))
            .filter(|&(since, ..)| since + LEAST_WAIT <= now)
            .map(|(since, activity, task)| {
                ((!activity.is_lingering.load(Ordering::Relaxed), since), task)
            })
            .collect();
        let several = waiting.len().div_ceil(32);
        if several < waiting.len() {
            waiting.select_nth_unstable_by_key(several, |&(rank, _)| rank);
        }
        for (_, task) in waiting.into_iter().take(several) {
            task.abort();
            self.serving.connections.shed.inc();
        }
    }

    /// Spawns a task that serves the connection.
    fn serve(&self, stream: Stream, permit: OwnedSemaphorePermit, routes: Router) {
        let metrics = self.serving.connections.clone();
        let activity = Activity::new(metrics.clone(), self.serving.half_close);
        let socket = Socket::new(stream, self.serving.write_timeout, &activity);
        let (builder, idle) = (Arc::clone(&self.builder), self.serving.idle_timeout);
        let mut open = self.open();
        let number = open.next;
        open.next += 1;
        metrics.open.inc();
        let guard = Guard { number, open: Arc::clone(&self.open), metrics, _permit: permit };
        let on_task = Arc::clone(&activity);
        let task = tokio::spawn(async move {
            let _guard = guard;
            // A client that disconnects or sends invalid HTTP is not the service's error.
            if let Err(error) = connection::serve(&builder, socket, (routes, &on_task), idle).await
            {
                tracing::debug!(error, "connection ended");
            }
        });
        open.connections.insert(number, (task.abort_handle(), activity));
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a connection from the list when its task ends, also by abort or panic.
struct Guard {
    number: u64,
    open: Arc<Mutex<Open>>,
    metrics: Connections,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.connections.remove(&self.number);
        self.metrics.open.dec();
    }
}

async fn accept_any(listeners: &[Listener]) -> io::Result<Stream> {
    select_all(listeners.iter().map(|it| Box::pin(it.accept()))).await.0
}
