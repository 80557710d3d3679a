#!/bin/sh
# Builds the addon, qr.node, beside this script. Needs Rust and Node.js; downloads only crates.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# Asks Cargo for its target directory: a variable or a configuration file may set another.
target=$(cargo metadata --manifest-path "$here/../javascript/Cargo.toml" --format-version 1 --no-deps |
    node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).target_directory')
cargo build --manifest-path "$here/../javascript/Cargo.toml" --release --features node "$@"

for library in libqr_javascript.so libqr_javascript.dylib qr_javascript.dll; do
    if [ -e "$target/release/$library" ]; then
        # Renamed into place: overwriting the old file would crash a process that has it loaded.
        cp "$target/release/$library" "$here/qr.node.new"
        mv "$here/qr.node.new" "$here/qr.node"
        exit 0
    fi
done
echo "build.sh: found no library of the addon in $target/release" >&2
exit 1
