//! The contract suite against a real stack: each side alone, and the proxy at several splits.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use contract::{Options, Target, case, run};
use stack::Share;

fn check(base: &str, options: &Options) {
    let cases = case::all().unwrap();
    let report = run(&Target::new(base).unwrap(), &cases, options);
    assert_eq!(report.counts(), (cases.len(), 0), "{report}");
}

#[test]
fn the_contract_holds_for_each_side_and_for_the_proxy_at_every_split() {
    let stack = support::start(&stack::Options::default());
    let options = Options::default();
    check(&format!("http://{}", stack.settings().addresses.new), &options);
    check(&format!("http://{}", stack.settings().addresses.old), &options);
    for percent in [100, 50, 0] {
        stack.set_split("qrcode", Share::percent(percent).unwrap()).unwrap();
        check(&stack.url(), &options);
    }
}

#[test]
fn the_reference_engine_and_a_cluster_keep_the_contract() {
    let stack = support::start(&stack::Options {
        engine: Some("reference".to_owned()),
        old_workers: 2,
        ..stack::Options::default()
    });
    let options = Options { reference_engine: true, ..Options::default() };
    check(&format!("http://{}", stack.settings().addresses.new), &options);
    check(&format!("http://{}", stack.settings().addresses.old), &Options::default());
}
