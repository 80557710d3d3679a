//! Puts the viewer of `/v1/docs` into the program, compressed, if its npm package is installed in `page/`. Without
//! it the program has the plain page alone.

use std::path::Path;
use std::{env, fs, io};

use miniz_oxide::deflate::compress_to_vec;

/// Each file of the program, and those of the package that it is made of; the last are what its licences ask for.
const FILES: [(&str, &[&str]); 3] = [
    ("bundle.js", &["swagger-ui-bundle.js"]),
    ("style.css", &["swagger-ui.css"]),
    ("notices.txt", &["NOTICE", "swagger-ui-bundle.js.LICENSE.txt", "LICENSE"]),
];

/// As hard as it compresses.
const LEVEL: u8 = 9;

/// Of RFC 1952: deflate, no name, no time, an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    // The folder, since a path that is not there would run this each time.
    println!("cargo::rerun-if-changed=page");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    for (name, sources) in FILES {
        let packed = match read_all(sources) {
            Ok(file) => gzip(&file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        fs::write(Path::new(&out).join(format!("{name}.gz")), packed)?;
    }
    Ok(())
}

fn read_all(names: &[&str]) -> io::Result<Vec<u8>> {
    let read = |name: &&str| fs::read(Path::new("page/node_modules/swagger-ui-dist").join(name));
    Ok(names.iter().map(read).collect::<io::Result<Vec<_>>>()?.join(&b'\n'))
}

fn gzip(file: &[u8]) -> Vec<u8> {
    let mut packed = HEADER.to_vec();
    packed.extend(compress_to_vec(file, LEVEL));
    packed.extend(crc32fast::hash(file).to_le_bytes());
    packed.extend((file.len() as u32).to_le_bytes());
    packed
}
