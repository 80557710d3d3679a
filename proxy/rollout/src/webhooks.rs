//! Posts the events of a run as JSON to each webhook.
//!
//! Each webhook has a thread and a bounded queue, so a rollback never waits for one. An event that finds the queue
//! full, or that the webhook still refuses after all tries, is dropped and reported on stderr.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anstream::eprintln;
use anyhow::{Context, anyhow, ensure};
use route::Share;
use serde::Serialize;
use serde_json::json;

use crate::http;

const TIMEOUT: Duration = Duration::from_secs(5);
/// The pauses before each further try, in seconds.
const RETRIES: [u64; 5] = [1, 2, 4, 8, 16];
const WAITING: usize = 64;
/// How long a command waits at its end for its events to be delivered.
const LAST_WORDS: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);

/// A webhook: `URL`, or `slack:URL` for Slack's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    url: String,
    is_slack: bool,
}

impl FromStr for Webhook {
    type Err = anyhow::Error;

    /// The URL of a webhook is often its only secret, so no error names it.
    fn from_str(text: &str) -> anyhow::Result<Self> {
        let of_slack = text.strip_prefix("slack:");
        let url = of_slack.unwrap_or(text);
        let is_https = url.starts_with("https://");
        ensure!(
            is_https || url.starts_with("http://"),
            "a webhook must be http://..., https://..., or slack: before one of them"
        );
        ensure!(
            !is_https || cfg!(feature = "tls"),
            "a webhook is https://, but this program was built without TLS"
        );
        Ok(Webhook { url: url.to_owned(), is_slack: of_slack.is_some() })
    }
}

/// An event of a run, or a rollback by hand.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Event {
    /// When it happened, as RFC 3339.
    pub(crate) time: String,
    /// `begin`, `step`, `waiting`, `rollback` or `end`.
    pub(crate) event: &'static str,
    pub(crate) route: String,
    /// The run; empty for a rollback by hand.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) run: String,
    /// The run's phase.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) phase: &'static str,
    /// The new side's share now.
    pub(crate) share_percent: Share,
    /// Who started the run, or asked for the event.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) actor: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) reason: String,
    /// The event in words.
    pub(crate) text: String,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (route, share) = (&self.route, self.share_percent);
        let what = match self.event {
            "begin" => "a run begins",
            "step" => "the next step",
            "waiting" => "the step waits for more data",
            "rollback" => "every request goes to the old side",
            _ => self.phase,
        };
        write!(f, "{route}: {}, {share}% on the new side", what.replace('_', " "))?;
        let more = [(&self.actor, "by"), (&self.reason, "because:")];
        for (said, word) in more.into_iter().filter(|(said, _)| !said.is_empty()) {
            write!(f, "; {word} {said}")?;
        }
        Ok(())
    }
}

/// The webhooks of a process.
#[derive(Clone, Debug, Default)]
pub struct Webhooks {
    /// The queue of each webhook, and whether it takes Slack's format.
    queues: Vec<(SyncSender<String>, bool)>,
    /// The number of events not delivered yet.
    pending: Arc<AtomicUsize>,
}

impl Webhooks {
    /// Starts a thread for each webhook.
    pub fn start(all: &[Webhook]) -> Self {
        let mut webhooks = Webhooks::default();
        for webhook in all {
            let (sender, receiver) = sync_channel(WAITING);
            let (url, pending) = (webhook.url.clone(), Arc::clone(&webhooks.pending));
            // Never joined, since it may be waiting for its server. It ends with the process.
            thread::spawn(move || deliver(&url, &receiver, &pending, thread::sleep));
            webhooks.queues.push((sender, webhook.is_slack));
        }
        webhooks
    }

    /// Queues an event for every webhook. Does not wait.
    pub(crate) fn tell(&self, mut event: Event) {
        event.text = event.to_string();
        for (queue, is_slack) in &self.queues {
            let body = match is_slack {
                true => json!({ "text": event.text }).to_string(),
                false => serde_json::to_string(&event).unwrap_or_default(),
            };
            self.pending.fetch_add(1, Ordering::Relaxed);
            if queue.try_send(body).is_err() {
                self.pending.fetch_sub(1, Ordering::Relaxed);
                eprintln!("carve: a webhook is too slow, so this event is dropped: {event}");
            }
        }
    }

    /// Waits a few seconds for all events to be delivered.
    pub fn finish(&self) {
        let deadline = Instant::now() + LAST_WORDS;
        while self.pending.load(Ordering::Relaxed) > 0 && Instant::now() < deadline {
            thread::sleep(POLL);
        }
    }
}

fn deliver(
    url: &str,
    bodies: &Receiver<String>,
    pending: &AtomicUsize,
    mut pause: impl FnMut(Duration),
) {
    for body in bodies {
        let mut waits = RETRIES.into_iter();
        while let Err((problem, is_for_now)) = post(url, &body) {
            let Some(wait) = waits.next().filter(|_| is_for_now) else {
                eprintln!("carve: an event could not be posted to a webhook: {problem:#}");
                break;
            };
            pause(Duration::from_secs(wait));
        }
        pending.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Posts an event. An error says whether a later try may succeed.
fn post(url: &str, body: &str) -> Result<(), (anyhow::Error, bool)> {
    match http::post(url, body, TIMEOUT).context("it does not answer") {
        Ok(200..300) => Ok(()),
        Ok(status) => Err((anyhow!("it answers {status}"), matches!(status, 408 | 429 | 500..))),
        Err(problem) => Err((problem, true)),
    }
}

#[cfg(test)]
mod tests;
