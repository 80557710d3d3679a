//! Compiles `picture.c` if the machine has both libraries; else `PNG` is `None`.

fn main() {
    println!("cargo::rerun-if-changed=src/picture.c");
    println!("cargo::rustc-check-cfg=cfg(present)");
    let mut compile = cc::Build::new();
    // Linkers resolve symbols from left to right: picture.c comes first, then its libraries.
    let probe = |name| pkg_config::Config::new().cargo_metadata(false).probe(name);
    let (Ok(qrencode), Ok(png)) = (probe("libqrencode"), probe("libpng")) else { return };
    for folder in qrencode.include_paths.iter().chain(&png.include_paths) {
        compile.include(folder);
    }
    if compile.file("src/picture.c").opt_level(3).try_compile("picture").is_err() {
        return;
    }
    for library in qrencode.libs.iter().chain(&png.libs) {
        println!("cargo::rustc-link-lib={library}");
    }
    for folder in qrencode.link_paths.iter().chain(&png.link_paths) {
        println!("cargo::rustc-link-search={}", folder.display());
    }
    println!("cargo::rustc-cfg=present");
}
