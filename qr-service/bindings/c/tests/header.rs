//! Checks that `qr.h` is what cbindgen makes from the sources. `make generate` writes it, with `GENERATE=1`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::{env, fs};

#[test]
fn the_header_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = builder.with_src(folder.join("src/picture.rs"));
    let bindings = builder.with_src(folder.join("src/c/mod.rs")).generate().unwrap();
    let mut made = Vec::new();
    bindings.write(&mut made);
    let header = folder.join("qr.h");
    if env::var_os("GENERATE").is_some() {
        fs::write(&header, &made).unwrap();
    }
    assert!(
        fs::read(&header).is_ok_and(|committed| committed == made),
        "qr.h is out of date: run make generate"
    );
}
