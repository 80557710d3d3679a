#!/bin/sh
# Builds the modules and tests them from Node, Chromium and Python. Needs legacy-node's packages and
# Python with venv. Downloads crates, and Python packages into target/.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
"$here/build.sh"
# The tests compare the modules' errors with the addon's.
"$here/../node/build.sh" --quiet
node --test "$here"/test/*.test.mjs

target=$(cargo metadata --manifest-path "$here/raw/Cargo.toml" --format-version 1 --no-deps |
    node -p 'JSON.parse(require("node:fs").readFileSync(0, "utf8")).target_directory')
python=$target/wasm-python
if ! cmp -s "$here/test/requirements.txt" "$python/installed.txt"; then
    python3 -m venv --clear "$python"
    "$python/bin/pip" install --quiet --disable-pip-version-check -r "$here/test/requirements.txt"
    cp "$here/test/requirements.txt" "$python/installed.txt"
fi
QR_RAW_WASM="$target/wasm/qr_raw.wasm" "$python/bin/python" "$here/test/raw_test.py"
