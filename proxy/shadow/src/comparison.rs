//! One comparison: asks both sides, decodes the pictures and judges the answers.

use std::time::SystemTime;

use http::Method;

use crate::asked::Asked;
use crate::base_url::BaseUrl;
use crate::client::{Client, Reply};
use crate::picture::{Picture, Seen};
use crate::side::Side;
use crate::verdict::{self, Verdict};

#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) asked: Asked,
    pub(crate) time: SystemTime,
    pub(crate) new: Reply<Seen>,
    pub(crate) old: Reply<Seen>,
    pub(crate) verdict: Verdict,
}

impl Comparison {
    pub(crate) fn reply(&self, side: Side) -> &Reply<Seen> {
        match side {
            Side::New => &self.new,
            Side::Old => &self.old,
        }
    }
}

/// Compares the sides at two addresses.
#[derive(Clone, Debug)]
pub(crate) struct Comparer {
    pub(crate) client: Client,
    pub(crate) new: BaseUrl,
    pub(crate) old: BaseUrl,
}

impl Comparer {
    /// Asks one side after the other. The order is random, because the second request finds caches
    /// and clock speed as the first one left them.
    pub(crate) async fn compare(&self, asked: Asked) -> Comparison {
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

/// Decodes the picture on another thread, because this one measures times.
async fn look_at(method: &Method, reply: Reply) -> Reply<Seen> {
    let Reply { elapsed, outcome } = reply;
    let outcome = match outcome {
        Ok(answer) => {
            let mut seen = Seen { status: answer.status, body: answer.body, picture: None };
            if verdict::is_picture(method, seen.status) {
                let png = seen.body.clone();
                let picture = tokio::task::spawn_blocking(move || Picture::from_png(&png)).await;
                let panicked = |_| Picture::unreadable("the decoder panicked".to_owned());
                seen.picture = Some(picture.unwrap_or_else(panicked));
            }
            Ok(seen)
        }
        Err(failure) => Err(failure),
    };
    Reply { elapsed, outcome }
}
