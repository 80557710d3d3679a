//! `/verdict` of `carve serve`: what the judge says of a route, for a program that moves the traffic itself, such as Argo
//! Rollouts or Flagger.
//!
//! | path | answer |
//! | --- | --- |
//! | `/verdict?route=R` | 200 and the verdict as JSON: `pass`, `wait` or `fail` |
//! | `/verdict/pass?route=R`, `/verdict/fail?route=R` | 200 if that is the verdict, else 409, and the reason as text |
//!
//! The judge looks at the time since `since=TIME` or, in a webhook of Flagger, since its `checksum` first came; else at
//! the last ten minutes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use evidence::gates::Quantity;
use evidence::{Judgement, Verdict};
use parking_lot::Mutex;
use rollout::cluster::Cluster;
use rollout::{Prometheus, Share, judge};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

/// How far back the judge looks if nothing says since when.
const PAST: Duration = Duration::from_secs(600);
/// The most webhooks' checksums whose time is kept.
const MAX_KNOWN: usize = 1000;

/// How often the gauge of the verdicts is set.
const EVERY: Duration = Duration::from_secs(5);

/// What a verdict is made from.
pub(super) struct Inputs {
    /// The folder of the routes' copies.
    pub(super) dir: PathBuf,
    pub(super) cluster: Cluster,
    pub(super) prometheus: Prometheus,
    /// When each checksum first came.
    pub(super) begun: Mutex<BTreeMap<String, SystemTime>>,
}

/// The verdicts as Prometheus reads them: `carve_verdict` by route, 1 for pass, 0 for wait, -1 for fail.
pub(super) fn gauge(inputs: Arc<Inputs>) -> Arc<Mutex<String>> {
    let gauge = Arc::<Mutex<String>>::default();
    let text = Arc::clone(&gauge);
    // Never joined: Prometheus may hang. Ends with the process.
    thread::spawn(move || {
        loop {
            let began = Instant::now();
            let mut said = "# HELP carve_verdict The judge on the last ten minutes: 1 pass, 0 wait, -1 fail.\n\
                # TYPE carve_verdict gauge\n"
                .to_owned();
            for route in rollout::prepared(&inputs.dir) {
                let value = inputs.judge_past(&route, PAST).map(|(_, it)| match it.verdict {
                    Verdict::Pass => 1,
                    Verdict::Inconclusive => 0,
                    Verdict::Fail => -1,
                });
                if let Ok(value) = value {
                    said += &format!("carve_verdict{{route=\"{route}\"}} {value}\n");
                }
            }
            *text.lock() = said;
            // However many routes there are, Prometheus has most of the time for others.
            thread::sleep(EVERY.max(9 * began.elapsed()));
        }
    });
    gauge
}

/// The routes of the admin listener.
pub(super) fn routes(desk: Arc<Inputs>) -> Router {
    let wanted = |wanted: Verdict| {
        async move |desk, asked: RawQuery, body| match ask(desk, asked, body).await {
            Ok((_, _, judgement)) => {
                let is_it = judgement.verdict == wanted;
                let status = if is_it { StatusCode::OK } else { StatusCode::CONFLICT };
                (status, reason(&judgement)).into_response()
            }
            Err(problem) => wrong(&problem),
        }
    };
    let whole = async |desk, asked: RawQuery, body| match ask(desk, asked, body).await {
        Ok((route, share, judgement)) => shown(&route, share, &judgement),
        Err(problem) => wrong(&problem),
    };
    Router::new()
        .route("/verdict", any(whole))
        .route("/verdict/pass", any(wanted(Verdict::Pass)))
        .route("/verdict/fail", any(wanted(Verdict::Fail)))
        .with_state(desk)
}

/// Judges the route that a request names. The judge waits for Prometheus, so it has a thread of its own.
async fn ask(
    State(desk): State<Arc<Inputs>>,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> anyhow::Result<(String, Share, Judgement)> {
    spawn_blocking(move || desk.judge(&query.unwrap_or_default(), &body)).await?
}

impl Inputs {
    fn judge(&self, query: &str, body: &[u8]) -> anyhow::Result<(String, Share, Judgement)> {
        let asked = |name| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(it, _)| *it == name).map(|(_, value)| value)
        };
        let route = asked("route").context("which route? /verdict?route=NAME")?;
        let known = rollout::prepared(&self.dir);
        let listed = known.join(", ");
        ensure!(
            known.iter().any(|it| it == route),
            "there is no route {route:?}; the routes are {listed}"
        );
        let since = match asked("since") {
            Some(time) => {
                let time = time.replace("%3A", ":"); // as some clients encode it
                humantime::parse_rfc3339_weak(&time).with_context(|| format!("since: {time:?}"))?
            }
            None => self.since(route, body),
        };
        let past = SystemTime::now().duration_since(since).context("since: it is in the future")?;
        let (share, judgement) = self.judge_past(route, past.max(Duration::from_secs(1)))?;
        Ok((route.to_owned(), share, judgement))
    }

    /// The share of a known route, and what the judge says of the last `past`.
    fn judge_past(&self, route: &str, past: Duration) -> anyhow::Result<(Share, Judgement)> {
        let nginx = self.cluster.nginx(&self.dir, route);
        let split = rollout::current(&nginx.route_dir())?;
        let mut gates = judge::gates(None, &nginx.route_file()?)?;
        if split.share_percent == Share::NONE {
            // Then others move the traffic, and their shares are not known here.
            gates.tests.retain(|test| test.counts != Quantity::SampleRatio);
        }
        let judgement = judge::judge_past(&gates, &self.prometheus, route, &split, past);
        Ok((split.share_percent, judgement))
    }

    /// Since when to judge: since a webhook's checksum first came, else since [`PAST`].
    fn since(&self, route: &str, body: &[u8]) -> SystemTime {
        let now = SystemTime::now();
        let hook: Value = serde_json::from_slice(body).unwrap_or_default();
        let Some(checksum) = hook["checksum"].as_str() else { return now - PAST };
        let mut begun = self.begun.lock();
        if begun.len() >= MAX_KNOWN {
            begun.clear();
        }
        *begun.entry(format!("{route} {checksum}")).or_insert(now)
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Inconclusive => "wait",
    }
}

/// The readings that decide.
fn reason(judgement: &Judgement) -> String {
    match judgement.verdict {
        Verdict::Pass => "every gate and test passes".to_owned(),
        verdict => judgement.named(verdict),
    }
}

fn shown(route: &str, share: Share, judgement: &Judgement) -> Response {
    let gate = |reading: &evidence::Reading| {
        let mut gate = serde_json::to_value(reading).unwrap_or_default();
        gate["verdict"] = word(reading.verdict).into();
        gate
    };
    let gates: Vec<Value> = judgement.readings.iter().map(gate).collect();
    let body = json!({ "route": route, "verdict": word(judgement.verdict), "reason": reason(judgement),
        "share": share, "gates": gates });
    ([(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// A request that names no route, or a route whose files cannot be read.
fn wrong(problem: &anyhow::Error) -> Response {
    (StatusCode::BAD_REQUEST, format!("{problem:#}\n")).into_response()
}
