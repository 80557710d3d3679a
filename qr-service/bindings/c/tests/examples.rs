//! Builds and runs the examples as their files and the README say. Each picture must equal that of
//! qr-core and decode to the text.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use contract::decode::decode_png;
use qr_core::{Level, Raster, generate};
use support::{C99, Linking, compile, folder, output, pkg_config, succeed, tool};
use tempfile::TempDir;

/// The command line of an example, without the text, and its working directory.
struct Example {
    command_line: Vec<OsString>,
    folder: TempDir,
}

impl Example {
    /// `command_line` takes the path at which to build the program, if there is one to build.
    fn new(command_line: impl FnOnce(PathBuf) -> Vec<OsString>) -> Self {
        let folder = TempDir::new().unwrap();
        Example { command_line: command_line(folder.path().join("qr")), folder }
    }

    fn command(&self, text: &OsStr, file: Option<&Path>) -> Command {
        let mut command = tool(&self.command_line[0]);
        command.args(&self.command_line[1..]).arg(text).args(file);
        command.current_dir(self.folder.path());
        command
    }

    /// Checks that it fails with 1 and writes no file; returns its one-line message.
    fn refused(&self, text: &OsStr, file: Option<&Path>) -> String {
        let output = output(&mut self.command(text, file));
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(output.stdout.is_empty());
        assert!(!self.folder.path().join("code.png").exists());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.lines().count(), 1, "{said}");
        said.strip_prefix("qr: ").expect("begins with the program's name").trim_end().to_owned()
    }
}

fn source(name: &str) -> OsString {
    folder().join("examples").join(name).into()
}

fn in_c(linking: Linking) -> Example {
    Example::new(|program| {
        compile(&C99, source("c/qr.c").as_ref(), linking, &program);
        vec![program.into()]
    })
}

fn in_python() -> Example {
    Example::new(|_| vec!["/usr/bin/python3".into(), "-B".into(), source("python/qr.py")])
}

fn draws_the_picture_of_qr_core(example: &Example) {
    let longest = "The quick brown fox. ".repeat(25)[..512].to_owned();
    for text in ["https://example.com/?a=b&c=d", "grüße, 世界 \u{1f980}\n!", "0", &longest] {
        let file = example.folder.path().join("with spaces.png");
        succeed(&mut example.command(text.as_ref(), Some(&file)));
        let png = fs::read(&file).unwrap();
        let mut expected = Vec::new();
        generate(text, Level::L, &Raster::SERVICE, &mut expected).unwrap();
        assert!(png == expected, "{text:?}");
        let decoded = decode_png(&png).unwrap();
        assert_eq!(decoded.bytes, text.as_bytes());
        assert_eq!(decoded.level, 'L');
        fs::remove_file(&file).unwrap();
    }
    let file = example.folder.path().join("code.png");
    succeed(&mut example.command("unnamed".as_ref(), None));
    assert_eq!(decode_png(&fs::read(&file).unwrap()).unwrap().bytes, b"unnamed");
    fs::remove_file(&file).unwrap();
}

fn explains_its_failures(example: &Example) {
    let too_long = example.refused("a".repeat(2954).as_ref(), None);
    assert_eq!(too_long, "the text does not fit a QR code at this level");
    let nowhere = example.folder.path().join("no/such/folder.png");
    let said = example.refused("a".as_ref(), Some(&nowhere));
    assert!(said.contains(nowhere.to_str().unwrap()), "{said}");
}

fn works(example: &Example) {
    draws_the_picture_of_qr_core(example);
    explains_its_failures(example);
    let said = example.refused(OsStr::from_bytes(b"caf\xe9"), None);
    assert!(said.to_lowercase().replace('-', "").contains("utf8"), "{said}");
}

#[test]
fn c_with_the_shared_library() {
    works(&in_c(Linking::Shared));
}

#[test]
fn c_with_the_static_library() {
    works(&in_c(Linking::Static));
}

#[test]
fn python() {
    works(&in_python());
}

#[test]
fn the_readmes_commands_compile_the_c_example_and_its_list_of_libraries_is_right() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let lines: Vec<&str> = readme.lines().filter(|line| line.starts_with("    cc ")).collect();
    assert_eq!(lines.len(), 2);
    for line in lines {
        let example = Example::new(|program| vec![program.into()]);
        symlink(folder().join("examples"), example.folder.path().join("examples")).unwrap();
        succeed(tool("sh").args(["-euc", line]).current_dir(&example.folder));
        works(&example);
    }
    let libraries = pkg_config(&["--static", "--libs-only-l"]).join(" ");
    let system = libraries.strip_prefix("-lqr ").unwrap();
    assert!(readme.contains(&format!("`{system}`")), "{system}");
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    /// Debian's libjna-java.
    const JNA: &str = "/usr/share/java/jna.jar";

    fn in_go() -> Example {
        Example::new(|program| {
            let mut go = tool("go");
            // The user's cache may hold the flags that pkg-config printed for another checkout.
            go.env("GOCACHE", support::target().join("c-go-cache"));
            succeed(go.args(["build", "-o"]).arg(&program).arg(source("go/main.go")));
            vec![program.into()]
        })
    }

    fn in_java() -> Example {
        assert!(Path::new(JNA).exists(), "{JNA} is missing: make setup");
        // Newer JVMs print a warning without it.
        let access = "--enable-native-access=ALL-UNNAMED";
        Example::new(|_| {
            vec!["java".into(), access.into(), "-cp".into(), JNA.into(), source("java/Qr.java")]
        })
    }

    #[test]
    fn go() {
        works(&in_go());
    }

    /// Does not test invalid UTF-8: the JVM replaces it before the program sees it.
    #[test]
    fn java() {
        let example = in_java();
        draws_the_picture_of_qr_core(&example);
        explains_its_failures(&example);
    }
}
