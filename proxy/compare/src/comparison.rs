//! One comparison: asks both sides, and has the answers judged.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use crate::asked::Asked;
use crate::client::{Client, Reply};
use crate::routes::Watched;
use crate::side::Side;
use crate::verdict::{self, Outcome, Verdict};

#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) route: Arc<str>,
    pub(crate) asked: Asked,
    pub(crate) time: SystemTime,
    pub(crate) new: Seen,
    pub(crate) old: Seen,
    pub(crate) verdict: Verdict,
    /// What judging took in a program of the user's; zero if the judge has none.
    pub(crate) judged_elsewhere: Duration,
}

/// A side's reply, and what the judge sees in it where the sides do not match.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) reply: Reply,
    pub(crate) description: Option<Value>,
}

impl Comparison {
    pub(crate) fn reply(&self, side: Side) -> &Reply {
        match side {
            Side::New => &self.new.reply,
            Side::Old => &self.old.reply,
        }
    }
}

/// Compares the sides of a route.
#[derive(Clone, Debug)]
pub(crate) struct Comparer {
    pub(crate) client: Client,
    pub(crate) watched: Arc<Watched>,
    /// Whether descriptions may quote the answers.
    pub(crate) keep_text: bool,
}

impl Comparer {
    /// Asks one side after the other. The order is random, because the second request finds caches
    /// and processors warm.
    pub(crate) async fn compare(&self, asked: Asked) -> Comparison {
        let time = SystemTime::now();
        let Watched { new, old, .. } = &*self.watched;
        let (new, old) = if fastrand::bool() {
            let new = self.client.ask(new, &asked).await;
            (new, self.client.ask(old, &asked).await)
        } else {
            let old = self.client.ask(old, &asked).await;
            (self.client.ask(new, &asked).await, old)
        };
        let route = Arc::from(self.watched.name());
        let (watched, keep_text) = (Arc::clone(&self.watched), self.keep_text);
        let given = (asked.clone(), new.clone(), old.clone());
        // On another thread: this one measures times, and judges take theirs.
        let has_program = watched.judge.stats().is_some();
        let begun = Instant::now();
        let judged = tokio::task::spawn_blocking(move || {
            let (asked, new, old) = given;
            judge(&watched, &asked, new, old, keep_text)
        });
        let (new, old, verdict) = judged.await.unwrap_or_else(|_| {
            let bare = |reply| Seen { reply, description: None };
            (bare(new), bare(old), Verdict::unjudged("the judge panicked"))
        });
        let judged_elsewhere = if has_program { begun.elapsed() } else { Duration::ZERO };
        Comparison { route, asked, time, new, old, verdict, judged_elsewhere }
    }

    /// Asks the old side twice, and says whether its answers differ; `None` if they cannot be judged.
    pub(crate) async fn differs_from_itself(&self, asked: Asked) -> Option<bool> {
        let first = self.client.ask(&self.watched.old, &asked).await;
        let second = self.client.ask(&self.watched.old, &asked).await;
        let watched = Arc::clone(&self.watched);
        let judged = tokio::task::spawn_blocking(move || {
            verdict::differ(&watched.judge, &asked, &first, &second)
        });
        judged.await.ok().flatten()
    }
}

fn judge(
    watched: &Watched,
    asked: &Asked,
    new: Reply,
    old: Reply,
    keep_text: bool,
) -> (Seen, Seen, Verdict) {
    let verdict = verdict::judge(&watched.judge, asked, &new, &old);
    let seen = |reply: Reply| {
        let answer = reply.outcome.as_ref().ok().filter(|_| verdict.outcome != Outcome::Match);
        let describe = |answer: &crate::client::Answer| {
            watched.judge.describe(&asked.for_judge(), &answer.for_judge(), keep_text)
        };
        Seen { description: answer.and_then(describe), reply }
    };
    (seen(new), seen(old), verdict)
}
