//! Builds and runs programs with the library that `make bindings` has installed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "not every test uses all of it")]

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) const C99: [&str; 5] = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"];
pub(crate) const CPP11: [&str; 6] =
    ["-xc++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linking {
    Shared,
    Static,
}

pub(crate) const BOTH_WAYS: [Linking; 2] = [Linking::Shared, Linking::Static];

pub(crate) fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where `make bindings` installs the library: `target/c`.
pub(crate) fn prefix() -> PathBuf {
    let prefix = target().join("c");
    assert!(prefix.exists(), "{} is missing: make bindings PROFILE=dev", prefix.display());
    prefix
}

/// Cargo's folder, in which this test is in `debug/deps`.
pub(crate) fn target() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

pub(crate) fn library_folder() -> PathBuf {
    prefix().join("lib")
}

/// A command with the environment that the README sets up.
pub(crate) fn tool(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    // The locale decides how the JVM decodes its arguments.
    command.env("LC_ALL", "C.UTF-8");
    command.env("LD_LIBRARY_PATH", library_folder());
    command.env("PKG_CONFIG_PATH", library_folder().join("pkgconfig"));
    command
}

/// Runs the command.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| match error.kind() {
        ErrorKind::NotFound => panic!("{:?} is missing: make setup", command.get_program()),
        _ => panic!("{command:?}: {error}"),
    })
}

/// Checks that the command succeeds; returns its standard output.
#[track_caller]
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = output(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn pkg_config(args: &[&str]) -> Vec<String> {
    let said = succeed(tool("pkg-config").args(args).arg("qr"));
    said.split_whitespace().map(str::to_owned).collect()
}

/// Compiles a C or C++ source to `program`.
#[track_caller]
pub(crate) fn compile(flags: &[&str], source: &Path, linking: Linking, program: &Path) {
    let libraries = match linking {
        Linking::Shared => pkg_config(&["--libs"]),
        Linking::Static => {
            let libraries = pkg_config(&["--static", "--libs"]).into_iter();
            // As in the README: with `-lqr` the linker prefers the shared library beside it.
            libraries.map(|flag| if flag == "-lqr" { "-l:libqr.a".into() } else { flag }).collect()
        }
    };
    let compiler = if flags.contains(&"-xc++") { "g++" } else { "gcc" };
    let mut command = tool(compiler);
    command.args(flags).args(pkg_config(&["--cflags"])).arg(source);
    // Ends `-xc++`, which would make the libraries C++ sources.
    command.arg("-xnone").args(libraries).arg("-o").arg(program);
    succeed(&mut command);
}
