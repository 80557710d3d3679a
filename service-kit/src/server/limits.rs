//! The limit of open files, which bounds connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::MAX_ADMIN_CONNECTIONS;
use super::clients::MAX_REFUSALS;

/// Files besides connections with a place: those of the admin listener, refused ones and ones that
/// are being closed; the log, the runtime, and what `/metrics` reads.
const OTHER_FILES: u64 = (MAX_ADMIN_CONNECTIONS + MAX_REFUSALS + 128) as u64;

/// As many connections as can be open at once, `wanted` at most. Raises this process' limit of open files
/// as far as it may.
pub fn connections_up_to(wanted: usize) -> usize {
    if allow_connections(wanted).is_ok() {
        return wanted;
    }
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let room = most.saturating_sub(OTHER_FILES).try_into().unwrap_or(usize::MAX);
    match allow_connections(room) {
        Ok(()) => room.max(1),
        Err(_) => 1,
    }
}

/// Makes sure that so many connections can be open at once: raises this process' limit of open files
/// as far as it must.
///
/// # Errors
/// What is wrong, if the limit cannot be raised so far.
pub fn allow_connections(connections: usize) -> Result<(), String> {
    let wanted = (connections as u64).saturating_add(OTHER_FILES);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).map_err(|_| {
        let most = limit.maximum.map_or("unknown".to_owned(), |most| most.to_string());
        format!("needs {wanted} open files, the limit is {most} (ulimit -Hn)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_possible_is_as_many_as_wanted_or_as_files_allow() {
        assert_eq!(connections_up_to(10), 10);
        let most = connections_up_to(usize::MAX);
        assert!(most >= 10 && allow_connections(most).is_ok());
    }
}
