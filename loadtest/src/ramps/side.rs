//! A server that hands requests on to the app, with a mistake or without.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use stack::http;
use ureq::Agent;

/// Longer than nginx waits.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The headers that are handed on.
const HANDED_ON: [&str; 4] = ["cache-control", "content-type", "etag", "x-content-type-options"];

/// What is wrong with a side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mistake {
    /// Nothing.
    None,
    /// This ratio of the pictures has another text.
    WrongPictures(f64),
    /// This ratio of the requests gets 503, so that the old side answers the client.
    Errors(f64),
    /// Each answer takes twice the app's time.
    TwiceAsSlow,
}

/// The server. It ends with the process.
#[derive(Debug)]
pub struct Side {
    address: SocketAddr,
}

impl Side {
    /// Starts it on a free port of 127.0.0.1, before the server at `app`.
    ///
    /// # Errors
    /// If there is no port.
    pub fn start(app: &str, mistake: Mistake) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port for a side")?;
        let app = app.to_owned();
        let address = listener.local_addr().context("a side's port")?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let app = app.clone();
                // Ends as the connection does.
                thread::spawn(move || serve(&stream, &app, mistake));
            }
        });
        Ok(Side { address })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn serve(mut stream: &TcpStream, app: &str, mistake: Mistake) -> Option<()> {
    let client = http::client(TIMEOUT);
    let mut reader = BufReader::new(stream);
    stream.set_nodelay(true).ok()?;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            (reader.read_line(&mut head).ok()? > 0).then_some(())?;
        }
        let target = head.split(' ').nth(1)?;
        stream.write_all(&answer(&client, app, target, mistake)).ok()?;
    }
}

fn answer(client: &Agent, app: &str, target: &str, mistake: Mistake) -> Vec<u8> {
    let began = Instant::now();
    let url = match mistake {
        Mistake::Errors(ratio) if fastrand::f64() < ratio => return of(503, "", b"an error"),
        Mistake::WrongPictures(ratio) if fastrand::f64() < ratio => {
            format!("{app}/qrcode?text=not-what-was-asked-for")
        }
        _ => format!("{app}{target}"),
    };
    let Ok(answer) = http::get(client, &url, &[]) else { return of(502, "", b"no answer") };
    let mut headers = String::new();
    for name in HANDED_ON {
        let value = answer.header(name);
        if !value.is_empty() {
            headers += &format!("{name}: {value}\r\n");
        }
    }
    if mistake == Mistake::TwiceAsSlow {
        thread::sleep(began.elapsed());
    }
    of(answer.status, &headers, &answer.body)
}

/// A response; the reason is left out (RFC 9112, section 4).
fn of(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let len = body.len();
    let head = format!("HTTP/1.1 {status} \r\n{headers}content-length: {len}\r\n\r\n");
    [head.as_bytes(), body].concat()
}
