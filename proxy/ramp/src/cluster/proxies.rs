//! The proxies' admin listeners, by a name that resolves to each of them.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::files;

/// How long DNS may take if it has answered before.
const LOOKUP: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(super) struct Proxies {
    name: String,
    /// The addresses that DNS gave last to a process with this folder.
    file: PathBuf,
}

impl Proxies {
    pub(super) fn new(name: String, folder: PathBuf) -> Self {
        Proxies { name, file: folder.join("proxies") }
    }

    /// Their addresses; those from before while DNS does not answer, as the way back must not need it.
    pub(super) fn addresses(&self) -> anyhow::Result<Vec<SocketAddr>> {
        let known = self.known();
        let (sender, receiver) = mpsc::channel();
        let name = self.name.clone();
        // A thread of its own, left behind: a resolver may try for half a minute.
        thread::spawn(move || {
            let found = name.to_socket_addrs().map(Iterator::collect);
            let _ = sender.send(found);
        });
        let found: io::Result<Vec<_>> = match known.is_empty() {
            true => receiver.recv()?,
            false => receiver.recv_timeout(LOOKUP).unwrap_or_else(|_| Ok(Vec::new())),
        };
        let mut found = match found {
            Err(problem) if known.is_empty() => {
                return Err(problem).with_context(|| self.name.clone());
            }
            found => found.unwrap_or_default(),
        };
        found.sort_unstable();
        found.dedup();
        match (found.is_empty(), known.is_empty()) {
            (true, true) => bail!("{} resolves to no proxy", self.name),
            (true, false) => return Ok(known),
            (false, _) if found == known => {}
            (false, _) => {
                let lines: Vec<String> = found.iter().map(SocketAddr::to_string).collect();
                // Only for later: this command has what it needs, also on a full disk.
                let _ = files::replace(&self.file, &lines.join("\n"));
            }
        }
        Ok(found)
    }

    fn known(&self) -> Vec<SocketAddr> {
        let text = files::read(&self.file).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }
}
