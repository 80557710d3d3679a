//! A sample of the contract's cases on legacy-node with every generator, and on the rungs in other languages. `carve`'s
//! tests run all on the other servers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use anyhow::Context;
use contract::{Options, Target, case, run};
use loadtest::servers::cores::Cores;
use loadtest::servers::rows::Group;
use loadtest::servers::server::Server;

/// One in this many cases is played.
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

/// One or two cases of each kind that no server refuses before its handler sees them, and for which no language's
/// library needs a larger version.
const TEN: [&str; 10] = [
    "raw-link",
    "plus-is-a-space",
    "every-byte-escaped",
    "no-query",
    "text-twice",
    "bad-utf8-ff",
    "too-long-513-bytes-in-171-characters",
    "method-post",
    "head",
    "if-none-match-same",
];

#[test]
fn every_rung_in_other_languages_answers_ten_cases() {
    let cores: Cores = "0".parse().unwrap();
    let cases = case::all().unwrap().into_iter();
    let cases: Vec<_> = cases.filter(|case| TEN.contains(&case.name.as_str())).collect();
    assert_eq!(cases.len(), TEN.len());
    for row in Group::Languages.rows().iter().filter(|row| row.name != "qr-service") {
        let server = Server::start(row, &cores).context("run make setup-languages first").unwrap();
        let report = run(&Target::new(&server.url).unwrap(), &cases, &Options::default());
        assert_eq!(report.counts(), (cases.len(), 0), "{}: {report}", row.name);
    }
}
