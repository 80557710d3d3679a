//! nginx takes every row's files. What they cost is measured by `make way`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use loadtest::way::{Place, Way};
use stack::settings::repository;

#[test]
fn nginx_takes_the_files_of_each_row_and_no_two_rows_have_the_same() {
    let place = Place::new(&repository().join("proxy")).unwrap();
    let mut seen = BTreeSet::new();
    for way in Way::all().into_iter().filter(|way| !matches!(way, Way::Instead(_))) {
        let folder = place.write(way).unwrap();
        let files = ["nginx.conf", "locations.conf", "routes.conf", "upstreams.conf"];
        let text: String =
            files.map(|file| fs::read_to_string(folder.join(file)).unwrap_or_default()).concat();
        assert!(seen.insert(text), "{}: its part is still there", way.name());
        let mut nginx = Command::new("nginx");
        nginx.args(["-e", "stderr", "-t", "-q", "-p"]).arg(&folder);
        let output = nginx.arg("-c").arg(folder.join("nginx.conf")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{}: {said}", way.name());
    }
}
