#!/usr/bin/env bash
# Builds every image, localhost/NAME:VERSION, with the first of docker, podman and buildah that works.
#   BUILDER      use this one
#   BUILD_FLAGS  passed to it, for example --network=host or --build-arg NODE_IMAGE=...
#   TEST=1       also build the load generator of `make deploy-test`
#   IMAGES       only these, for example "qr-service carve"
#   VERSION      another version than that of Cargo.toml, to test upgrades
#   FROM         a tag or commit: build its images, as localhost/NAME:older, from a clone of it in target/older
#   SOURCE_URL   the repository's page, for the images' labels
#
# For a release, with podman or buildah:
#   PROGRAMS     a folder with amd64/ and arm64/: make images for both from these programs, compile nothing
#   ARCHITECTURES  only these, for example amd64
#   REGISTRY     push them to REGISTRY/NAME:VERSION, and print name and digest of each index
#   PUSH_FLAGS   passed to the push, for example --tls-verify=false
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "${FROM-}" ]; then
    rm -rf target/older
    git clone --quiet --shared --no-checkout . target/older
    git -C target/older checkout --quiet --detach "$(git rev-parse --verify "$FROM^{commit}")"
    FROM='' VERSION=older exec target/older/deploy/images.sh
fi

if [ -n "${PROGRAMS-}" ] && [ -z "${REGISTRY-}" ]; then
    echo "images: PROGRAMS needs a REGISTRY to push to" >&2
    exit 2
fi
builders=(docker podman buildah)
# docker's own store cannot hold an index of several architectures.
if [ -n "${PROGRAMS-}" ]; then builders=(buildah podman); fi
builder=${BUILDER-}
if [ -z "$builder" ]; then
    for builder in "${builders[@]}" ""; do
        if [ -z "$builder" ]; then
            echo "images: none of ${builders[*]} works here" >&2
            exit 1
        fi
        if "$builder" info >/dev/null 2>&1; then break; fi
    done
fi
version=${VERSION:-$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)}
registry=${REGISTRY:-localhost}
read -r -a flags <<<"${BUILD_FLAGS-}"
read -r -a push_flags <<<"${PUSH_FLAGS-}"
# Without this flag buildah caches no layers.
if [ "$builder" = buildah ]; then flags+=(--layers); fi

# The labels that all images share; their titles are in the Dockerfiles. Outside of a clone there is no
# commit to name.
label() {
    if [ -n "$2" ]; then flags+=(--label "org.opencontainers.image.$1=$2"); fi
}
label version "$version"
label licenses "MIT OR Apache-2.0"
label revision "$(git describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null || true)"
label created "$(git log -1 --format=%cI 2>/dev/null || true)"
label source "${SOURCE_URL-}"
label documentation "${SOURCE_URL:+$SOURCE_URL/tree/$version/docs}"

# build NAME CONTEXT FLAG...: for this machine's architecture, or for all of a release
build() {
    local name=$registry/$1:$version arch here
    if [ -z "${PROGRAMS-}" ]; then
        "$builder" build --quiet -t "$name" "${flags[@]}" "${@:3}" "$2"
        return
    fi
    "$builder" manifest rm "$name" >/dev/null 2>&1 || true
    # Older buildah does not set BUILDPLATFORM.
    here=linux/$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
    # With the commit's time, the same programs make the same image.
    for arch in ${ARCHITECTURES:-amd64 arm64}; do
        # This context replaces the stage of the same name, which is then not built.
        "$builder" build --quiet --manifest "$name" --platform "linux/$arch" "${flags[@]}" "${@:3}" \
            --build-arg "BUILDPLATFORM=$here" --timestamp "$(git log -1 --format=%ct)" \
            --build-context "programs=$PROGRAMS/$arch" "$2" >&2
    done
    push "$name"
}

push() {
    local digest_file
    digest_file=$(mktemp)
    "$builder" manifest push --quiet --all --format oci --digestfile "$digest_file" "${push_flags[@]}" \
        "$1" "docker://$1" >&2
    echo "${1%:*} $(cat "$digest_file")"
    rm "$digest_file"
}

# image NAME CONTEXT FLAG...
image() {
    case " ${IMAGES:-$1} " in
    *" $1 "*)
        echo "images: $registry/$1:$version" >&2
        build "$@"
        ;;
    esac
}

for name in qr-service relay-service carve; do
    image "$name" . -f deploy/Dockerfile --target "$name"
done
image legacy-node legacy-node -f legacy-node/Dockerfile
if [ -n "${TEST-}" ]; then
    image oha . -f deploy/Dockerfile --target oha
fi
