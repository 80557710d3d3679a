//! Wrong usage that only a command itself can see.

use std::error::Error;
use std::fmt;

/// Its message names the argument. The program exits as for any other wrong argument.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}
