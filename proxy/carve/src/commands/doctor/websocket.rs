//! Opens a WebSocket at the app and through the proxy, and keeps both open for a time.

use std::io;
use std::mem::discriminant;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use tungstenite::client::IntoClientRequest;
use tungstenite::error::Error;
#[cfg(not(feature = "tls"))]
use tungstenite::error::UrlError;
use tungstenite::handshake::client::{Request, Response};
use tungstenite::handshake::{HandshakeError, HandshakeRole};
use tungstenite::http::header::{HOST, ORIGIN};
use tungstenite::{Bytes, Message, WebSocket, stream::MaybeTlsStream};
use ureq::http::Uri;

use super::ask::Sides;

type Socket = WebSocket<MaybeTlsStream<TcpStream>>;

/// Longest wait for the handshake, and for the answer to a ping.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The payload of the ping that is sent last.
const PING: Bytes = Bytes::from_static(b"carve doctor");

/// How a WebSocket went.
#[derive(Debug)]
enum WebSocketEnd {
    /// It did not open, for this reason.
    Refused(String),
    /// It ended too early: after how long, and why.
    Ended(Duration, String),
    Lasted,
}

impl Sides {
    /// Keeps a WebSocket open at both for `lasting` without sending a message, then sends a ping. Returns a line if it
    /// goes differently at the app and through the proxy.
    pub(super) fn websocket(&self, path: &str, lasting: Duration) -> Vec<String> {
        let [app, proxied] =
            [&self.ends.app, &self.ends.proxy].map(|side| self.talk(side, path, lasting));
        let words = |went: &WebSocketEnd| match went {
            WebSocketEnd::Refused(why) => format!("is not opened: {why}"),
            WebSocketEnd::Ended(after, why) => {
                format!("ends after {:.1} s: {why}", after.as_secs_f32())
            }
            WebSocketEnd::Lasted => "is open and answers".to_owned(),
        };
        if discriminant(&app) == discriminant(&proxied) {
            return Vec::new();
        }
        let (app, proxied) = (words(&app), words(&proxied));
        vec![format!("at the app it {app}, through the proxy it {proxied}")]
    }

    fn talk(&self, side: &Uri, path: &str, lasting: Duration) -> WebSocketEnd {
        let mut socket = match self.open(side, path) {
            Ok(socket) => socket,
            Err(Error::Http(answer)) => return WebSocketEnd::Refused(answer.status().to_string()),
            Err(error) => return WebSocketEnd::Refused(error.to_string()),
        };
        let begin = Instant::now();
        let mut pinged = None;
        loop {
            if pinged.is_none() && begin.elapsed() >= lasting {
                if let Err(error) = socket.send(Message::Ping(PING)) {
                    return WebSocketEnd::Ended(begin.elapsed(), error.to_string());
                }
                pinged = Some(Instant::now());
            }
            match socket.read() {
                Ok(Message::Pong(payload)) if payload == PING => return WebSocketEnd::Lasted,
                Ok(Message::Close(_)) => {
                    return WebSocketEnd::Ended(begin.elapsed(), "it is closed".to_owned());
                }
                Ok(_) => {}
                Err(Error::Io(error)) if is_timeout(&error) => {
                    if pinged.is_some_and(|when| when.elapsed() >= TIMEOUT) {
                        return WebSocketEnd::Ended(
                            begin.elapsed(),
                            "no answer to a ping".to_owned(),
                        );
                    }
                }
                Err(error) => return WebSocketEnd::Ended(begin.elapsed(), error.to_string()),
            }
        }
    }

    fn open(&self, side: &Uri, path: &str) -> Result<Socket, Error> {
        let is_tls = side.scheme_str() == Some("https");
        let authority = side.authority().map_or("", |it| it.as_str());
        let scheme = if is_tls { "wss" } else { "ws" };
        let below = side.path().trim_end_matches('/');
        let mut request = format!("{scheme}://{authority}{below}{path}").into_client_request()?;
        let headers = request.headers_mut();
        // As a browser does on a page that it loaded from the proxy.
        let proxy = &self.ends.proxy;
        let host = proxy.authority().map_or("", |it| it.as_str());
        let origin = format!("{}://{host}", proxy.scheme_str().unwrap_or("http"));
        headers.insert(HOST, host.parse()?);
        headers.insert(ORIGIN, origin.parse()?);
        headers.extend(self.of_tls(side));
        headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        let port = side.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let name = side.host().unwrap_or_default().trim_matches(['[', ']']);
        let stream = connect(name, port)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let mut socket = self.shake_hands(request, stream)?;
        // Short reads, so that `talk` can check the time between them.
        let stream = match socket.get_mut() {
            MaybeTlsStream::Plain(stream) => stream,
            #[cfg(feature = "tls")]
            MaybeTlsStream::Rustls(stream) => &mut stream.sock,
            _ => return Ok(socket),
        };
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        Ok(socket)
    }

    #[cfg(not(feature = "tls"))]
    fn shake_hands(&self, request: Request, stream: TcpStream) -> Result<Socket, Error> {
        if request.uri().scheme_str() == Some("wss") {
            return Err(UrlError::TlsFeatureNotEnabled.into());
        }
        opened(tungstenite::client(request, MaybeTlsStream::Plain(stream)))
    }

    #[cfg(feature = "tls")]
    fn shake_hands(&self, request: Request, stream: TcpStream) -> Result<Socket, Error> {
        opened(tungstenite::client_tls_with_config(request, stream, None, self.connector()?))
    }

    /// A connector that trusts the certificates of `--ca`; `None` without `--ca`, which trusts the public ones.
    #[cfg(feature = "tls")]
    fn connector(&self) -> Result<Option<tungstenite::Connector>, Error> {
        if self.ca.is_empty() {
            return Ok(None);
        }
        let config = ::compare::tls::config(&self.ca).map_err(io::Error::other)?;
        Ok(Some(tungstenite::Connector::Rustls(std::sync::Arc::new(config))))
    }
}

/// The socket of a completed handshake. An interrupted handshake becomes a timeout error.
fn opened<R: HandshakeRole>(
    outcome: Result<(Socket, Response), HandshakeError<R>>,
) -> Result<Socket, Error> {
    outcome.map(|(socket, _)| socket).map_err(|error| match error {
        HandshakeError::Failure(error) => error,
        HandshakeError::Interrupted(_) => Error::Io(io::ErrorKind::TimedOut.into()),
    })
}

/// Connects to the first of the name's addresses that accepts. Fails with the error of the last address.
fn connect(name: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{name} has no address"));
    for address in (name, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
