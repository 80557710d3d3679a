//! A connection, and the request on it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use super::Response;

/// A request that is under way.
pub(super) struct Request {
    pub(super) number: u64,
    pub(super) due: Instant,
    pub(super) sent: Instant,
    pub(super) asked_again: bool,
    pub(super) bytes: Vec<u8>,
}

impl Request {
    pub(super) fn new(
        number: u64,
        due: Instant,
        target: &str,
        server: SocketAddr,
        closes: bool,
    ) -> Self {
        let close = if closes { "Connection: close\r\n" } else { "" };
        let head = format!("GET {target} HTTP/1.1\r\nHost: {server}\r\nAccept: */*\r\n{close}\r\n");
        Request { number, due, sent: Instant::now(), asked_again: false, bytes: head.into_bytes() }
    }
}

/// What an event of a connection means.
pub(super) enum Event {
    Nothing,
    /// A whole answer has come.
    Answered,
    /// The server has closed, or the network failed.
    Closed,
    Failed(String),
}

/// A connection that is open, or will be for its next request.
#[derive(Default)]
pub(super) struct Connection {
    stream: Option<TcpStream>,
    /// It is opened, and its request not written yet.
    opens: bool,
    /// It has had an answer.
    is_kept: bool,
    pub(super) request: Option<Request>,
    pub(super) received: Vec<u8>,
}

impl Connection {
    /// Sends a request, or begins to connect.
    pub(super) fn send(
        &mut self,
        request: Request,
        server: SocketAddr,
        epoll: &OwnedFd,
        at: usize,
    ) -> io::Result<()> {
        self.received.clear();
        let request = self.request.insert(request);
        if let Some(stream) = &mut self.stream {
            // A closed one is noticed when its event comes.
            let _ = stream.write(&request.bytes);
            return Ok(());
        }
        let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        match connect(&socket, &server) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        epoll::add(epoll, &socket, EventData::new_u64(at as u64), EventFlags::OUT)?;
        (self.opens, self.is_kept) = (true, false);
        let stream = self.stream.insert(socket.into());
        stream.set_nodelay(true)
    }

    /// Whether its request has to be sent again: the connection was kept, and no byte of an answer has come.
    pub(super) fn may_ask_again(&self) -> bool {
        let again = self.request.as_ref().is_some_and(|request| !request.asked_again);
        again && self.is_kept && self.received.is_empty()
    }

    pub(super) fn close(&mut self) {
        (self.stream, self.is_kept, self.opens) = (None, false, false);
        self.received.clear();
    }

    pub(super) fn on_event(&mut self, epoll: &OwnedFd, at: usize) -> Event {
        let Some(stream) = &mut self.stream else { return Event::Nothing };
        if self.opens {
            let Some(request) = &self.request else { return Event::Closed };
            // What went wrong while connecting, such as a refusal, shows here.
            if let Err(error) = stream.write_all(&request.bytes) {
                return Event::Failed(error.to_string());
            }
            self.opens = false;
            let reads = epoll::modify(epoll, stream, EventData::new_u64(at as u64), EventFlags::IN);
            return reads
                .map_or_else(|error| Event::Failed(error.to_string()), |()| Event::Nothing);
        }
        let mut buffer = [0; 16 * 1024];
        let ended = match stream.read(&mut buffer) {
            Ok(count) => {
                self.received.extend_from_slice(&buffer[..count]);
                count == 0
            }
            Err(error)
                if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) =>
            {
                return Event::Nothing;
            }
            Err(_) => true,
        };
        if self.request.is_none() {
            return Event::Closed;
        }
        match Response::read(&self.received, ended) {
            Ok(Some(_)) => {
                self.is_kept = true;
                Event::Answered
            }
            Ok(None) if ended => Event::Closed,
            Ok(None) => Event::Nothing,
            Err(why) => Event::Failed(why),
        }
    }

    /// The whole answer that has come.
    pub(super) fn response(&self) -> Result<Response<'_>, String> {
        Response::read(&self.received, true)?.ok_or_else(|| "no whole answer".to_owned())
    }
}
