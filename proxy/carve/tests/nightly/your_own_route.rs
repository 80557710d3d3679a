//! Runs the commands of `docs/your-own-route.md` and `docs/when-it-says-no.md` as written, and checks that they print
//! what the guides show: the start, the answers of `carve compare`, the ramp to 100 %, and each refusal.
//!
//! Differences from a person's shell: those of [`Shell`], and steps that are held for 5 s and wait up to three minutes
//! for data. In so short a time one stall of the machine determines the 99th percentile, so that gate has a margin.

use std::fs;

use service_kit::testing::repository;

use super::guide::{blocks, follow};
use super::shell::Shell;

/// Adapts the guide's commands to this shell's ports and folders, and shortens the steps. The two servers get the ports
/// of the sides, which `make up` does not start here.
fn here(shell: &Shell, commands: &str) -> String {
    let at = &shell.addresses;
    let routes = shell.folder.path().join("routes");
    let mut commands = commands.replace("/tmp/report-routes", &routes.display().to_string());
    for (port, address) in [
        ("4000", at.of("old")),
        ("4001", at.of("new")),
        ("8080", at.proxy),
        // The relay's port; the relay is not started here.
        ("8443", at.of("relay")),
        ("42081", at.shadow_admin),
    ] {
        commands = commands.replace(port, &address.port().to_string());
    }
    let timeout = "new.timeout = \"3s\"\n";
    commands.replace("--hold 30s", "--hold 5s --patience 180s").replace(
        timeout,
        &format!("{timeout}gates.failures.proof = 0.05\ngates.pair-failures.proof = 0.2\n"),
    )
}

#[test]
fn the_guide_does_and_prints_what_it_says() {
    let read = |page| fs::read_to_string(repository().join(page)).unwrap();
    let text = ["docs/your-own-route.md", "docs/when-it-says-no.md"].map(read).concat();
    let blocks = blocks(&text);
    let commands: String = blocks.iter().map(|block| block.commands.as_str()).collect();
    let mut shell = Shell::new();
    for replaced in
        ["/tmp/report-routes", "--hold 30s", "new.timeout = \"3s\"\n", "4000", "8443", "42081"]
    {
        assert!(commands.contains(replaced), "the guide has no {replaced} to replace");
    }
    follow(&mut shell, &blocks, here);
}
