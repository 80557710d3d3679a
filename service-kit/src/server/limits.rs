//! The limit of open files, which bounds connections.

use super::MAX_ADMIN_CONNECTIONS;

/// Files besides the public listener's connections: those of the admin listener, the log, the runtime, and what
/// `/metrics` reads.
const OTHER_FILES: u64 = MAX_ADMIN_CONNECTIONS as u64 + 128;

/// As many connections as can be open at once, `wanted` at most. Raises this process' limit of open files
/// as far as it may.
pub fn connections_up_to(wanted: usize) -> usize {
    let files = (wanted as u64).saturating_add(OTHER_FILES);
    // If it cannot be raised, it stays as it is.
    let limit = rlimit::increase_nofile_limit(files).unwrap_or(OTHER_FILES);
    usize::try_from(limit.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX).clamp(1, wanted)
}

/// Makes sure that so many connections can be open at once: raises this process' limit of open files
/// as far as it must.
///
/// # Errors
/// What is wrong, if the limit cannot be raised so far.
pub fn allow_connections(connections: usize) -> Result<(), String> {
    let most = connections_up_to(connections);
    if most == connections {
        return Ok(());
    }
    Err(format!("open files allow {most} at most (ulimit -Hn)"))
}
