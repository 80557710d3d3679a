//! The contract suite on legacy-node with every generator. `stack`'s tests run it on the other rows.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use anyhow::Context;
use contract::{Options, Target, case, run};
use loadtest::rows::{ROWS, Way};
use loadtest::server::{Cores, Server};

#[test]
fn the_contract_holds_with_every_generator() {
    let cores: Cores = "0".parse().unwrap();
    let cases = case::all().unwrap();
    let options = Options { served_by: vec!["legacy-node".to_owned()], ..Options::default() };
    for row in ROWS.iter().filter(|row| matches!(row.way, Way::LegacyNode { .. })) {
        let server = Server::start(row, &cores).context("run make rungs first").unwrap();
        let report = run(&Target::new(&server.url).unwrap(), &cases, &options);
        assert_eq!(report.counts(), (cases.len(), 0), "{}: {report}", row.name);
    }
}
