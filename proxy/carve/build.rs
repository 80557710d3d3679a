//! Lists the files that a stack needs from other folders of the repository; `local/render.rs` embeds them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// A folder below another, and endings of files in it.
type Choice = (&'static str, &'static [&'static str]);

/// A constant's name, a folder relative to this crate, and which of its files.
const EMBEDDED: [(&str, &str, &[Choice]); 4] = [
    ("PROXY", "../../proxy", &[("", &[".conf"])]),
    (
        "PROMETHEUS",
        "../../dashboards/prometheus",
        &[("", &["prometheus.yml"]), ("rules/", &[".yml"])],
    ),
    // The live page.
    ("LIVE", "../../dashboards/live", &[("", &[".css", ".html", ".js", ".svg", "queries.json"])]),
    // The library that draws its charts. Missing until npm has installed it.
    ("CHARTS", "../../dashboards/live/node_modules/uplot", &[("", &["LICENSE"]), ("dist/", &[""])]),
];

fn main() {
    let mut code = String::new();
    for (constant, folder, choices) in EMBEDDED {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        writeln!(code, "const {constant}: Files = &[").expect("a string grows");
        for (below, endings) in choices {
            for name in names(&folder.join(below), endings) {
                let file = folder.join(below).join(&name);
                println!("cargo::rerun-if-changed={}", file.display());
                writeln!(code, "    (\"{below}{name}\", include_bytes!({file:?})),")
                    .expect("a string grows");
            }
        }
        code += "];\n";
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded.rs"), code).expect("the build's own folder");
}

/// The names of the files in `folder` that end with one of `endings`, in order.
fn names(folder: &Path, endings: &[&str]) -> Vec<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.filter(|file| file.path().is_file());
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let mut names: Vec<_> =
        names.filter(|name| endings.iter().any(|ending| name.ends_with(ending))).collect();
    names.sort();
    names
}
