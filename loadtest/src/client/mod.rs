//! The clients: requests at a fixed rate, however long answers take.
//!
//! One thread waits for all connections by epoll, so the clients need little of one processor. Latency counts from the
//! time a request was due, so a stall shows in every request that it delays (coordinated omission). A request
//! whose kept connection ends before the first byte of an answer is sent once more on a new one, as clients do (RFC
//! 9112, section 9.3.1); nginx before 1.27.4 closes such connections at every reload.

mod connection;
mod response;
mod running;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};

use connection::{Connection, Event, Request};
pub(crate) use response::Response;
pub use running::{Load, measure};
pub(crate) use running::{Running, Sample, quantile, start};

/// Requests to one server.
pub struct Flow {
    /// The server's address.
    pub server: SocketAddr,
    /// Requests per second. If it is infinite, each is sent as soon as a connection is free.
    pub rate: f64,
    /// No request is sent after this time.
    pub lasts: Duration,
    /// At most this many requests are sent.
    pub most: u64,
    /// Most connections, which are kept open. If none is free, a request waits, which counts as latency.
    pub connections: usize,
    /// How long after sending its request a client gives up.
    pub patience: Duration,
    /// Only one in this many samples keeps the body.
    pub keeps_every: u64,
    /// The path and query of the request with this number.
    pub target: Box<dyn Fn(u64) -> String + Send>,
}

impl Flow {
    /// A flow without an end, over as many connections as it needs, so that a request that hangs delays no other.
    pub fn new(
        server: SocketAddr,
        rate: f64,
        target: impl Fn(u64) -> String + Send + 'static,
    ) -> Self {
        Flow {
            server,
            rate,
            lasts: Duration::from_secs(1 << 24),
            most: u64::MAX,
            connections: usize::MAX,
            patience: Duration::from_secs(30),
            keeps_every: u64::MAX,
            target: Box::new(target),
        }
    }
}

/// How often the clients look for requests that take too long, and hand over finished ones.
const TICK: Duration = Duration::from_millis(20);
/// The kernel may wake a thread this much too late, so sleeps end this much early, and shorter ones are skipped.
const SLACK: Duration = Duration::from_micros(80);

struct Clients {
    flow: Flow,
    began: Instant,
    /// The number of the next request.
    next: u64,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// Connections without a request, the one that has waited longest first.
    free: VecDeque<usize>,
    done: Vec<Sample>,
}

impl Clients {
    fn new(flow: Flow) -> anyhow::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).context("epoll")?;
        let (connections, free, done) = (Vec::new(), VecDeque::new(), Vec::new());
        Ok(Clients { flow, began: Instant::now(), next: 0, epoll, connections, free, done })
    }

    /// Sends until `is_over` or the flow's end, and waits for the last answers. `hand_over` gets samples and a time;
    /// every request that was due before that time has been handed over.
    fn run(
        mut self,
        is_over: impl Fn() -> bool,
        hand_over: impl Fn(&mut Vec<Sample>, Instant),
    ) -> anyhow::Result<()> {
        let mut events = Vec::with_capacity(256);
        let mut ticked = self.began;
        loop {
            let now = Instant::now();
            let ends =
                is_over() || now >= self.began + self.flow.lasts || self.next >= self.flow.most;
            // With no connection free, only an answer allows the next request.
            let may_send = !ends && self.send_due(now);
            let is_idle = self.connections.iter().all(|it| it.request.is_none());
            if now >= ticked + TICK || (ends && is_idle) {
                ticked = now;
                self.give_up(now);
                let settled = self.settled(now);
                hand_over(&mut self.done, settled);
            }
            if ends && is_idle {
                return Ok(());
            }
            let next = if may_send { self.due(self.next) } else { now + TICK };
            self.wait(next.min(now + TICK), &mut events)?;
            for event in events.drain(..) {
                self.on_event(usize::try_from(event.data.u64())?);
            }
        }
    }

    fn due(&self, number: u64) -> Instant {
        self.began + Duration::from_secs_f64(number as f64 / self.flow.rate)
    }

    /// Sends the requests that are due. Returns whether there is a connection for the next one.
    fn send_due(&mut self, now: Instant) -> bool {
        while self.next < self.flow.most {
            if self.due(self.next) > now {
                return true;
            }
            if self.free.is_empty() && self.connections.len() >= self.flow.connections {
                return false;
            }
            let at = self.free.pop_front().unwrap_or_else(|| {
                self.connections.push(Connection::default());
                self.connections.len() - 1
            });
            let due = if self.flow.rate.is_finite() { self.due(self.next) } else { now };
            let target = (self.flow.target)(self.next);
            self.send(at, Request::new(self.next, due, target));
            self.next += 1;
        }
        false
    }

    /// Sends a request on a connection, which is opened if it is not open.
    fn send(&mut self, at: usize, request: Request) {
        let connection = &mut self.connections[at];
        if let Err(error) = connection.send(request, self.flow.server, &self.epoll, at) {
            self.end(at, Some(error.to_string()));
        }
    }

    /// Sleeps until `until` or an event.
    fn wait(&self, until: Instant, events: &mut Vec<epoll::Event>) -> anyhow::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        if left > SLACK {
            // Unlike epoll's, the bound of poll is not rounded to milliseconds.
            let bound = Timespec::try_from(left - SLACK).context("the time to wait")?;
            match poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&bound)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error).context("poll"),
            }
        }
        let at_once = Timespec::default();
        epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&at_once))
            .context("epoll")?;
        Ok(())
    }

    fn on_event(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        match connection.on_event(&self.epoll, at) {
            Event::Nothing => {}
            Event::Answered => self.end(at, None),
            Event::Failed(why) => self.end(at, Some(why)),
            Event::Closed => {
                let again = connection.may_ask_again();
                connection.close();
                match connection.request.take_if(|_| again) {
                    Some(request) => self.send(at, Request { asked_again: true, ..request }),
                    None => self.end(at, Some("the connection was closed".to_owned())),
                }
            }
        }
    }

    /// Records the outcome of a connection's request, if it has one, and frees the connection.
    fn end(&mut self, at: usize, error: Option<String>) {
        let connection = &mut self.connections[at];
        let Some(request) = connection.request.take() else { return };
        let answer = error.map_or_else(|| connection.response(), Err);
        let keeps = answer.as_ref().is_ok_and(|response| response.keeps_alive);
        let keeps_body = (request.number + 1).is_multiple_of(self.flow.keeps_every);
        self.done.push(Sample::new(&request, &answer, keeps_body));
        if !keeps {
            connection.close();
        }
        self.free.push_back(at);
    }

    /// Ends the requests that have waited for too long.
    fn give_up(&mut self, now: Instant) {
        for at in 0..self.connections.len() {
            let request = self.connections[at].request.as_ref();
            if request.is_some_and(|request| now > request.sent + self.flow.patience) {
                self.end(at, Some(format!("no answer within {:?}", self.flow.patience)));
            }
        }
    }

    /// Returns a time before which every due request has ended.
    fn settled(&self, now: Instant) -> Instant {
        let requests = self.connections.iter().filter_map(|it| it.request.as_ref());
        requests.map(|request| request.due).fold(self.due(self.next).min(now), Instant::min)
    }
}
