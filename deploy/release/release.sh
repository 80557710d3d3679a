#!/usr/bin/env bash
# The steps of a release. .github/workflows/release.yml runs them for a tag, rehearse.sh on one machine.
#
#     release.sh version [TAG]      print the version; fail unless the tag and every file have it
#     release.sh notes [VERSION]    print the version's part of CHANGELOG.md
#     release.sh programs ARCH      build the static programs for amd64 or arm64
#     release.sh try ARCH           run them: versions, a picture, the contract suite
#     release.sh archives           pack what people download
#     release.sh packages           pack the C, Python and npm packages of this machine's architecture, and try each
#     release.sh chart              write the Helm chart; its images have no digests yet
#     release.sh pin                make the images in images.txt its defaults, write install.yaml, and push it
#     release.sh sboms              write one SBOM per program, and check that it names the crates
#     release.sh sums               write SHA256SUMS over all files, and sign it and install.yaml
#     release.sh sign               sign the chart, and the images in images.txt, by digest, and attest their SBOMs
#     release.sh verify             verify all that sums and sign have made
#     release.sh publish            send the crates and packages to crates.io, npm and PyPI; --dry-run: all but that
#
#   DIST          where everything goes; target/dist by default
#   PROFILE       Cargo's profile of the programs; release by default, plain for a quick rehearsal
#   ONLY          only these programs, and CARGO_FLAGS for their builds: both for quick rehearsals
#   SOURCE_URL    the repository's page, for links in the notes
#   REGISTRY      where the images are, and the chart goes: REGISTRY/charts
#   NOT_PUSHED    images that the chart may name without a digest, in rehearsals
#   COSIGN_KEY    sign with this key, offline; without it, cosign signs by the identity of the workflow
#   REGISTRY_HTTP set if the registry speaks plain HTTP, as one on loopback does
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH=$PWD/target/tools/release/bin:$PATH

# shellcheck source=deploy/release/packages.sh
source deploy/release/packages.sh

dist=${DIST:-target/dist}
files=$dist/files
images=$dist/images.txt
# Name and digest of the pushed chart.
chart_digest=$dist/chart.txt
programs=${ONLY:-qr-draw qr-service relay-service relay-home carve}
# Files with their own signature: the checksums of all, and the one that people apply from its URL.
signed_files=(SHA256SUMS install.yaml)

die() {
    echo "release: $*" >&2
    exit 1
}

workspace_version() {
    sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1
}

# target_of ARCH: Rust's name of the architecture that images call ARCH
target_of() {
    case "${1-}" in
    amd64) echo x86_64-unknown-linux-musl ;;
    arm64) echo aarch64-unknown-linux-musl ;;
    *) die "the architecture is amd64 or arm64, not '${1-}'" ;;
    esac
}

own_arch() {
    case "$(uname -m)" in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) die "no release is built on $(uname -m)" ;;
    esac
}

# All files get the commit's time, so that the same commit packs the same bytes.
commit_time() {
    git log -1 --format=%ct
}

# version_places: "FILE VERSION" for each place that cannot read Cargo.toml
version_places() {
    grep -HoE 'localhost/[a-z-]+:[0-9][0-9A-Za-z.-]*' \
        deploy/compose.yaml deploy/k8s/README.md proxy/carve/README.md | sed 's|:localhost/.*:| |'
    grep -HoE '(:|--version )[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.-]*' deploy/README.md | sed -E 's/:(:|--version )/ /'
    grep -HoE ' version=[0-9][0-9A-Za-z.-]*' .github/SECURITY.md | sed 's|: version=| |'
    grep -HoE 'newName: localhost/.* newTag: [^ ]+' \
        deploy/k8s/base/kustomization.yaml | sed 's|:newName.* | |'
    sed -n 's|^  "version": "\(.*\)",|qr-service/bindings/node/package.json \1|p' \
        qr-service/bindings/node/package.json
}

version() {
    local version file found
    version=$(workspace_version)
    if [ -n "${1-}" ] && [ "$1" != "$version" ]; then
        die "the tag is $1, but the version in Cargo.toml is $version"
    fi
    while read -r file found; do
        [ "$found" = "$version" ] || die "$file has version $found, but Cargo.toml has $version"
    done < <(version_places)
    [ -z "${1-}" ] || notes "$version" >/dev/null
    echo "$version"
}

# Links to files become links to the tag, because a release's page has no files to link to.
notes() {
    local heading text to_tag=()
    heading=${1:-$(workspace_version)}
    text=$(awk -v heading="$heading" '
        /^## / { inside = $2 == heading || $2 == "[" heading "]"; next }
        inside' CHANGELOG.md)
    [ -n "${text//[$'\n\t ']/}" ] || die "CHANGELOG.md says nothing under '## $heading'"
    if [ -n "${SOURCE_URL-}" ]; then to_tag=(-e "s#\]\(([^):]+)\)#](${SOURCE_URL}/blob/$heading/\1)#g"); fi
    # Without the blank lines before the first line and after the last.
    sed -E "${to_tag[@]}" -e '/./,$!d' <<<"$text"
}

programs() {
    local arch=${1-} target profile=${PROFILE:-release} build=(build) flags together=() built program
    target=$(target_of "$arch")
    # musl and its compiler come from musl-tools, with which docs/adr/0007-allocator.md was measured, or for the other
    # architecture from zig.
    if [ "$arch" != "$(own_arch)" ]; then build=(zigbuild); fi
    build+=(--locked --profile "$profile" --target "$target" --config "profile.$profile.strip=true")
    read -r -a flags <<<"${CARGO_FLAGS-}"
    for program in $programs; do
        # Built separately: its features of qr-core would otherwise be added to qr-service's.
        if [ "$program" = qr-draw ]; then cargo auditable "${build[@]}" "${flags[@]}" -p qr-cli; continue; fi
        together+=(-p "$(crate_of "$program")")
    done
    if [ ${#together[@]} -gt 0 ]; then cargo auditable "${build[@]}" "${flags[@]}" "${together[@]}"; fi
    built=${CARGO_TARGET_DIR:-target}/$target/$profile
    for program in $programs; do
        install -D -m 755 "$built/$program" "$dist/programs/$arch/$program"
    done
}

# Reads where qr-service listens from its log, since it chose a free port.
address_in() {
    local tries=0 address
    until address=$(grep -m 1 '"listening"' "$1" | sed -n 's/.*"addr":"\([^"]*\)".*/\1/p') && [ -n "$address" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || die "qr-service did not start: $(cat "$1")"
        sleep 0.1
    done
    echo "$address"
}

try() {
    local arch=${1-} at run=() version program said log server address
    target_of "$arch" >/dev/null
    at=$dist/programs/$arch
    version=$(workspace_version)
    if [ "$arch" != "$(own_arch)" ]; then run=("qemu-$(target_of "$arch" | cut -d - -f 1)-static"); fi
    for program in $programs; do
        said=$("${run[@]}" "$at/$program" --version)
        [ "${said##* }" = "$version" ] || die "$at/$program says it is '$said', not version $version"
        ! readelf --program-headers "$at/$program" | grep -q INTERP || die "$at/$program is not static"
    done
    # The picture is defined to the byte, so each architecture must draw the same.
    "${run[@]}" "$at/qr-draw" https://example.com/ |
        cmp - <("$dist/programs/$(own_arch)/qr-draw" https://example.com/) || die "$at/qr-draw draws another picture"

    log=$(mktemp)
    QR_ADDR=127.0.0.1:0 QR_ADMIN_ADDR=127.0.0.1:0 "${run[@]}" "$at/qr-service" >"$log" 2>&1 &
    server=$!
    # shellcheck disable=SC2064  # what they are now
    trap "kill $server 2>/dev/null || true; rm -f $log" EXIT
    address=$(address_in "$log")
    # With this machine's carve: an emulated one would take minutes to decode the pictures.
    "$dist/programs/$(own_arch)/carve" contract "http://$address" --served-by qr-service
    kill "$server"
    wait "$server" || die "$at/qr-service did not stop with 0: $(tail -n 3 "$log")"
    rm -f "$log"
    trap - EXIT
}

# pack FOLDER NAME: packs FOLDER/NAME as an archive that depends only on its files
pack() {
    mkdir -p "$files"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$(commit_time)" \
        -C "$1" -cf - "$2" | gzip -n9 >"$files/$2.tar.gz"
}

archives() {
    local work version arch program name
    for arch in amd64 arm64; do
        for program in $programs; do
            [ -x "$dist/programs/$arch/$program" ] || die "$dist/programs/$arch has no $program"
        done
    done
    work=$(mktemp -d)
    version=$(workspace_version)
    # shellcheck disable=SC2046  # a list
    deploy/release/licences.py "$work" $(for program in $programs; do crate_of "$program"; done)
    for program in $programs; do
        for arch in amd64 arm64; do
            name=$program-$version-linux-$arch
            mkdir "$work/$name"
            cp "$dist/programs/$arch/$program" LICENSE* "$work/$name"
            cp "$work/$(crate_of "$program").txt" "$work/$name/THIRD-PARTY.txt"
            pack "$work" "$name"
        done
    done
    rm -r "$work"
}

crate_of() {
    case "$1" in
    qr-draw) echo qr-cli ;;
    relay-home) echo relay-service ;;
    *) echo "$1" ;;
    esac
}

# names_crate SBOM CRATE
names_crate() {
    jq -e --arg crate "pkg:cargo/$2@$(workspace_version)" \
        'any(.packages[].externalRefs[]?; .referenceLocator == $crate)' "$1" >/dev/null ||
        die "$1 does not name $2: was it built without cargo auditable?"
}

sboms() {
    local arch program sbom
    mkdir -p "$files"
    for arch in amd64 arm64; do
        for program in $programs; do
            sbom=$files/$program-$(workspace_version)-linux-$arch.spdx.json
            syft scan --quiet "file:$dist/programs/$arch/$program" --source-name "$program" \
                --source-version "$(workspace_version)" --output "spdx-json=$sbom"
            names_crate "$sbom" "$(crate_of "$program")"
        done
    done
}

chart() {
    target/tools/python/bin/python deploy/k8s/chart.py --out "$dist/carve-out"
}

# With pinned digests, verifying the chart also verifies the images.
pin() {
    local work version name without=()
    work=$(mktemp -d)
    version=$(workspace_version)
    name=${REGISTRY:?}/charts/carve-out
    read -r -a without <<<"${NOT_PUSHED-}"
    cp -r "$dist/carve-out" "$work"
    deploy/k8s/pin.py "$work/carve-out" "$images" --without "${without[@]}"
    pack "$work" carve-out
    mv "$files/carve-out.tar.gz" "$files/carve-out-$version.tgz"
    {
        cat deploy/k8s/base/namespace.yaml
        helm template qr "$work/carve-out" --namespace qr
    } >"$files/install.yaml"
    rm -r "$work"
    helm push ${REGISTRY_HTTP:+--plain-http} "$files/carve-out-$version.tgz" "oci://${name%/*}"
    echo "$name sha256:$(raw_manifest "$name:$version" | sha256sum | cut -d ' ' -f 1)" >"$chart_digest"
}

# Sets the options of cosign: for signing, for verifying, and for its registry.
cosign_options() {
    signing=(--yes)
    registry=()
    if [ -n "${REGISTRY_HTTP-}" ]; then
        registry=(--allow-http-registry)
        export SYFT_REGISTRY_INSECURE_USE_HTTP=true
    fi
    if [ -n "${COSIGN_KEY-}" ]; then
        signing+=(--key "$COSIGN_KEY" --tlog-upload=false --use-signing-config=false)
        verifying=(--key "${COSIGN_KEY%.key}.pub" --insecure-ignore-tlog=true)
    else
        verifying=(--certificate-identity "https://github.com/${GITHUB_WORKFLOW_REF:?}"
            --certificate-oidc-issuer https://token.actions.githubusercontent.com)
    fi
}

sums() {
    local file
    cosign_options
    (cd "$files" && rm -f SHA256SUMS* ./*.sigstore.json && sha256sum -- * >"../SHA256SUMS" && mv ../SHA256SUMS .)
    for file in "${signed_files[@]}"; do
        cosign sign-blob "${signing[@]}" --bundle "$files/$file.sigstore.json" "$files/$file"
    done
}

raw_manifest() {
    skopeo inspect --raw ${REGISTRY_HTTP:+--tls-verify=false} "docker://$1"
}

# parts REFERENCE: "ARCH DIGEST" for each image of an index
parts() {
    raw_manifest "$1" | jq -r '.manifests[] | "\(.platform.architecture) \(.digest)"'
}

sign() {
    local name digest arch part sbom
    cosign_options
    cosign sign "${signing[@]}" "${registry[@]}" "$(tr ' ' @ <"$chart_digest")"
    while read -r name digest; do
        cosign sign "${signing[@]}" "${registry[@]}" --recursive "$name@$digest"
        while read -r arch part; do
            sbom=$dist/sboms/$(basename "$name")-$arch.spdx.json
            mkdir -p "$dist/sboms"
            syft scan --quiet "registry:$name@$part" --output "spdx-json=$sbom"
            case " $programs " in
            *" $(basename "$name") "*) names_crate "$sbom" "$(basename "$name")" ;;
            esac
            cosign attest "${signing[@]}" "${registry[@]}" --type spdxjson --predicate "$sbom" "$name@$part"
        done < <(parts "$name@$digest")
    done <"$images"
}

verify() {
    local file name digest arch part
    cosign_options
    (cd "$files" && sha256sum --check --quiet SHA256SUMS)
    for file in "${signed_files[@]}"; do
        cosign verify-blob "${verifying[@]}" --bundle "$files/$file.sigstore.json" "$files/$file"
    done
    cosign verify "${verifying[@]}" "${registry[@]}" "$(tr ' ' @ <"$chart_digest")" >/dev/null
    echo "verified: $(cat "$chart_digest")"
    while read -r name digest; do
        cosign verify "${verifying[@]}" "${registry[@]}" "$name@$digest" >/dev/null
        while read -r arch part; do
            cosign verify "${verifying[@]}" "${registry[@]}" "$name@$part" >/dev/null
            cosign verify-attestation "${verifying[@]}" "${registry[@]}" --type spdxjson "$name@$part" >/dev/null
            echo "verified: $name $arch $part"
        done < <(parts "$name@$digest")
    done <"$images"
}

case "${1-}" in
version | notes | programs | try | archives | packages | sboms | chart | pin | sums | sign | verify | publish) "$@" ;;
*)
    echo "usage: release.sh version|notes|programs|try|archives|packages|sboms|chart|pin|sums|sign|verify|publish ..." >&2
    exit 2
    ;;
esac
