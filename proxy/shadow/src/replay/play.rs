//! Plays a session on one side.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use route::BaseUrl;
use serde::Serialize;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::described::{Framing, Leaver, Method, Plan, Who};
use super::half::{Answer, Connection, End, Lines, Outgoing, Received, read_lines, receive};
use crate::asked::SHADOW_MARK;
use crate::client::{Failure, Reason};

/// Longest list of sessions, and longest answer of lines.
const MAX_LIST_BYTES: usize = 256 << 10;
const MAX_LINES_BYTES: usize = 64 << 10;
const PIECE: usize = 16 << 10;
/// A body that somebody leaves is announced to be longer by this.
const NEVER_SENT: u64 = 1000;
/// Time between two questions who waits.
const POLL: Duration = Duration::from_millis(2);
/// Time for a receiver to be known where nothing tells.
const SETTLE: Duration = Duration::from_millis(30);

const BOUNDARY: &str = "played-again";
const PART: &str = "--played-again\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a\"\r\n\
                    Content-Type: application/octet-stream\r\n\r\n";
const PART_END: &str = "\r\n--played-again--\r\n";

/// A side's addresses, and the path of its keys.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) url: BaseUrl,
    pub(super) admin: BaseUrl,
    pub(super) prefix: String,
}

/// How a session went on a side.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    pub(super) outcome: Result<Seen, Failure>,
    /// From the last one's coming to the first receiver's head; the whole time if there is none.
    pub(crate) pairing: Duration,
    /// Bytes that each receiver got, and the time from the last one's coming to the end, of a session that is
    /// whole.
    pub(crate) stream: Option<(u64, Duration)>,
}

/// What the halves saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Seen {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sender: Option<Answer>,
    pub(super) receivers: Vec<Answer>,
    /// The halves did not come in the order of the plan, so what they saw says nothing.
    #[serde(skip)]
    pub(super) is_out_of_order: bool,
}

/// For `/mismatches`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Shown {
    pairing_seconds: f64,
    #[serde(flatten)]
    outcome: ShownOutcome,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum ShownOutcome {
    Seen(Seen),
    Failed { failed: Reason, detail: String },
}

impl Played {
    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.outcome.as_ref().err()
    }

    pub(super) fn shown(&self) -> Shown {
        let outcome = match &self.outcome {
            Ok(seen) => ShownOutcome::Seen(seen.clone()),
            Err(failure) => {
                ShownOutcome::Failed { failed: failure.reason, detail: failure.detail.clone() }
            }
        };
        Shown { pairing_seconds: self.pairing.as_secs_f64(), outcome }
    }
}

/// Asks admin listeners.
pub(super) struct Admin(HttpClient<HttpConnector, Empty<Bytes>>);

impl Admin {
    pub(super) fn new() -> Self {
        Admin(HttpClient::builder(TokioExecutor::new()).build_http())
    }

    /// The side's list of sessions that have ended.
    pub(super) async fn sessions(&self, at: &BaseUrl, limit: Duration) -> Result<String, String> {
        let list = async {
            let uri = format!("{at}/sessions").parse::<http::Uri>();
            let answer = self.0.get(uri.map_err(|error| error.to_string())?).await;
            let answer = answer.map_err(|error| error.to_string())?;
            if answer.status() != StatusCode::OK {
                return Err(format!("status {}", answer.status()));
            }
            let body = Limited::new(answer.into_body(), MAX_LIST_BYTES).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            Ok(String::from_utf8_lossy(&body).into_owned())
        };
        timeout(limit, list).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }

    /// Waits until somebody has the key, or until nobody has.
    async fn until_held(&self, at: &BaseUrl, key: &str, is_held: bool) -> Result<(), Failure> {
        let wanted = if is_held { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND };
        loop {
            let request = Request::get(format!("{at}/held"))
                .header("x-key", key)
                .body(Empty::new())
                .map_err(|error| broken(&error))?;
            let answer = self.0.request(request).await.map_err(|error| broken(&error))?;
            if answer.status() == wanted {
                return Ok(());
            }
            sleep(POLL).await;
        }
    }
}

fn broken(error: &dyn std::fmt::Display) -> Failure {
    Failure { reason: Reason::Broken, detail: error.to_string() }
}

/// Plays the plan on a key that nobody can guess, within `limit`.
pub(super) async fn play(side: &Side, plan: &Plan, limit: Duration, admin: &Admin) -> Played {
    let begun = Instant::now();
    let played = async {
        let key = new_key(&side.prefix).map_err(|error| broken(&error))?;
        let stage = Stage { side, plan, admin, key };
        if plan.leaver == Leaver::Waiting { stage.one_waits().await } else { stage.all().await }
    };
    let played = timeout(limit, played).await.unwrap_or_else(|_| {
        let detail = format!("the session was not over within {limit:?}");
        Err(Failure { reason: Reason::Timeout, detail })
    });
    let (outcome, times) = match played {
        Ok((seen, times)) => (Ok(seen), times),
        Err(failure) => (Err(failure), None),
    };
    let (pairing, took) = times.unwrap_or((begun.elapsed(), None));
    let stream = took.map(|took| (plan.bytes, took));
    Played { outcome, pairing, stream }
}

/// 128 random bits of the system.
fn new_key(prefix: &str) -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{prefix}{:032x}", u128::from_ne_bytes(bytes)))
}

/// Time to pair, and to the end if the session is whole.
type Times = Option<(Duration, Option<Duration>)>;

struct Stage<'a> {
    side: &'a Side,
    plan: &'a Plan,
    admin: &'a Admin,
    key: String,
}

struct Sending {
    connection: Connection,
    body: Option<mpsc::Sender<Bytes>>,
    answer: Answer,
    lines: Lines,
}

/// Everybody who has come.
#[derive(Default)]
struct Cast {
    sender: Option<Sending>,
    receivers: JoinSet<(usize, Result<Received, Failure>)>,
    /// The bytes that each receiver has got, once its answer has begun.
    progress: Vec<watch::Receiver<Option<u64>>>,
}

impl Stage<'_> {
    /// One comes, waits, leaves, and is forgotten.
    async fn one_waits(&self) -> Result<(Seen, Times), Failure> {
        let mut cast = Cast::default();
        for &(who, _) in &self.plan.came {
            self.comes(who, &mut cast).await?;
        }
        self.admin.until_held(&self.side.admin, &self.key, true).await?;
        let sender = cast.sender.take().map(|sending| sending.answer);
        drop(cast);
        self.admin.until_held(&self.side.admin, &self.key, false).await?;
        Ok((Seen { sender, receivers: Vec::new(), is_out_of_order: false }, None))
    }

    /// All come, the sender sends, and some may leave.
    async fn all(&self) -> Result<(Seen, Times), Failure> {
        let mut cast = Cast::default();
        let mut last = Instant::now();
        for (place, &(who, pause_ms)) in self.plan.came.iter().enumerate() {
            sleep(Duration::from_millis(pause_ms)).await;
            last = Instant::now();
            self.comes(who, &mut cast).await?;
            if place + 1 < self.plan.came.len() {
                self.settle(place, who, &mut cast).await?;
            }
        }
        self.send(&mut cast).await;
        let mut received = Vec::new();
        while let Some(joined) = cast.receivers.join_next().await {
            let (place, answer) = joined.map_err(|error| broken(&error))?;
            received.push((place, answer?));
        }
        received.sort_by_key(|(place, _)| *place);
        let begun = received.iter().map(|(_, one)| one.begun).min();
        let ended = received.iter().map(|(_, one)| one.ended).max();
        let sender = match cast.sender.take() {
            Some(sending) => Some(self.answer_of(sending).await?),
            None => None,
        };
        let took = ended.filter(|_| self.plan.leaver == Leaver::Nobody).map(|ended| ended - last);
        let times = begun.map(|begun| (begun.saturating_duration_since(last), took));
        let receivers = received.into_iter().map(|(_, one)| one.answer).collect();
        let is_out_of_order = self.is_out_of_order(sender.as_ref());
        Ok((Seen { sender, receivers, is_out_of_order }, times))
    }

    async fn comes(&self, who: Who, cast: &mut Cast) -> Result<(), Failure> {
        let mut connection = Connection::open(&self.side.url).await?;
        if who == Who::Receiver {
            let leaves = self.plan.leaver == Leaver::Receivers;
            let stop_after = leaves.then_some(self.plan.bytes);
            let (tell, progress) = watch::channel(None);
            let (request, place) = (self.request("GET", None)?, cast.progress.len());
            cast.progress.push(progress);
            cast.receivers.spawn(async move {
                (place, receive(connection, request, stop_after, tell).await)
            });
            return Ok(());
        }
        let (body, outgoing) = mpsc::channel(1);
        let method = if self.plan.method == Method::Post { "POST" } else { "PUT" };
        let response = connection.ask(self.request(method, Some(outgoing))?).await?;
        let answer = Answer::begun(response.status().as_u16(), response.headers());
        let lines = read_lines(response.into_body(), MAX_LINES_BYTES);
        cast.sender = Some(Sending { connection, body: Some(body), answer, lines });
        Ok(())
    }

    /// Waits until the side knows the one who has come, so that the next one comes after that.
    async fn settle(&self, place: usize, who: Who, cast: &mut Cast) -> Result<(), Failure> {
        if place == 0 {
            return self.admin.until_held(&self.side.admin, &self.key, true).await;
        }
        let (waiting, before) = (cast.progress.len(), self.receivers_before_sender());
        match &mut cast.sender {
            // Nothing tells that a second receiver is known.
            None => sleep(SETTLE).await,
            Some(_) if who == Who::Sender => {} // its answer has begun
            Some(sending) => {
                let is_told = |text: &str| {
                    text.matches("A receiver was connected.").count() + before >= waiting
                };
                // An error: nobody writes lines any more.
                let _ = sending.lines.wait_for(|(text, end)| end.is_some() || is_told(text)).await;
            }
        }
        Ok(())
    }

    /// Whether the side says that another number of receivers was there before the sender.
    fn is_out_of_order(&self, sender: Option<&Answer>) -> bool {
        let before = self.receivers_before_sender();
        let expected = format!("[INFO] {before} receiver(s) has/have been connected.");
        let lines = sender.and_then(|sender| sender.lines.as_ref());
        before > 1 && lines.is_some_and(|lines| !lines.contains(&expected))
    }

    fn receivers(&self) -> usize {
        self.plan.came.iter().filter(|(who, _)| *who == Who::Receiver).count()
    }

    fn receivers_before_sender(&self) -> usize {
        self.plan.came.iter().take_while(|(who, _)| *who == Who::Receiver).count()
    }

    fn request(
        &self,
        method: &str,
        body: Option<mpsc::Receiver<Bytes>>,
    ) -> Result<Request<Outgoing>, Failure> {
        let n = self.receivers().max(1);
        let uri = format!("http://{}{}?n={n}", self.side.url.authority(), self.key);
        let mut request = Request::builder().method(method).uri(uri);
        request = request.header(SHADOW_MARK, "1");
        if body.is_some() {
            if self.plan.framing == Framing::Length {
                request = request.header("content-length", self.announced());
            }
            if self.plan.multipart {
                let kind = format!("multipart/form-data; boundary={BOUNDARY}");
                request = request.header("content-type", kind);
            }
        }
        let body = body.unwrap_or_else(|| mpsc::channel(1).1);
        request.body(Outgoing(body)).map_err(|error| broken(&error))
    }

    /// What the head says of the body's length.
    fn announced(&self) -> u64 {
        let more = match self.plan.leaver {
            Leaver::Nobody if self.plan.multipart => (PART.len() + PART_END.len()) as u64,
            Leaver::Nobody => 0,
            _ => NEVER_SENT,
        };
        self.plan.bytes + more
    }

    /// Sends the body, and leaves if the sender does.
    async fn send(&self, cast: &mut Cast) {
        let Some(sending) = &mut cast.sender else { return };
        let Some(body) = sending.body.take() else { return };
        // Fails if the side has ended the request, which the answer tells.
        let _ = self.send_body(&body).await;
        match self.plan.leaver {
            Leaver::Sender => {
                for progress in &mut cast.progress {
                    // An error: it has got its end already.
                    let has_all = |got: &Option<u64>| got.is_some_and(|got| got >= self.plan.bytes);
                    let _ = progress.wait_for(has_all).await;
                }
                sending.connection.close();
            }
            // The body never ends; its last piece holds the request open.
            Leaver::Receivers => sending.body = Some(body),
            Leaver::Nobody | Leaver::Waiting => {}
        }
    }

    async fn send_body(
        &self,
        body: &mpsc::Sender<Bytes>,
    ) -> Result<(), mpsc::error::SendError<Bytes>> {
        if self.plan.multipart {
            body.send(Bytes::from_static(PART.as_bytes())).await?;
        }
        // The same on both sides.
        let mut random = fastrand::Rng::with_seed(self.plan.bytes);
        let mut rest = usize::try_from(self.plan.bytes).unwrap_or(usize::MAX);
        while rest > 0 {
            let mut piece = vec![0; rest.min(PIECE)];
            random.fill(&mut piece);
            rest -= piece.len();
            body.send(piece.into()).await?;
        }
        if self.plan.multipart {
            body.send(Bytes::from_static(PART_END.as_bytes())).await?;
        }
        Ok(())
    }

    /// A sender's answer at its end. One that has left reads no more lines.
    async fn answer_of(&self, mut sending: Sending) -> Result<Answer, Failure> {
        let mut answer = sending.answer.clone();
        if self.plan.leaver != Leaver::Sender {
            let ended = sending.lines.wait_for(|(_, end)| end.is_some()).await;
            let (text, end) = ended.map_err(|error| broken(&error))?.clone();
            answer.lines = Some(text.replace(&self.key, "KEY"));
            answer.end = end.unwrap_or(End::Cut);
        }
        Ok(answer)
    }
}
