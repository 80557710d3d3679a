#!/bin/sh
# Starts nginx in a container: first copies the files of the image, or those mounted over them, into
# nginx' empty prefix.
set -eu

prefix=/run/proxy
cp -L /etc/proxy/nginx.conf /etc/proxy/listen.conf /etc/proxy/listen-admin.conf \
    /etc/proxy/upstreams.conf "$prefix"
# Since 1.27.4, nginx can keep idle connections open for a while when it reloads or stops, so it still
# answers requests that are on their way.
version=$(nginx -v 2>&1 | sed 's|.*nginx/\([0-9.]*\).*|\1|')
if [ "$(printf '%s\n' 1.27.4 "$version" | sort -V | head -n 1)" = 1.27.4 ]; then
    echo "keepalive_min_timeout 5s;" >>"$prefix/listen.conf"
fi
[ -e "$prefix/live" ] || ln -s /etc/live-page "$prefix/live"
# A container that restarts in its pod keeps its split. A new pod loads the cluster's split, if one is
# set, before it serves.
if [ ! -e "$prefix/split.conf" ]; then
    if [ -e /etc/split/split.conf ]; then
        RAMP_NGINX_DIR=$prefix ramp prepare /etc/split/split.conf
    else
        cp /etc/proxy/split.conf "$prefix"
    fi
fi
exec nginx -e stderr -p "$prefix" -c "$prefix/nginx.conf"
