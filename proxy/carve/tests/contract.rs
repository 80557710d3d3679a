//! Runs the contract suite against a real stack: against each side alone, and against the proxy at several splits.

use carve::local::Share;
use contract::{Options, Target, case, run};

use crate::support;

/// Options by which the answer must name one of these servers.
fn by(names: &[&str]) -> Options {
    let served_by = names.iter().map(|&name| name.to_owned()).collect();
    Options { served_by, ..Options::default() }
}

fn check(base: &str, options: &Options) {
    let cases = case::all().unwrap();
    let report = run(&Target::new(base).unwrap(), &cases, options);
    assert_eq!(report.counts(), (cases.len(), 0), "{report}");
}

#[test]
fn the_contract_holds_for_the_old_side_and_at_half() {
    let stack = support::start(|it| it.wanted.share = Some(Share::percent(50).unwrap()));
    check(&format!("http://{}", stack.settings().addresses.of("old")), &by(&["legacy-node"]));
    check(&stack.url(), &by(&["qr-service", "legacy-node"]));
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn the_contract_holds_for_each_side_alone_and_behind_the_proxy() {
        let stack = support::start(|_| {});
        let at = &stack.settings().addresses;
        check(&format!("http://{}", at.of("new")), &by(&["qr-service"]));
        check(&stack.url(), &by(&["qr-service"]));
        stack.set_split("qrcode", Share::NONE).unwrap();
        check(&stack.url(), &by(&["legacy-node"]));
    }

    #[test]
    fn the_reference_engine_and_a_cluster_keep_the_contract() {
        let stack = support::start(|it| {
            support::set(it, "engine", "reference");
            support::set(it, "old_workers", "2");
        });
        let options = Options { reference_engine: true, ..by(&["qr-service"]) };
        check(&format!("http://{}", stack.settings().addresses.of("new")), &options);
        check(&format!("http://{}", stack.settings().addresses.of("old")), &by(&["legacy-node"]));
    }
}
