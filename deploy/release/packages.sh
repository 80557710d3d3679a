# shellcheck shell=bash
# The packages for other languages; release.sh includes this file, and has what it calls.

packages() {
    local work version arch
    work=$(mktemp -d)
    version=$(workspace_version)
    arch=$(own_arch)
    mkdir -p "$files"
    c_package "$work" "libqr-$version-linux-$arch"
    node_package "$work/qr-node" "qr-node-$version-linux-$arch.tgz" "$version"
    # Wasm is the same for every architecture.
    if [ "$arch" = amd64 ]; then wasm_package "$work/qr-wasm" "qr-wasm-$version.tgz" "$version"; fi
    rm -r "$work"
}

c_package() {
    DESTDIR=$1/$2 qr-service/bindings/c/install.sh /usr/local
    cp LICENSE* "$1/$2"
    pack "$1" "$2"
}

# npm_pack FOLDER FILE DRAW: packs the folder, installs the package elsewhere, and draws pictures with it; DRAW is
# what brings the function of that name
npm_pack() {
    local used packed
    cp LICENSE* "$1"
    packed=$(npm pack --silent --pack-destination "$files" "$1")
    [ "$packed" = "$2" ] || mv "$files/$packed" "$files/$2"
    used=$(mktemp -d)
    npm install --silent --no-audit --no-fund --offline --prefix "$used" "$(realpath "$files/$2")"
    (cd "$used" && node_pictures "$(basename "$1")" "$3") >"$used/drawn"
    node_pictures ./qr-service/bindings/node ./qr-service/bindings/node | cmp - "$used/drawn" || die "$2 draws other pictures"
    rm -r "$used"
}

# node_pictures PACKAGE DRAW: found from the folder that this is called in. The addon and the Wasm modules draw the
# same as the service.
node_pictures() {
    node -e '
        const [{ generate }, { draw }] = process.argv.slice(1).map((name) => require(name));
        process.stdout.write(generate("https://example.com/"));
        process.stdout.write(draw("text=https://example.com/&format=svg").bytes);' "$@"
}

node_package() {
    local here=qr-service/bindings/node
    $here/build.sh --quiet
    mkdir "$1"
    cp $here/*.js $here/*.d.ts $here/qr.node $here/README.md "$1"
    node -e '
        const { private: _, scripts, devDependencies, ...kept } = require(process.argv[1]);
        const limits = { os: ["linux"], cpu: [process.arch], libc: ["glibc"] };
        console.log(JSON.stringify({ ...kept, ...limits }, null, 2));' "$PWD/$here/package.json" >"$1/package.json"
    npm_pack "$1" "$2" qr-node
}

wasm_package() {
    local built=${CARGO_TARGET_DIR:-target}/wasm
    qr-service/bindings/wasm/build.sh
    mkdir "$1"
    cp -r "$built/nodejs" "$built/web" "$built/qr_raw.wasm" qr-service/bindings/wasm/README.md "$1"
    cat >"$1/package.json" <<EOF
{
  "name": "qr-wasm",
  "version": "$3",
  "description": "Draws QR codes as PNG: qr-core as a Wasm module",
  "license": "MIT OR Apache-2.0",
  "exports": {
    ".": { "node": "./nodejs/qr_wasm.js", "default": "./web/qr_wasm.js" },
    "./draw": { "node": "./nodejs/qr_wasm_draw.js", "default": "./web/qr_wasm_draw.js" },
    "./qr_raw.wasm": "./qr_raw.wasm"
  },
  "types": "nodejs/qr_wasm.d.ts"
}
EOF
    npm_pack "$1" "$2" qr-wasm/draw
}
