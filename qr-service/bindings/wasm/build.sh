#!/bin/sh
# Builds the Wasm modules into target/wasm/: nodejs/ and web/ for JavaScript, each with qr_wasm and
# qr_wasm_draw, and qr_raw.wasm for other hosts. Needs Rust with the target wasm32-unknown-unknown, and Node.js; downloads
# only crates. PROFILE=dev builds them for tests: it takes less time, but the modules are slower.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../../.."
# Asks Cargo for its target directory: a variable or a configuration file may set another.
target=$(cargo metadata --format-version 1 --no-deps |
    node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).target_directory')

# Every runtime has had 128-bit vectors since 2023; without them a picture takes three times as long.
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C target-feature=+simd128"

new=$target/wasm.new
rm -rf "$new"
mkdir -p "$new/built"

# module NAME LIBRARY PROFILE CRATE [OPTION ...]: builds a crate's library into $new/built/NAME.wasm
module() {
    name=$1
    library=$2
    profile=$3
    crate=$4
    shift 4
    [ "${PROFILE:-}" != dev ] || profile=dev
    cargo rustc --quiet --profile "$profile" --target wasm32-unknown-unknown -p "$crate" "$@"
    [ "$profile" != dev ] || profile=debug
    cp "$target/wasm32-unknown-unknown/$profile/$library.wasm" "$new/built/$name.wasm"
}
# Not stripped here: bindgen reads the sections first and removes them itself.
module qr_wasm qr_javascript wasm-module qr-javascript --features wasm
module qr_raw qr wasm-module qr-c --crate-type cdylib -- -C link-arg=--strip-all
# In a profile of its own, because each profile has its own folder: so the two builds do not replace each other, and
# each is rebuilt only if it changed.
module qr_wasm_draw qr_javascript wasm-draw qr-javascript --features draw
bindgen=$target/plain/examples/bindgen
if [ "${PROFILE:-}" = dev ]; then
    # With the features of the tests, so that they need not compile it again.
    cargo build --quiet --workspace --all-features --example bindgen
    bindgen=$target/debug/examples/bindgen
else
    cargo build --quiet --profile plain -p qr-javascript --example bindgen
fi

for for_what in nodejs web; do
    for name in qr_wasm qr_wasm_draw; do
        "$bindgen" "$new/built/$name.wasm" "$for_what" "$new/$for_what" "$name"
    done
done
# Otherwise Node would take the files for CommonJS.
echo '{ "type": "module" }' >"$new/web/package.json"
mv "$new/built/qr_raw.wasm" "$new"
rm -r "$new/built"
# Replaces the folder as a whole, so that no reader sees a half-written one.
rm -rf "$target/wasm"
mv "$new" "$target/wasm"
