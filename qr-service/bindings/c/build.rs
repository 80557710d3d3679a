//! Names the shared library for the loader, so that programs linked with it refuse a version that
//! is not compatible.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libqr.so.{major}");
    }
}
