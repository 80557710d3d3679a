#!/usr/bin/env bash
# Builds every image, localhost/NAME:VERSION, with the first of docker, podman and buildah that works.
#   BUILDER      use this one
#   BUILD_FLAGS  passed to it, for example --network=host or --build-arg NODE_IMAGE=...
#   TEST=1       also build the images that `make deploy-test` needs
set -euo pipefail
cd "$(dirname "$0")/.."

builder=${BUILDER-}
if [ -z "$builder" ]; then
    for builder in docker podman buildah ""; do
        if [ -z "$builder" ]; then
            echo "images: none of docker, podman and buildah works here" >&2
            exit 1
        fi
        if "$builder" info >/dev/null 2>&1; then break; fi
    done
fi
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
read -r -a flags <<<"${BUILD_FLAGS-}"
# Without this flag buildah caches no layers.
if [ "$builder" = buildah ]; then flags+=(--layers); fi

# image NAME CONTEXT FLAG...
image() {
    echo "images: localhost/$1:$version"
    "$builder" build --quiet -t "localhost/$1:$version" --build-arg "VERSION=$version" \
        "${flags[@]}" "${@:3}" "$2"
}

for program in qr-service shadow edge ramp; do
    image "$program" . -f qr-service/Dockerfile --target "$program"
done
image proxy . -f proxy/Dockerfile --build-arg "RAMP_IMAGE=localhost/ramp:$version" \
    --build-arg "EDGE_IMAGE=localhost/edge:$version"
image legacy-node legacy-node -f legacy-node/Dockerfile
if [ -n "${TEST-}" ]; then
    for program in contract oha; do
        image "$program" . -f qr-service/Dockerfile --target "$program"
    done
fi
