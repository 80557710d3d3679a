//! Routes of sessions: plays sessions of clients again, on both sides, and compares what each half sees.
//!
//! A mirror can't copy a session: its halves belong together, and its body streams. So each side describes the
//! sessions that have ended, without key or content (`/sessions` on its admin listener). The shadow looks once a
//! second, and plays a few of those that it has not seen, with random keys and content of its own. Its requests
//! carry the shadow's mark, so the sides neither count nor describe them, and none is ever played twice.

mod compare;
mod described;
mod half;
mod play;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use route::BaseUrl;
use serde::Serialize;
use tokio::time::{MissedTickBehavior, interval};

use crate::metrics::Metrics;
use crate::queue::Pace;
use crate::record::Kept;
use crate::verdict::Outcome;
pub(crate) use compare::KINDS;
use described::{Described, Seen};
pub(crate) use play::Played;
use play::{Admin, Side, play};

/// Sessions that wait to be played, chosen at random.
const MAX_WAITING: usize = 64;
/// Time between two looks at the sides.
const LOOK: Duration = Duration::from_secs(1);

/// A route whose sessions are played again.
#[derive(Clone, Debug)]
pub(crate) struct Replayed {
    pub(crate) name: Arc<str>,
    new: (BaseUrl, BaseUrl),
    old: (BaseUrl, BaseUrl),
    /// The path below which keys are.
    prefix: String,
}

impl Replayed {
    /// `None` if the route is none of sessions, or its sides do not say where they describe theirs.
    pub(crate) fn of(route: &route::Route) -> Option<Self> {
        let addresses =
            |side: &route::Side| Some((side.url.as_ref()?.tcp()?.clone(), side.admin.clone()?));
        let (new, old) = (addresses(&route.file.new)?, addresses(&route.file.old)?);
        let prefix = route.file.path.to_string().trim_end_matches('*').to_owned();
        let name = Arc::from(route.name.as_str());
        route.is_session().then_some(Replayed { name, new, old, prefix })
    }
}

/// What became of a session on both sides.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub(crate) outcome: Outcome,
    /// What differs.
    pub(crate) kind: Option<&'static str>,
    pub(crate) new: Played,
    pub(crate) old: Played,
}

/// A session as `/mismatches` shows it. There is nothing of a client in it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Record {
    /// When it was played, RFC 3339.
    time: String,
    route: String,
    result: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// As a side described it, and as it was played.
    session: Described,
    played_bytes: u64,
    new: play::Shown,
    old: play::Shown,
}

/// Plays sessions of a route until the process ends.
pub(crate) async fn run(
    route: Replayed,
    pace: Pace,
    limit: Duration,
    (metrics, kept): (Arc<Metrics>, Arc<Kept>),
) {
    let admin = Admin::new();
    let mut seen = [Seen::default(), Seen::default()];
    let mut waiting = Vec::new();
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let look = Instant::now();
        for (seen, (_, address)) in seen.iter_mut().zip([&route.new, &route.old]) {
            match admin.sessions(address, LOOK).await {
                Ok(text) => waiting.extend(seen.take(&text)),
                // The side may be down, which gates and alerts see elsewhere.
                Err(error) => tracing::debug!(route = &*route.name, error, "no sessions"),
            }
        }
        fastrand::shuffle(&mut waiting);
        waiting.truncate(MAX_WAITING);
        for _ in 0..pace.max_per_second {
            let Some(session) = waiting.pop() else { break };
            one(&route, &session, limit, &admin, (&metrics, &kept)).await;
            if look.elapsed() >= LOOK {
                break; // there may be newer ones
            }
        }
    }
}

/// Plays one session on both sides, one after the other in random order.
async fn one(
    route: &Replayed,
    session: &Described,
    limit: Duration,
    admin: &Admin,
    (metrics, kept): (&Metrics, &Kept),
) {
    let time = SystemTime::now();
    let plan = session.plan();
    let side = |(url, address): &(BaseUrl, BaseUrl)| Side {
        url: url.clone(),
        admin: address.clone(),
        prefix: route.prefix.clone(),
    };
    let (new, old) = (side(&route.new), side(&route.old));
    let (new, old) = if fastrand::bool() {
        let new = play(&new, &plan, limit, admin).await;
        (new, play(&old, &plan, limit, admin).await)
    } else {
        let old = play(&old, &plan, limit, admin).await;
        (play(&new, &plan, limit, admin).await, old)
    };
    let (outcome, kind) = compare::compare(&new, &old);
    let result = Compared { outcome, kind, new, old };
    metrics.observe_session(&route.name, &result);
    if matches!(outcome, Outcome::Match | Outcome::Skipped) {
        return;
    }
    tracing::warn!(route = &*route.name, result = outcome.as_str(), kind, "no match");
    kept.keep_session(
        outcome,
        Record {
            time: humantime::format_rfc3339_millis(time).to_string(),
            route: route.name.to_string(),
            result: outcome,
            kind,
            session: session.clone(),
            played_bytes: plan.bytes,
            new: result.new.shown(),
            old: result.old.shown(),
        },
    );
}
