//! One comparison: sends the request to both sides, and has the answers judged.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::judge::Differences;
use route::Share;
use serde_json::Value;

use crate::client::{Client, ReceivedAnswer, Reply};
use crate::mirrored::MirroredRequest;
use crate::result::{self, Outcome, PairResult, Side};
use crate::routes::ComparedRoute;

#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) route: Arc<str>,
    pub(crate) asked: MirroredRequest,
    pub(crate) time: SystemTime,
    pub(crate) new: SideResult,
    pub(crate) old: SideResult,
    pub(crate) verdict: PairResult,
    /// After a mismatch: when the pair was asked once more, and the outcome then.
    pub(crate) again: Option<(SystemTime, Outcome)>,
    /// How long the user's own judge program took; zero if the judge has none.
    pub(crate) judged_elsewhere: Duration,
}

/// A side's reply and, unless the sides match, the judge's description of it.
#[derive(Clone, Debug)]
pub(crate) struct SideResult {
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
    pub(crate) watched: Arc<ComparedRoute>,
    /// Whether descriptions may quote the answers.
    pub(crate) keep_text: bool,
}

impl Comparer {
    /// Compares the answers of both sides. If they differ, asks once more where that is safe, since a fault of both that
    /// begins or ends between the two requests is no side's. Not where noise is measured, which is not asked again.
    pub(crate) async fn compare(&self, asked: MirroredRequest) -> Comparison {
        let first = self.compare_once(asked).await;
        let is_noisy = self.watched.route.file.shadow.noise != Share::NONE;
        if first.verdict.outcome != Outcome::Mismatch || !first.asked.method.is_safe() || is_noisy {
            return first;
        }
        let second = self.compare_once(first.asked.clone()).await;
        let outcome = match second.verdict.outcome {
            Outcome::Mismatch => Outcome::Mismatch,
            _ => Outcome::MismatchOnce,
        };
        let again = Some((second.time, second.verdict.outcome));
        let judged_elsewhere = first.judged_elsewhere + second.judged_elsewhere;
        let verdict = PairResult { outcome, ..first.verdict };
        Comparison { verdict, again, judged_elsewhere, ..first }
    }

    /// Sends the request to one side after the other. The order is random, because the second request finds warm caches
    /// and processors.
    async fn compare_once(&self, asked: MirroredRequest) -> Comparison {
        let time = SystemTime::now();
        let ComparedRoute { new, old, limits, .. } = &*self.watched;
        let (new, old) = if fastrand::bool() {
            let new = self.client.ask(new, &asked, limits).await;
            (new, self.client.ask(old, &asked, limits).await)
        } else {
            let old = self.client.ask(old, &asked, limits).await;
            (self.client.ask(new, &asked, limits).await, old)
        };
        let route = Arc::from(self.watched.name());
        let (watched, keep_text) = (Arc::clone(&self.watched), self.keep_text);
        let given = (asked.clone(), new.clone(), old.clone());
        // On another thread: this one measures times, which a slow judge would distort.
        let has_program = watched.judge.stats().is_some();
        let begun = Instant::now();
        let judged = tokio::task::spawn_blocking(move || {
            let (asked, new, old) = given;
            judge(&watched, &asked, new, old, keep_text)
        });
        let (new, old, verdict) = judged.await.unwrap_or_else(|_| {
            let bare = |reply| SideResult { reply, description: None };
            (bare(new), bare(old), PairResult::unjudged("the judge panicked"))
        });
        let judged_elsewhere = if has_program { begun.elapsed() } else { Duration::ZERO };
        Comparison { route, asked, time, new, old, verdict, again: None, judged_elsewhere }
    }

    /// Sends the request to the old side twice and compares the answers; `None` if they cannot be judged. If an answer
    /// may come from a cache, the second request bypasses it.
    pub(crate) async fn old_with_itself(&self, asked: &MirroredRequest) -> Option<Noise> {
        let ComparedRoute { old, limits, .. } = &*self.watched;
        let parameter = self.watched.route.file.shadow.fresh_parameter.as_deref();
        let fresh = asked.fresh(parameter);
        let first = self.client.ask(old, asked, limits).await;
        let is_suspect = parameter.is_some() || is_cached(&first);
        let again = if is_suspect { &fresh } else { asked };
        let mut second = self.client.ask(old, again, limits).await;
        if !is_suspect && is_cached(&second) {
            second = self.client.ask(old, &fresh, limits).await;
        }
        if is_cached(&second) {
            return Some(Noise::Cached);
        }
        let (watched, asked) = (Arc::clone(&self.watched), asked.clone());
        let judged = tokio::task::spawn_blocking(move || {
            let (first, second) = (first.decoded(&watched.limits), second.decoded(&watched.limits));
            result::compare_with_itself(&watched.judge, &asked, &first, &second)
        });
        judged.await.ok().flatten().map(|verdict| Noise::Judged(verdict.differences))
    }
}

/// The result of comparing two answers of the old side.
#[derive(Debug)]
pub(crate) enum Noise {
    /// No result: a cache gave an answer even though the request tried to bypass it.
    Cached,
    /// The differences between the two answers; `None` if there are none.
    Judged(Option<Differences>),
}

/// Whether the headers say that a cache gave this answer (RFC 9111, 5.1; RFC 9211).
fn is_cached(reply: &Reply) -> bool {
    let Ok(answer) = &reply.outcome else { return false };
    let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
    let is_aged = header("age").is_some_and(|age| age.trim().parse().unwrap_or(0_u64) > 0);
    let names = ["cache-status", "cf-cache-status", "x-cache", "x-cache-status"];
    let says_hit = |value: &str| {
        // Cache-Status has `hit` and `fwd=miss` as parameters; X-Cache and others have HIT or MISS in capitals.
        value
            .to_ascii_lowercase()
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| word == "hit")
    };
    is_aged || names.into_iter().filter_map(header).any(says_hit)
}

fn judge(
    watched: &ComparedRoute,
    asked: &MirroredRequest,
    new: Reply,
    old: Reply,
    keep_text: bool,
) -> (SideResult, SideResult, PairResult) {
    let (new, old) = (new.decoded(&watched.limits), old.decoded(&watched.limits));
    let verdict = result::judge(&watched.judge, asked, &new, &old);
    let seen = |reply: Reply| {
        let answer = reply.outcome.as_ref().ok().filter(|_| verdict.outcome != Outcome::Match);
        let describe = |answer: &ReceivedAnswer| {
            watched.judge.describe(&asked.for_judge(), &answer.for_judge(), keep_text)
        };
        SideResult { description: answer.and_then(describe), reply }
    };
    (seen(new), seen(old), verdict)
}
