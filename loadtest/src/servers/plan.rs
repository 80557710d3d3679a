//! How the rows of the ladder are measured, and their figures.

use std::collections::BTreeMap;

use crate::servers::cores::Cores;
use crate::servers::rows::Group;

/// How long and with what load each row is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) group: Group,
    /// Over all rows.
    pub(crate) rounds: usize,
    pub(crate) warm_up_seconds: u64,
    /// Seconds of load as fast as the server answers; for a relay, of each transfer.
    pub(crate) closed_seconds: u64,
    /// Seconds at each of the two fixed rates.
    pub(crate) open_seconds: u64,
    /// Requests whose instructions are counted.
    pub(crate) counted: u64,
    pub(crate) connections: usize,
    pub(crate) server_cores: Cores,
    /// Cores of the clients.
    pub(crate) load_cores: Cores,
}

impl Plan {
    /// A plan with this many concurrent connections, servers on the first cores and clients on the second. Without
    /// `rounds`, it has three, or one if it is quick or counts instructions, which do not vary.
    pub fn new(
        group: Group,
        is_quick: bool,
        rounds: Option<usize>,
        connections: usize,
        [server_cores, load_cores]: [Cores; 2],
    ) -> Self {
        let seconds = |full, short| if is_quick { short } else { full };
        Plan {
            group,
            rounds: rounds.unwrap_or(if is_quick || group == Group::Nginx { 1 } else { 3 }).max(1),
            // Java compiles hot code on the same core, which takes a while.
            warm_up_seconds: if group == Group::Languages { 10 } else { seconds(2, 1) },
            closed_seconds: if group == Group::Relay { seconds(2, 1) } else { seconds(6, 2) },
            open_seconds: seconds(8, 2),
            counted: seconds(2000, 320),
            connections: connections.max(1),
            server_cores,
            load_cores,
        }
    }
}

/// A row's figures in a round, by name.
pub type Figures = BTreeMap<&'static str, f64>;
