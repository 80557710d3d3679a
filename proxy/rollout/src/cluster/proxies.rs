//! The proxies' admin listeners, found by a DNS name that resolves to each of them.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};

use crate::files;
use crate::split::{ServedRoute, Split};
use crate::traffic::{Patience, Traffic, agreed, is_stopped, late, routes, served};

/// How long a change may take. The proxies' name resolves to a deleted proxy for some seconds, which does not answer.
pub(super) const PATIENCE: Patience =
    Patience { total: Duration::from_secs(60), pause: Duration::from_millis(250) };
/// How long DNS may take if it has answered before.
const LOOKUP: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(super) struct Proxies {
    name: String,
    /// The file of the last addresses from DNS.
    file: PathBuf,
    /// Whether DNS did not answer in time. Later lookups then do not wait for it, since each would delay a rollback by
    /// a second.
    is_dns_away: Arc<AtomicBool>,
}

impl Proxies {
    pub(super) fn new(name: String, folder: PathBuf) -> Self {
        Proxies { name, file: folder.join("proxies"), is_dns_away: Arc::default() }
    }

    /// The proxies' addresses. While DNS does not answer, the last known ones, since a rollback must not depend on DNS.
    /// Fails if none are known and DNS gives none.
    pub(super) fn addresses(&self) -> anyhow::Result<Vec<SocketAddr>> {
        let known = self.known();
        let (sender, receiver) = mpsc::channel();
        let this = self.clone();
        // On a thread that may be left behind: a resolver may try for half a minute.
        thread::spawn(move || sender.send(this.look_up()));
        if known.is_empty() {
            let found = receiver.recv()?.with_context(|| self.name.clone())?;
            ensure!(!found.is_empty(), "{} resolves to no proxy", self.name);
            return Ok(found);
        }
        let patience =
            if self.is_dns_away.load(Ordering::Relaxed) { Duration::ZERO } else { LOOKUP };
        let found = receiver.recv_timeout(patience).ok().and_then(Result::ok).unwrap_or_default();
        self.is_dns_away.store(found.is_empty(), Ordering::Relaxed);
        Ok(if found.is_empty() { known } else { found })
    }

    /// Asks DNS, and stores the addresses in the file.
    fn look_up(&self) -> io::Result<Vec<SocketAddr>> {
        let mut found: Vec<SocketAddr> = self.name.to_socket_addrs()?.collect();
        found.sort_unstable();
        found.dedup();
        if !found.is_empty() && found != self.known() {
            let lines: Vec<String> = found.iter().map(SocketAddr::to_string).collect();
            // Only later commands need the file, so a full disk does not matter here.
            let _ = files::replace(&self.file, &lines.join("\n"));
        }
        self.is_dns_away.store(false, Ordering::Relaxed);
        Ok(found)
    }

    /// Asks all proxies at once and returns the first success, so that a rollback does not wait for a proxy that is
    /// gone. Fails with the last error if none succeeds.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        question: impl Fn(SocketAddr) -> anyhow::Result<T> + Clone + Send + 'static,
    ) -> anyhow::Result<T> {
        let (sender, receiver) = mpsc::channel();
        for proxy in self.addresses()? {
            let (sender, question) = (sender.clone(), question.clone());
            thread::spawn(move || sender.send(question(proxy)));
        }
        drop(sender);
        let mut outcome = Err(anyhow!("no proxy"));
        for answer in receiver {
            outcome = answer;
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    fn known(&self) -> Vec<SocketAddr> {
        let text = files::read(&self.file).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

/// All proxies as the traffic of a route. The `carve follow` beside each of them checks and reloads its nginx.
#[derive(Debug)]
pub(super) struct ProxiesOf {
    pub(super) proxies: Proxies,
    pub(super) route: String,
}

impl Traffic for ProxiesOf {
    fn apply(
        &self,
        split: &Split,
        interrupted: &AtomicBool,
        reached: &mut bool,
    ) -> anyhow::Result<()> {
        *reached = true;
        PATIENCE.wait_for_split(self, split, interrupted, late("nginx"))
    }

    fn served(&self) -> anyhow::Result<Split> {
        let all = self.proxies.addresses()?.into_iter();
        agreed(all.map(|proxy| Ok((served(proxy, &self.route)?, proxy.to_string()))))?
            .context("no proxy")
    }

    fn stop(&self) -> anyhow::Result<()> {
        PATIENCE.wait_for_stop(|| {
            let mut all = self.proxies.addresses()?.into_iter();
            all.try_fold(true, |so_far, proxy| Ok(so_far && is_stopped(proxy, &self.route)?))
        })
    }

    fn routes(&self) -> anyhow::Result<Vec<ServedRoute>> {
        self.proxies.ask(routes)
    }
}
