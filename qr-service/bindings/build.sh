#!/bin/sh
# Builds the bindings: the command, the Wasm modules, the addon of Node.js, the wheel of Python, and the C library,
# which is installed in target/c.
#
#     qr-service/bindings/build.sh                as for a release
#     qr-service/bindings/build.sh cli wasm       only these of the parts below
#     PROFILE=dev qr-service/bindings/build.sh    for tests: builds faster, runs slower; Python's module without a wheel
#
# Needs what `make setup` installs. Downloads only crates.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

# wants PART: whether it is to be built. `pictures` are what tests compare with.
parts=" ${*:-cli wasm node c python pictures} "
wants() {
    case "$parts" in *" $1 "*) ;; *) return 1 ;; esac
}

# Optimising a Wasm module takes only one processor, so the others are compiled at the same time.
if wants wasm; then qr-service/bindings/wasm/build.sh; fi & wasm=$!

# Renamed into place: overwriting the old file would crash a process that has it loaded.
replace() {
    cp "$1" "$2.new"
    mv "$2.new" "$2"
}

others() {
    if [ "${PROFILE:-}" = dev ]; then
        # With the features of the tests, so that they need not compile everything again. For examples, Cargo also
        # enables the features of dev-dependencies.
        cargo build --quiet --workspace --all-features --example bindgen --example core_pictures --lib
        replace target/debug/examples/core_pictures target/core_pictures
        replace target/debug/libqr_javascript.so qr-service/bindings/node/qr.node
        mkdir -p target/python
        replace target/debug/libqr_fast.so target/python/qr_fast.abi3.so
        BUILT=target/debug qr-service/bindings/c/install.sh "$PWD/target/c"
    else
        if wants cli; then cargo build --quiet --release -p qr-cli; fi
        if wants node; then qr-service/bindings/node/build.sh --quiet; fi
        if wants c; then qr-service/bindings/c/install.sh "$PWD/target/c"; fi
        if wants python; then
            rm -f target/wheels/qr_fast-*
            target/tools/wheel/bin/maturin build --quiet --locked --profile release \
                -m qr-service/bindings/python/Cargo.toml --interpreter target/tools/wheel/bin/python
        fi
        if wants pictures; then
            cargo build --quiet --workspace --all-features --example core_pictures
            replace target/debug/examples/core_pictures target/core_pictures
        fi
    fi
}

others & others=$!
status=0
for job in $wasm $others; do
    wait "$job" || status=$?
done
exit "$status"
