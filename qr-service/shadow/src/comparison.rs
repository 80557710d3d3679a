//! One comparison: both are asked, pictures decoded, and a verdict given.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Method, StatusCode};

use crate::asked::Asked;
use crate::backend::{Backend, BaseUrl, Client, Failure, Reply};
use crate::picture::Picture;
use crate::verdict::{self, Verdict};

/// What an implementation answered, as far as it is compared.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its status.
    pub status: StatusCode,
    /// All of its body.
    pub body: Bytes,
    /// What the body shows, where it is to be a picture.
    pub picture: Option<Picture>,
}

/// What came of asking one implementation.
#[derive(Clone, Debug)]
pub struct Side {
    /// From before the connection is taken to the last byte of the body.
    pub elapsed: Duration,
    /// The answer, or why there is none.
    pub outcome: Result<Seen, Failure>,
}

/// A request, what both made of it, and the verdict.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What was asked.
    pub asked: Asked,
    /// When.
    pub time: SystemTime,
    /// What the Rust service made of it.
    pub rust: Side,
    /// What the legacy app made of it.
    pub legacy: Side,
    /// Whether that is the same.
    pub verdict: Verdict,
}

impl Comparison {
    /// What `backend` made of it.
    pub fn side(&self, backend: Backend) -> &Side {
        match backend {
            Backend::Rust => &self.rust,
            Backend::Legacy => &self.legacy,
        }
    }
}

/// Compares the implementations at two addresses.
#[derive(Clone, Debug)]
pub struct Comparer {
    /// Asks them.
    pub client: Client,
    /// Where the Rust service is.
    pub rust: BaseUrl,
    /// Where the legacy app is.
    pub legacy: BaseUrl,
}

impl Comparer {
    /// Asks both, one after the other, in random order: were it always the same, the second would
    /// find the machine's caches and clocks as the first left them.
    pub async fn compare(&self, asked: Asked) -> Comparison {
        let time = SystemTime::now();
        let (rust, legacy) = if fastrand::bool() {
            let rust = self.client.ask(&self.rust, &asked).await;
            (rust, self.client.ask(&self.legacy, &asked).await)
        } else {
            let legacy = self.client.ask(&self.legacy, &asked).await;
            (self.client.ask(&self.rust, &asked).await, legacy)
        };
        let rust = look_at(&asked.method, rust).await;
        let legacy = look_at(&asked.method, legacy).await;
        let verdict = verdict::judge(&asked, &rust, &legacy);
        Comparison { asked, time, rust, legacy, verdict }
    }
}

/// Decodes a picture off the thread that asks and takes times.
async fn look_at(method: &Method, reply: Reply) -> Side {
    let Reply { elapsed, outcome } = reply;
    let outcome = match outcome {
        Ok(answer) => {
            let mut seen = Seen { status: answer.status, body: answer.body, picture: None };
            if verdict::is_picture(method, seen.status) {
                let png = seen.body.clone();
                let read = tokio::task::spawn_blocking(move || Picture::read(&png)).await;
                // A decoder that panics has not read it.
                let failed = |_| Picture::unreadable("the decoder gave up".to_owned());
                seen.picture = Some(read.unwrap_or_else(failed));
            }
            Ok(seen)
        }
        Err(failure) => Err(failure),
    };
    Side { elapsed, outcome }
}
