//! One comparison: both are asked, pictures decoded, and a verdict given.

use std::time::SystemTime;

use http::Method;

use crate::asked::Asked;
use crate::picture::{Picture, Seen};
use crate::side::{BaseUrl, Client, Reply, Side};
use crate::verdict::{self, Verdict};

/// A request, what both made of it, and the verdict.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What was asked.
    pub asked: Asked,
    /// When.
    pub time: SystemTime,
    /// What the Rust service made of it.
    pub new: Reply<Seen>,
    /// What the legacy app made of it.
    pub old: Reply<Seen>,
    /// Whether that is the same.
    pub verdict: Verdict,
}

impl Comparison {
    /// What `side` made of it.
    pub fn reply(&self, side: Side) -> &Reply<Seen> {
        match side {
            Side::New => &self.new,
            Side::Old => &self.old,
        }
    }
}

/// Compares the implementations at two addresses.
#[derive(Clone, Debug)]
pub struct Comparer {
    /// Asks them.
    pub client: Client,
    /// Where the Rust service is.
    pub new: BaseUrl,
    /// Where the legacy app is.
    pub old: BaseUrl,
}

impl Comparer {
    /// Asks both, one after the other, in random order: were it always the same, the second would
    /// find the machine's caches and clocks as the first left them.
    pub async fn compare(&self, asked: Asked) -> Comparison {
        let time = SystemTime::now();
        let (new, old) = if fastrand::bool() {
            let new = self.client.ask(&self.new, &asked).await;
            (new, self.client.ask(&self.old, &asked).await)
        } else {
            let old = self.client.ask(&self.old, &asked).await;
            (self.client.ask(&self.new, &asked).await, old)
        };
        let new = look_at(&asked.method, new).await;
        let old = look_at(&asked.method, old).await;
        let verdict = verdict::judge(&asked, &new, &old);
        Comparison { asked, time, new, old, verdict }
    }
}

/// Decodes a picture off the thread that asks and takes times.
async fn look_at(method: &Method, reply: Reply) -> Reply<Seen> {
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
    Reply { elapsed, outcome }
}
