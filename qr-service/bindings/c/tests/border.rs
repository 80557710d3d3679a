//! Runs `border.c` as C and C++ with both libraries under valgrind; checks the libraries' symbols.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::PathBuf;

use support::{BOTH_WAYS, C99, CPP11, Linking, compile, folder, library_folder, succeed, tool};
use tempfile::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Compiles `border.c`. Dropping the folder deletes the program.
fn border(flags: &[&str], linking: Linking) -> (TempDir, PathBuf) {
    let temporary = TempDir::new().unwrap();
    let program = temporary.path().join("border");
    let version = format!("-DVERSION=\"{VERSION}\"");
    let flags = [flags, &["-g", "-pthread", &version]].concat();
    compile(&flags, &folder().join("tests/border.c"), linking, &program);
    (temporary, program)
}

#[test]
fn the_shared_library_exports_only_the_functions_of_the_header() {
    let library = library_folder().join("libqr.so");
    let said = succeed(tool("nm").args(["--dynamic", "--defined-only", "-P"]).arg(library));
    let exported: Vec<&str> = said.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(exported, ["qr_draw", "qr_error_message", "qr_png", "qr_version"]);
}

#[test]
fn programs_need_the_library_with_its_major_version() {
    let (_temporary, program) = border(&C99, Linking::Shared);
    let said = succeed(tool("readelf").arg("--dynamic").arg(program));
    let wanted = format!("[libqr.so.{}]", env!("CARGO_PKG_VERSION_MAJOR"));
    assert!(said.contains(&wanted), "{said}");
}

#[test]
fn a_program_with_the_static_library_does_not_need_the_shared_one() {
    let (_temporary, program) = border(&C99, Linking::Static);
    let said = succeed(tool("readelf").arg("--dynamic").arg(program));
    assert!(!said.contains("libqr"), "{said}");
}

#[test]
fn pkg_config_knows_the_version() {
    assert_eq!(support::pkg_config(&["--modversion"]), [VERSION]);
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    /// Counts blocks that are still reachable at the end as leaks too.
    const NOTHING_LEFT: [&str; 3] =
        ["--leak-check=full", "--show-leak-kinds=all", "--errors-for-leak-kinds=all"];
    /// Counts all leaks but those, for `qr_draw`, which keeps the definition of the options.
    const NOTHING_LOST: [&str; 2] =
        ["--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible"];

    fn passes_under_valgrind(flags: &[&str], valgrind_flags: &[&str], arguments: &[&str]) {
        for linking in BOTH_WAYS {
            let (_temporary, program) = border(flags, linking);
            let mut valgrind = tool("valgrind");
            valgrind.args(["--quiet", "--error-exitcode=9"]).args(valgrind_flags);
            let said = succeed(valgrind.arg(program).args(arguments));
            assert_eq!(said, "all checks passed\n", "{linking:?}");
        }
    }

    #[test]
    fn the_interface_works_from_c_without_an_error_or_a_leak() {
        passes_under_valgrind(&C99, &NOTHING_LEFT, &[]);
        passes_under_valgrind(&C99, &NOTHING_LOST, &["qr_draw"]);
    }

    #[test]
    fn the_interface_works_from_cpp_without_an_error_or_a_leak() {
        passes_under_valgrind(&CPP11, &NOTHING_LEFT, &[]);
    }

    #[test]
    fn threads_share_no_data_that_they_write() {
        passes_under_valgrind(&C99, &["--tool=helgrind"], &[]);
    }
}
