//! Puts the functions that run beside each other in the program, if the linker can: docs/adr/0021-layout.md.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=layout.ld");
    let is = |variable, value| env::var(variable).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("PROFILE", "release") {
        let argument =
            format!("-Wl,-T,{}/layout.ld", env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
        if links_with(&argument) {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

/// Whether the linker of this build takes the argument. GNU ld and lld do, mold does not.
fn links_with(argument: &str) -> bool {
    let variable = |name| env::var(name).unwrap_or_default();
    let folder = variable("OUT_DIR");
    let source = Path::new(&folder).join("probe.rs");
    if fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.arg(source).args(["--target", &variable("TARGET"), "--out-dir", &folder]);
    rustc.args(variable("CARGO_ENCODED_RUSTFLAGS").split('\x1f').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.arg(format!("-Clink-arg={argument}"));
    let status = rustc.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
