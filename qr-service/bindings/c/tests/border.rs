//! `border.c` as C and as C++, with both libraries, under valgrind; and what the libraries show.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::PathBuf;

use support::{BOTH_WAYS, C99, CPP11, Linking, compile, folder, library_folder, succeed, tool};
use tempfile::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The program made of `border.c`, in a folder that ends with the value.
fn border(flags: &[&str], linking: Linking) -> (TempDir, PathBuf) {
    let temporary = TempDir::new().unwrap();
    let program = temporary.path().join("border");
    let version = format!("-DVERSION=\"{VERSION}\"");
    let flags = [flags, &["-g", "-pthread", &version]].concat();
    compile(&flags, &folder().join("tests/border.c"), linking, &program);
    (temporary, program)
}

fn holds_under_valgrind(flags: &[&str], valgrind_flags: &[&str]) {
    for linking in BOTH_WAYS {
        let (_temporary, program) = border(flags, linking);
        let mut valgrind = tool("valgrind");
        valgrind.args(["--quiet", "--error-exitcode=9"]).args(valgrind_flags);
        let said = succeed(valgrind.arg(program));
        assert_eq!(said, "all checks passed\n", "{linking:?}");
    }
}

/// Blocks that are reachable at the end count as lost too.
const NOTHING_LEFT: [&str; 3] =
    ["--leak-check=full", "--show-leak-kinds=all", "--errors-for-leak-kinds=all"];

#[test]
fn the_border_holds_in_c_without_an_error_or_a_leak() {
    holds_under_valgrind(&C99, &NOTHING_LEFT);
}

#[test]
fn the_border_holds_in_cpp_without_an_error_or_a_leak() {
    holds_under_valgrind(&CPP11, &NOTHING_LEFT);
}

#[test]
fn threads_share_nothing_that_they_write_to() {
    holds_under_valgrind(&C99, &["--tool=helgrind"]);
}

#[test]
fn the_shared_library_shows_the_functions_of_the_header_and_no_others() {
    let library = library_folder().join("libqr.so");
    let said = succeed(tool("nm").args(["--dynamic", "--defined-only", "-P"]).arg(library));
    let shown: Vec<&str> = said.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(shown, ["qr_error_message", "qr_png", "qr_version"]);
}

#[test]
fn programs_ask_for_the_library_by_its_major_version() {
    let (_temporary, program) = border(&C99, Linking::Shared);
    let said = succeed(tool("readelf").arg("--dynamic").arg(program));
    let wanted = format!("[libqr.so.{}]", env!("CARGO_PKG_VERSION_MAJOR"));
    assert!(said.contains(&wanted), "{said}");
}

#[test]
fn a_program_with_the_static_library_needs_no_other() {
    let (_temporary, program) = border(&C99, Linking::Static);
    let said = succeed(tool("readelf").arg("--dynamic").arg(program));
    assert!(!said.contains("libqr"), "{said}");
}

#[test]
fn pkg_config_knows_the_version() {
    assert_eq!(support::pkg_config(&["--modversion"]), [VERSION]);
}
