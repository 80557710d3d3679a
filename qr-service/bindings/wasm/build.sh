#!/bin/sh
# Builds the Wasm modules into target/wasm/: nodejs/ and web/ for JavaScript, each with qr_wasm and
# qr_wasm_draw, and qr_raw.wasm for other hosts. Needs Rust with the target wasm32-unknown-unknown, and Node.js; downloads only crates.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
# Asks Cargo for its target directory: a variable or a configuration file may set another.
target=$(cargo metadata --format-version 1 --no-deps |
    node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).target_directory')

# Every runtime has had 128-bit vectors since 2023; without them a picture takes three times as long.
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C target-feature=+simd128"

# module PROFILE CRATE [OPTION ...]
module() {
    profile=$1
    crate=$2
    shift 2
    cargo rustc --quiet --profile "$profile" --target wasm32-unknown-unknown -p "$crate" "$@"
}
# Not stripped here: bindgen reads the sections first and removes them itself.
module wasm-module qr-wasm
module wasm-module qr-wasm-raw -- -C link-arg=--strip-all
# A profile is a folder, so that one build does not replace the other and each is only made anew if it changed.
module wasm-draw qr-wasm --features draw
# With the features that tests have, so that they need not compile it again.
cargo build --quiet --workspace --all-features --example bindgen

built=$target/wasm32-unknown-unknown
new=$target/wasm.new
rm -rf "$new"
mkdir -p "$new"
for for_what in nodejs web; do
    "$target/debug/examples/bindgen" "$built/wasm-module/qr_wasm.wasm" "$for_what" "$new/$for_what" qr_wasm
    "$target/debug/examples/bindgen" "$built/wasm-draw/qr_wasm.wasm" "$for_what" "$new/$for_what" qr_wasm_draw
done
# Node takes it for CommonJS otherwise.
echo '{ "type": "module" }' >"$new/web/package.json"
cp "$built/wasm-module/qr_raw.wasm" "$new"
# Replaces the folder as a whole, so that no reader sees a half-written one.
rm -rf "$target/wasm"
mv "$new" "$target/wasm"
