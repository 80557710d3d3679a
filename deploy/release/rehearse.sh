#!/usr/bin/env bash
# Rehearses a release on one machine: all of release.yml that needs no service from outside. It pushes to a
# registry on loopback and signs with a key of its own. `make release-rehearsal` calls it. What was made, and
# a report, are in target/dist.
#
#   PROFILE=plain  builds the programs in a fraction of the time; what is published has the profile release
#   SKIP=packages  leaves out the C, Python and npm packages, which take four more release builds
#   ONLY="..."     only these programs; they must include qr-draw, qr-service and carve
#   NGINX_IMAGE, NODE_IMAGE  base images in this machine's store for images, in place of those on Docker Hub: then
#                  carve and legacy-node are pushed too, for the architectures that both bases have
#   BUILD_FLAGS    passed to the builder of these two, for example --network=host
#   REGISTRY_PORT  of the registry; any free one by default
set -euo pipefail
cd "$(dirname "$0")/../.."
deploy/setup.sh rehearsal packages
export PATH=$PWD/target/tools/rehearsal/bin:$PWD/target/tools/bin:$PATH
export DIST=$PWD/target/dist
release=deploy/release/release.sh
# The images that contain only a program. The others need base images.
images="qr-service relay-service"
alone=${ONLY:-$images}
based="carve legacy-node"
if [ -z "${NGINX_IMAGE-}" ] || [ -z "${NODE_IMAGE-}" ]; then based=; fi
export NOT_PUSHED=
[ -n "$based" ] || NOT_PUSHED="carve legacy-node"
for image in $images; do
    case " $alone " in *" $image "*) ;; *) NOT_PUSHED+=" $image" ;; esac
done

die() {
    echo "rehearsal: $*" >&2
    exit 1
}

# step TITLE COMMAND...: runs it, and adds a line to the report
step() {
    local began=$SECONDS
    echo "rehearsal: $1" >&2
    "${@:2}"
    echo "| $1 | $((SECONDS - began)) |" >>"$DIST/report.md"
}

# fails TITLE COMMAND...: the command must fail
fails() {
    if "${@:2}" >"$DIST/refused.log" 2>&1; then die "not refused: $1"; fi
    echo "| refused: $1 | |" >>"$DIST/report.md"
}

start_registry() {
    local port tries=0
    port=${REGISTRY_PORT:-$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')}
    cat >"$DIST/registry.yml" <<EOF
version: 0.1
log: { accesslog: { disabled: true }, level: error }
storage: { filesystem: { rootdirectory: $DIST/registry } }
http: { addr: "127.0.0.1:$port" }
EOF
    docker-registry serve "$DIST/registry.yml" >"$DIST/registry.log" 2>&1 &
    registry_process=$!
    trap 'kill "$registry_process" 2>/dev/null || true' EXIT
    export REGISTRY=127.0.0.1:$port/qr REGISTRY_HTTP=1
    until python3 -c "import socket; socket.create_connection(('127.0.0.1', $port))" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || die "the registry did not start: $(cat "$DIST/registry.log")"
        sleep 0.1
    done
}

# Pushes the base images to the registry, since the rehearsal has its own store. Writes the architectures of both.
push_bases() {
    local name
    for name in NGINX_IMAGE NODE_IMAGE; do
        skopeo copy --quiet --all --dest-tls-verify=false "containers-storage:${!name}" "docker://$(base "$name")" >&2
        architectures_of "$(base "$name")"
    done | sort | uniq -d | tr '\n' ' ' >"$DIST/architectures.txt"
    [ -s "$DIST/architectures.txt" ] || die "the bases have no architecture in common"
}

# base VARIABLE: prints the base image's name in the registry
base() {
    echo "${REGISTRY%/*}/bases/${1%_IMAGE}:rehearsal" | tr '[:upper:]' '[:lower:]'
}

# architectures_of REFERENCE: prints the architectures of an image or an index, amd64 or arm64
architectures_of() {
    local raw
    raw=$(skopeo inspect --raw --tls-verify=false "docker://$1")
    if jq -e .manifests <<<"$raw" >/dev/null; then
        jq -r '.manifests[].platform.architecture' <<<"$raw"
    else
        skopeo inspect --config --tls-verify=false "docker://$1" | jq -r .architecture
    fi | grep -xE 'amd64|arm64' | sort -u
}

# With its own store, the rehearsal leaves no image on this machine and finds none.
push_images() {
    printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "%s"\n' \
        "$DIST/storage" "$DIST/storage-run" >"$DIST/storage.conf"
    export CONTAINERS_STORAGE_CONF=$DIST/storage.conf
    BUILDER=buildah PROGRAMS=$DIST/programs PUSH_FLAGS=--tls-verify=false IMAGES=$alone \
        deploy/images.sh >"$DIST/images.txt"
}

push_based_images() {
    local flags="${BUILD_FLAGS-} --tls-verify=false"
    flags+=" --build-arg NGINX_IMAGE=$(base NGINX_IMAGE) --build-arg NODE_IMAGE=$(base NODE_IMAGE)"
    BUILDER=buildah PROGRAMS=$DIST/programs PUSH_FLAGS=--tls-verify=false IMAGES=$based BUILD_FLAGS=$flags \
        ARCHITECTURES=$(cat "$DIST/architectures.txt") deploy/images.sh >>"$DIST/images.txt"
}

# Checks each pushed image: for each architecture it must hold the program that was tried, run it as user 65532, and
# have all labels.
check_images() {
    local name digest arch architectures
    while read -r name digest; do
        architectures="amd64 arm64"
        case " $based " in *" $(basename "$name") "*) architectures=$(cat "$DIST/architectures.txt") ;; esac
        for arch in $architectures; do
            check_image "$(basename "$name")" "$arch" "$name@$digest"
        done
    done <"$DIST/images.txt"
}

# check_image PROGRAM ARCH REFERENCE
check_image() {
    local work layer label program
    work=$(mktemp -d)
    skopeo --override-arch "$2" copy --quiet --src-tls-verify=false "docker://$3" "dir:$work/image"
    mkdir "$work/root"
    jq -r '.layers[].digest | sub("sha256:"; "")' "$work/image/manifest.json" | while read -r layer; do
        tar -xzf "$work/image/$layer" -C "$work/root"
    done
    for program in $(programs_in "$1"); do
        cmp "$work/root/$program" "$DIST/programs/$2/$(basename "$program")" ||
            die "the image $1 for $2 holds another program"
    done
    skopeo --override-arch "$2" inspect --config --tls-verify=false "docker://$3" >"$work/config"
    [ "$(jq -r '.architecture, .config.User' "$work/config" | xargs)" = "$2 65532:65532" ] ||
        die "the image $1 is not for $2, or runs as $(jq -r .config.User "$work/config")"
    for label in title description version revision created licenses source documentation; do
        jq -e --arg key "org.opencontainers.image.$label" '.config.Labels[$key] | strings | length > 0' \
            "$work/config" >/dev/null || die "the image $1 has no label $label"
    done
    rm -r "$work"
}

# programs_in IMAGE: their paths
programs_in() {
    case "$1" in
    carve) echo usr/local/bin/carve ;;
    legacy-node) ;;
    *) echo "$1" ;;
    esac
}

# The chart in the registry must render install.yaml, whose images are the pushed ones.
check_chart() {
    local name digest
    cmp "$DIST/files/install.yaml" <(
        cat deploy/k8s/base/namespace.yaml
        helm template qr "oci://$REGISTRY/charts/carve-out" --version "$($release version)" --plain-http --namespace qr
    ) || die "the pushed chart is not what install.yaml was made from"
    while read -r name digest; do
        case "$(basename "$name")" in
        qr-service | relay-service | carve | legacy-node)
            grep --quiet "image: $name@$digest" "$DIST/files/install.yaml" || die "install.yaml does not pin $name"
            ;;
        esac
    done <"$DIST/images.txt"
}

make_key() {
    (cd "$DIST" && COSIGN_PASSWORD='' cosign generate-key-pair --output-key-prefix "$1" >/dev/null)
}

verify_with() {
    COSIGN_KEY=$DIST/$1.key $release verify
}

verify_changed_file() {
    local file
    file=$(find "$DIST/files" -name 'qr-draw-[0-9]*-amd64.tar.gz')
    cp "$file" "$DIST/kept"
    echo >>"$file"
    verify_with cosign && return
    mv "$DIST/kept" "$file"
    return 1
}

report_contents() {
    echo
    echo "Signed images, each an index of amd64 and arm64${based:+; carve and legacy-node, on bases from here, of $(cat "$DIST/architectures.txt")}:"
    echo
    sed 's/^/    /' "$DIST/images.txt"
    echo
    echo "Files:"
    echo
    (cd "$DIST/files" && wc --bytes -- *) | sed 's/^/    /'
    echo
    [ -n "$based" ] || echo "Not rehearsed: carve and legacy-node (their base images are on Docker Hub)."
    echo "Not rehearsed: keyless signatures and provenance (GitHub makes them), packages for arm64"
    echo "(release.yml builds them on such a machine), publishing.${SKIP:+ Left out: $SKIP.}${ONLY:+ Of the programs, only: $ONLY.}${CARGO_FLAGS:+ Built with $CARGO_FLAGS.}"
}

rm -rf "$DIST"
mkdir -p "$DIST"
echo "# Rehearsal of $($release version), profile ${PROFILE:-release}, $(git describe --always --dirty)" >"$DIST/report.md"
printf '\n| step | seconds |\n| --- | ---: |\n' >>"$DIST/report.md"
export COSIGN_PASSWORD='' COSIGN_KEY=$DIST/cosign.key SOURCE_URL=https://example.com/owner/repository

step "one version in every file" $release version >"$DIST/version.txt"
# cargo-deny looks at the crates of every platform; a build has fetched only this one's.
cargo fetch --locked --quiet
# Without known vulnerabilities: their list is a repository on GitHub.
step "licences and sources of crates" cargo deny --offline check --hide-inclusion-graph bans licenses sources
step "notes from the changelog" $release notes Unreleased >"$DIST/notes.md"
for arch in amd64 arm64; do
    step "programs for $arch" $release programs "$arch"
done
for arch in amd64 arm64; do
    step "contract suite, $arch" $release try "$arch"
done
step "archives" $release archives
case " ${SKIP-} " in
*" packages "*) ;;
*)
    step "C, Python and npm packages" $release packages
    step "crates and packages as registries take them" $release publish --dry-run
    ;;
esac
step "SBOMs of the programs" $release sboms
start_registry
# Before push_images changes the store.
if [ -n "$based" ]; then step "base images pushed" push_bases; fi
step "images pushed" push_images
if [ -n "$based" ]; then step "images on these bases pushed" push_based_images; fi
step "images hold the tried programs" check_images
step "chart" $release chart
step "chart pushed, install.yaml written" $release pin
step "helm renders it from the registry" check_chart
make_key cosign
make_key other
step "checksums signed" $release sums
step "images signed, SBOMs attested" $release sign
step "all verified" $release verify
fails "another key" verify_with other
fails "a changed archive" verify_changed_file
report_contents >>"$DIST/report.md"
cat "$DIST/report.md"
