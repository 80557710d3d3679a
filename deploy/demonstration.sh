#!/bin/sh
# Copies nginx' files of the demonstration's app into this folder, and those of the other QR services that QR_COMPAT
# names and of the host QR_SHOW_HOST. qr-service reads both variables itself, and refuses what it does not know.
set -eu
proxy=$(dirname "$0")/../proxy
rm -f compat-*.conf server-show.conf
cp "$proxy"/app-*.conf .
for name in quickchart google; do
    case ,$(printf %s "${QR_COMPAT:-}" | tr -d ' '), in
    *,"$name",*) cp "$proxy/compat/$name.conf" "compat-$name.conf" ;;
    esac
done
case ${QR_SHOW_HOST-none} in
none) ;;
'' | *[!0-9A-Za-z.-]*) echo "QR_SHOW_HOST: \"$QR_SHOW_HOST\" is not a host name" >&2 && exit 1 ;;
*) sed "s/show\.invalid/$QR_SHOW_HOST/" "$proxy/compat/show.conf" >server-show.conf ;;
esac
