#!/bin/sh
# Builds the Wasm modules into target/wasm/: nodejs/ and web/ for JavaScript, qr_raw.wasm for other
# hosts. Needs Rust with the target wasm32-unknown-unknown, and Node.js; downloads only crates.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
# Asks Cargo for its target directory: a variable or a configuration file may set another.
target=$(cargo metadata --format-version 1 --no-deps |
    node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).target_directory')

# Every runtime has had 128-bit vectors since 2023; without them a picture takes three times as long.
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C target-feature=+simd128"

module() {
    crate=$1
    shift
    cargo rustc --quiet --profile wasm --target wasm32-unknown-unknown -p "$crate" -- "$@"
}
# Not stripped here: bindgen reads the sections first and removes them itself.
module qr-wasm
module qr-wasm-raw -C link-arg=--strip-all
cargo build --quiet -p qr-wasm --example bindgen

built=$target/wasm32-unknown-unknown/wasm
new=$target/wasm.new
rm -rf "$new"
mkdir -p "$new"
for for_what in nodejs web; do
    "$target/debug/examples/bindgen" "$built/qr_wasm.wasm" "$for_what" "$new/$for_what"
done
cp "$built/qr_raw.wasm" "$new"
# Replaces the folder as a whole, so that no reader sees a half-written one.
rm -rf "$target/wasm"
mv "$new" "$target/wasm"
