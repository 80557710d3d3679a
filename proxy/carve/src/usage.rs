//! Wrong usage that only a command itself can see.

/// Its message names the argument. The program exits as for any other wrong argument.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);
