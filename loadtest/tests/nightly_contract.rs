//! A sample of the contract's cases on legacy-node with every generator. `carve`'s tests run all on the other servers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use anyhow::Context;
use contract::{Options, Target, case, run};
use loadtest::servers::cores::Cores;
use loadtest::servers::rows::Group;
use loadtest::servers::server::Server;

/// One of so many cases is asked.
const SAMPLE: usize = 5;
const GENERATORS: [&str; 7] =
    ["node", "node-tuned", "cli", "wasm", "wasm-raw", "native", "native-async"];

#[test]
fn the_contract_holds_with_every_generator() {
    let cores: Cores = "0".parse().unwrap();
    let cases: Vec<_> = case::all().unwrap().into_iter().step_by(SAMPLE).collect();
    let options = Options { served_by: vec!["legacy-node".to_owned()], ..Options::default() };
    for name in GENERATORS {
        let row = Group::Qrcode.rows().iter().find(|row| row.name == name).unwrap();
        let server = Server::start(row, &cores).context("run make bindings first").unwrap();
        let report = run(&Target::new(&server.url).unwrap(), &cases, &options);
        assert_eq!(report.counts(), (cases.len(), 0), "{name}: {report}");
    }
}
