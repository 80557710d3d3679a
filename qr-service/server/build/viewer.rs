//! Embeds the viewer of `/v1/docs` in the program, compressed, if its npm package is installed in `api/page/`. Without
//! it the page links to `/v1/openapi.json` instead.

use std::io::Read;
use std::path::Path;
use std::{env, fs, io};

use flate2::Compression;
use flate2::read::GzEncoder;

/// Each embedded file, and the files of the package that it is made of. The last one has the notices that the licences
/// require.
const FILES: [(&str, &[&str]); 3] = [
    ("bundle.js", &["swagger-ui-bundle.js"]),
    ("style.css", &["swagger-ui.css"]),
    ("notices.txt", &["NOTICE", "swagger-ui-bundle.js.LICENSE.txt", "LICENSE"]),
];

pub(crate) fn pack() -> io::Result<()> {
    // The folder, because a path that does not exist would run this script in every build.
    println!("cargo::rerun-if-changed=../api/page");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    for (name, sources) in FILES {
        let mut packed = Vec::new();
        match read_all(sources) {
            Ok(file) => {
                GzEncoder::new(&file[..], Compression::best()).read_to_end(&mut packed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::write(Path::new(&out).join(format!("{name}.gz")), packed)?;
    }
    Ok(())
}

fn read_all(names: &[&str]) -> io::Result<Vec<u8>> {
    let read =
        |name: &&str| fs::read(Path::new("../api/page/node_modules/swagger-ui-dist").join(name));
    Ok(names.iter().map(read).collect::<io::Result<Vec<_>>>()?.join(&b'\n'))
}
