#!/bin/sh
# Builds the modules and tests them from Node, Chromium and Python. Needs the packages of legacy-node and of
# ../node, and Python with venv. Downloads crates, and Python packages into target/.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
"$here/build.sh"
# The tests compare the modules' errors with the addon's.
"$here/../node/build.sh" --quiet
node --test "$here"/test/*.test.mjs

target=$(cargo metadata --manifest-path "$here/../javascript/Cargo.toml" --format-version 1 --no-deps |
    node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).target_directory')
# Prints the sizes, because a larger module makes pages slower.
for module in qr_raw.wasm nodejs/qr_wasm_bg.wasm nodejs/qr_wasm_draw_bg.wasm; do
    echo "$module: $(wc -c <"$target/wasm/$module") bytes, $(gzip -9 -c "$target/wasm/$module" | wc -c) by gzip"
done

python=$target/wasm-python
if ! cmp -s "$here/test/requirements.txt" "$python/installed.txt"; then
    python3 -m venv --clear "$python"
    "$python/bin/pip" install --quiet --disable-pip-version-check -r "$here/test/requirements.txt"
    cp "$here/test/requirements.txt" "$python/installed.txt"
fi
QR_RAW_WASM="$target/wasm/qr_raw.wasm" "$python/bin/python" "$here/test/raw_test.py"
