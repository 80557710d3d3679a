# shellcheck shell=bash disable=SC2154,SC2016  # release.sh sets $files; programs in JavaScript have their own $
# The packages for other languages. release.sh sources this file and has the functions that it calls.
#
# Each package is installed from its file in an empty folder and draws there. The pictures must decode, and be the
# same from every package.

text=https://example.com/
python=$PWD/target/tools/wheel/bin

packages() {
    local version arch
    work=$(mktemp -d)
    version=$(workspace_version)
    arch=$(own_arch)
    mkdir -p "$files" "$work/licences" "$work/drawn"
    deploy/release/licences.py "$work/licences" qr-c qr-javascript qr-python
    c_package "libqr-$version-linux-$arch"
    python_packages
    node_package "qr-node-$version-linux-$arch.tgz" "$version"
    # Wasm is the same for every architecture.
    if [ "$arch" = amd64 ]; then wasm_package "qr-wasm-$version.tgz" "$version"; fi
    rm -r "$work"
}

# same_pictures WHO FOLDER: checks WHO's pictures: code.png as /qrcode draws it, drawn.png and drawn.svg as /v1/qr does
same_pictures() {
    local drawn first
    for drawn in "$2"/*.png "$2"/*.svg; do
        [ -e "$drawn" ] || continue
        first=$work/drawn/$(basename "$drawn")
        [ -e "$first" ] || cp "$drawn" "$first"
        cmp "$drawn" "$first" || die "$1 draws another picture"
    done
    "$python/python" -c '
import sys, zxingcpp
from PIL import Image
text, *pictures = sys.argv[1:]
for picture in pictures:
    found = zxingcpp.read_barcode(Image.open(picture))
    if not found or found.text != text:
        sys.exit(f"{picture}: read {found and found.text!r}")' "$text" "$2"/*.png || die "a picture of $1 does not decode"
}

c_package() {
    local used example=$PWD/qr-service/bindings/c/examples/c/qr.c
    DESTDIR=$work/$1 qr-service/bindings/c/install.sh /usr/local
    cp LICENSE* "$work/$1"
    cp "$work/licences/qr-c.txt" "$work/$1/THIRD-PARTY.txt"
    pack "$work" "$1"

    used=$(mktemp -d)
    tar -xzf "$files/$1.tar.gz" -C "$used" --strip-components=1
    (
        cd "$used"
        export PKG_CONFIG_PATH=$used/usr/local/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$used
        read -r -a shared < <(pkg-config --cflags --libs qr)
        read -r -a static < <(pkg-config --cflags --libs --static qr | sed 's/-lqr/-l:libqr.a/')
        cc -o shared "$example" "${shared[@]}"
        cc -o static "$example" "${static[@]}"
        LD_LIBRARY_PATH=usr/local/lib ./shared "$text" code.png
        ./static "$text" static.png
        cmp static.png code.png
        rm static.png
    ) || die "$1 cannot be used"
    same_pictures "$1" "$used"
    rm -r "$used"
}

python_packages() {
    local here=qr-service/bindings/python built=$work/python package used
    cp "$work/licences/qr-python.txt" $here/THIRD-PARTY.txt
    # The wheel is built from the source distribution, which shows that the latter is complete. It has a part of the
    # workspace with the lock file of the whole, which --locked refuses; the versions are still those of the lock file.
    "$python/maturin" build --quiet --release --sdist --manifest-path $here/Cargo.toml \
        --interpreter "$python/python" --out "$built"
    rm $here/THIRD-PARTY.txt
    # One source distribution serves every architecture.
    [ "$(own_arch)" = amd64 ] || rm "$built"/*.tar.gz
    for package in "$built"/*.whl; do
        used=$(mktemp -d)
        python3 -m venv "$used/python"
        "$used/python/bin/pip" install --quiet --disable-pip-version-check --no-index "$package"
        (cd "$used" && python/bin/python -c '
import pathlib, sys, qr_fast
for form in "png", "svg":
    pathlib.Path(f"drawn.{form}").write_bytes(qr_fast.draw(sys.argv[1], format=form))' "$text")
        same_pictures "$(basename "$package")" "$used"
        rm -r "$used"
    done
    mv "$built"/* "$files"
}

# npm_pack FOLDER FILE DRAW: packs the folder, installs the package elsewhere, and draws pictures with it; DRAW is the
# module that exports `draw`
npm_pack() {
    local used packed
    cp LICENSE* "$1"
    cp "$work/licences/qr-javascript.txt" "$1/THIRD-PARTY.txt"
    packed=$(npm pack --silent --pack-destination "$files" "$1")
    [ "$packed" = "$2" ] || mv "$files/$packed" "$files/$2"
    used=$(mktemp -d)
    npm install --silent --no-audit --no-fund --offline --prefix "$used" "$(realpath "$files/$2")"
    (cd "$used" && node -e '
        const [text, ...names] = process.argv.slice(1);
        const [{ generate }, { draw }] = names.map((name) => require(name));
        const { writeFileSync } = require("node:fs");
        writeFileSync("code.png", generate(text));
        for (const format of ["png", "svg"])
            writeFileSync(`drawn.${format}`, draw(`text=${text}&format=${format}`).bytes);' "$text" "$(basename "$1")" "$3")
    same_pictures "$2" "$used"
    rm -r "$used"
}

node_package() {
    local here=qr-service/bindings/node package=$work/qr-node
    $here/build.sh --quiet
    mkdir "$package"
    cp $here/*.js $here/*.d.ts $here/qr.node $here/README.md "$package"
    node -e '
        const { private: _, scripts, devDependencies, ...kept } = require(process.argv[1]);
        const limits = { os: ["linux"], cpu: [process.arch], libc: ["glibc"] };
        console.log(JSON.stringify({ ...kept, ...limits }, null, 2));' "$PWD/$here/package.json" >"$package/package.json"
    npm_pack "$package" "$1" qr-node
}

wasm_package() {
    local built=${CARGO_TARGET_DIR:-target}/wasm package=$work/qr-wasm
    qr-service/bindings/wasm/build.sh
    mkdir "$package"
    cp -r "$built/nodejs" "$built/web" "$built/qr_raw.wasm" qr-service/bindings/wasm/README.md "$package"
    cat >"$package/package.json" <<EOF
{
  "name": "qr-wasm",
  "version": "$2",
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
    npm_pack "$package" "$1" qr-wasm/draw
}

# publish [--dry-run]: uploads the packages to each registry, once all are packed. A dry run does all but the upload.
# Tokens are in the variables that cargo, npm and twine read. The job with the tokens compiles nothing; the rehearsal
# has compiled the crates.
publish() {
    local dry=("$@") python_files
    cargo publish --locked --quiet "${dry[@]:---no-verify}" -p qr-core -p qr-options
    work=$(mktemp -d)
    for_all_architectures "$work"
    npm publish --loglevel=error --access public "${dry[@]}" "$work/qr-node"
    npm publish --loglevel=error --access public "${dry[@]}" "$(realpath "$files"/qr-wasm-*.tgz)"
    rm -r "$work"
    python_files=("$files"/qr_fast-*)
    twine check --strict "${python_files[@]}"
    [ ${#dry[@]} -gt 0 ] || twine upload --non-interactive --skip-existing "${python_files[@]}"
}

# for_all_architectures FOLDER: joins the Node packages of the architectures into one
for_all_architectures() {
    local package names=()
    for package in "$files"/qr-node-*.tgz; do
        mkdir "$1/one"
        tar -xzf "$package" -C "$1/one" --strip-components=1
        names+=("$(node -p 'require(process.argv[1]).cpu[0]' "$1/one/package.json")")
        mv "$1/one/qr.node" "$1/one/qr-${names[-1]}.node"
        mkdir -p "$1/qr-node"
        mv "$1/one"/* "$1/qr-node"
        rmdir "$1/one"
    done
    node -e '
        const [file, ...cpu] = process.argv.slice(1);
        require("node:fs").writeFileSync(file, JSON.stringify({ ...require(file), cpu }, null, 2));' \
        "$1/qr-node/package.json" "${names[@]}"
    (cd "$1" && node -e 'require("./qr-node").generate("hello")')
}
