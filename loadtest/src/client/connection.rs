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
    pub(super) target: String,
}

impl Request {
    pub(super) fn new(number: u64, due: Instant, target: String) -> Self {
        Request { number, due, sent: Instant::now(), asked_again: false, target }
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

/// A connection; if it is closed, its next request opens it.
#[derive(Default)]
pub(super) struct Connection {
    stream: Option<TcpStream>,
    /// Bytes to write once the connection is open.
    unwritten: Vec<u8>,
    /// Whether the connection has had an answer.
    is_kept: bool,
    pub(super) request: Option<Request>,
    received: Vec<u8>,
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
        let target = &request.target;
        let head = format!("GET {target} HTTP/1.1\r\nHost: {server}\r\nAccept: */*\r\n\r\n");
        self.request = Some(request);
        self.received.clear();
        if let Some(stream) = &mut self.stream {
            // If the server has closed the connection, the next event reports it.
            let _ = stream.write(head.as_bytes());
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
        self.unwritten = head.into_bytes();
        self.stream.insert(socket.into()).set_nodelay(true)
    }

    /// Whether the request may be sent again: the connection was kept, no byte of an answer has come, and it was sent
    /// only once.
    pub(super) fn may_ask_again(&self) -> bool {
        let again = self.request.as_ref().is_some_and(|request| !request.asked_again);
        again && self.is_kept && self.received.is_empty()
    }

    pub(super) fn close(&mut self) {
        (self.stream, self.is_kept) = (None, false);
        self.unwritten.clear();
    }

    pub(super) fn on_event(&mut self, epoll: &OwnedFd, at: usize) -> Event {
        let Some(stream) = &mut self.stream else { return Event::Nothing };
        if !self.unwritten.is_empty() {
            let data = EventData::new_u64(at as u64);
            // Errors of connecting, such as a refusal, show here.
            let written = stream.write_all(&self.unwritten);
            self.unwritten.clear();
            let waits =
                written.and_then(|()| Ok(epoll::modify(epoll, stream, data, EventFlags::IN)?));
            return waits
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
        match Response::read(&self.received, ended) {
            _ if self.request.is_none() => Event::Closed,
            Ok(Some(_)) => {
                self.is_kept = true;
                Event::Answered
            }
            Ok(None) if ended => Event::Closed,
            Ok(None) => Event::Nothing,
            Err(why) => Event::Failed(why),
        }
    }

    /// The complete answer. Fails if it is incomplete or invalid.
    pub(super) fn response(&self) -> Result<Response<'_>, String> {
        Response::read(&self.received, true)?.ok_or_else(|| "no whole answer".to_owned())
    }
}
