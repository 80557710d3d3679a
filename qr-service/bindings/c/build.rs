//! Gives the shared library a soname with its major version, so that the loader refuses to run a
//! program with an incompatible version.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libqr.so.{major}");
    }
}
