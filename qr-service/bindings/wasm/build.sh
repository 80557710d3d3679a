#!/bin/sh
# Builds the Wasm modules into target/wasm/: nodejs/ and web/ for JavaScript, qr_raw.wasm for all
# else. Needs Rust with the target wasm32-unknown-unknown; downloads nothing but crates.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
# Cargo says where it builds: a variable or a configuration file may have moved it.
target=$(cargo metadata --format-version 1 --no-deps |
    node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).target_directory')

# Every runtime has had vectors since 2023 at the latest; without them it takes three times as long.
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C target-feature=+simd128"

module() {
    crate=$1
    shift
    cargo rustc --quiet --profile wasm --target wasm32-unknown-unknown -p "$crate" -- "$@"
}
# The other one is stripped after its bindings are made: they are read from its sections.
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
# In one move, so that nobody finds half of it.
rm -rf "$target/wasm"
mv "$new" "$target/wasm"
