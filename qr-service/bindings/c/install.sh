#!/bin/sh
# Builds the library and installs it with its header and qr.pc: install.sh [PREFIX], by default /usr/local. DESTDIR is
# put before the prefix, for packagers. BUILT is a folder with libraries that Cargo has already built. For Linux; needs
# Rust and binutils.
set -eu

prefix=${1:-/usr/local}
case $prefix in
/*) ;;
*)
    echo "install.sh: PREFIX must be an absolute path, not $prefix" >&2
    exit 2
    ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
cargo=${CARGO:-cargo}

if [ -n "${BUILT:-}" ]; then
    built=$BUILT
    native_libs="-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc"
else
    # One build makes both libraries and prints the system libraries that the static one needs.
    if ! log=$("$cargo" rustc --manifest-path "$here/Cargo.toml" --release --lib --color never \
        -- --print native-static-libs 2>&1); then
        echo "$log" >&2
        exit 1
    fi
    native_libs=$(echo "$log" | sed -n 's/^note: native-static-libs: //p')
    # Asks Cargo for its target directory: a variable or a configuration file may set another.
    built=$("$cargo" metadata --manifest-path "$here/Cargo.toml" --format-version 1 --no-deps |
        sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')/release
fi
version=$("$cargo" pkgid --manifest-path "$here/Cargo.toml" | sed 's/.*[#@]//')

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strip --strip-debug -o "$work/libqr.a" "$built/libqr.a"
strip --strip-unneeded -o "$work/libqr.so" "$built/libqr.so"
cat >"$work/qr.pc" <<EOF
prefix=$prefix
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: qr
Description: QR codes as PNG
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lqr
Libs.private: $native_libs
EOF

to=${DESTDIR-}$prefix
install -d "$to/include" "$to/lib/pkgconfig"
install -m 644 "$here/qr.h" "$to/include/qr.h"
install -m 644 "$work/libqr.a" "$to/lib/libqr.a"
install -m 644 "$work/libqr.so" "$to/lib/libqr.so.$version"
ln -sf "libqr.so.$version" "$to/lib/libqr.so.${version%%.*}"
ln -sf "libqr.so.$version" "$to/lib/libqr.so"
install -m 644 "$work/qr.pc" "$to/lib/pkgconfig/qr.pc"
