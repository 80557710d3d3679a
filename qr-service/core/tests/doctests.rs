//! Checks that every public item has an example in its documentation; `cargo test` runs the examples.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

/// Returns the Rust files of a folder and its subfolders.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// Returns the number of public items in a file, and those without an example. The lint `unreachable_pub` ensures that
/// every `pub` item can be reached from outside the crate.
fn without_example(source: &str) -> (usize, Vec<&str>) {
    const ITEMS: [&str; 6] =
        ["pub fn ", "pub const ", "pub struct ", "pub enum ", "pub trait ", "pub type "];
    let (mut has_example, mut is_in_example) = (false, false);
    let (mut count, mut missing) = (0, Vec::new());
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    for line in code.lines().map(str::trim_start) {
        if line.starts_with("///") {
            has_example |= line.starts_with("/// ```");
        } else if line.starts_with("#[doc = example!(") || is_in_example {
            (has_example, is_in_example) = (true, !line.ends_with(")]"));
        } else if ITEMS.iter().any(|item| line.starts_with(item)) {
            count += 1;
            if !has_example {
                missing.push(line);
            }
            has_example = false;
        } else if !line.starts_with("#[") {
            has_example = false;
        }
    }
    (count, missing)
}

#[test]
fn every_public_item_has_an_example() {
    let (mut count, mut missing) = (0, Vec::new());
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let source = std::fs::read_to_string(&path).unwrap();
        let (items, without) = without_example(&source);
        count += items;
        missing.extend(without.iter().map(|item| format!("{}: {item}", path.display())));
    }
    assert!(count > 70, "{count} items");
    assert!(missing.is_empty(), "without an example:\n{}", missing.join("\n"));
}

#[test]
fn an_item_without_an_example_is_found() {
    let (count, missing) = without_example(
        "/// Has one.\n/// ```\n/// ```\n#[must_use]\npub fn a() {\n}\n#[doc = example!(symbol:\n    a();\n)]\npub fn e() {}\n/// Has none.\npub const fn b() {\n\
         pub(crate) fn c() {}\n    pub enum D {",
    );
    assert_eq!((count, missing), (4, vec!["pub const fn b() {", "pub enum D {"]));
}
