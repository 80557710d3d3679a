//! Compiles `src/libqrencode/picture.c` if the machine has both libraries. Otherwise `libqrencode::PNG` is `None`.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_libqrencode)");
    #[cfg(feature = "peers")]
    compile();
}

#[cfg(feature = "peers")]
fn compile() {
    const SOURCE: &str = "src/libqrencode/picture.c";
    println!("cargo::rerun-if-changed={SOURCE}");
    // Linkers resolve symbols from left to right: picture.c comes first, then its libraries.
    let probe = |name| pkg_config::Config::new().cargo_metadata(false).probe(name);
    let (Ok(qrencode), Ok(png)) = (probe("libqrencode"), probe("libpng")) else { return };
    let mut compile = cc::Build::new();
    compile.includes(qrencode.include_paths.iter().chain(&png.include_paths));
    if compile.file(SOURCE).opt_level(3).try_compile("picture").is_err() {
        return;
    }
    for library in qrencode.libs.iter().chain(&png.libs) {
        println!("cargo::rustc-link-lib={library}");
    }
    for folder in qrencode.link_paths.iter().chain(&png.link_paths) {
        println!("cargo::rustc-link-search={}", folder.display());
    }
    println!("cargo::rustc-cfg=has_libqrencode");
}
