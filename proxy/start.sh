#!/bin/sh
# Starts nginx in a container: fills its prefix, which is empty at first, from the files of the image
# or those mounted over them.
set -eu

prefix=/run/proxy
cp -L /etc/proxy/nginx.conf /etc/proxy/listen.conf /etc/proxy/listen-admin.conf \
    /etc/proxy/upstreams.conf "$prefix"
# From 1.27.4 on, nginx can leave idle connections open for a while as it reloads or stops, so that what
# is on its way there is still answered.
version=$(nginx -v 2>&1 | sed 's|.*nginx/\([0-9.]*\).*|\1|')
if [ "$(printf '%s\n' 1.27.4 "$version" | sort -V | head -n 1)" = 1.27.4 ]; then
    echo "keepalive_min_timeout 5s;" >>"$prefix/listen.conf"
fi
[ -e "$prefix/live" ] || ln -s /etc/live-page "$prefix/live"
# A container that starts again in the same pod goes on with the split that it had. A new one takes
# the cluster's, where there is one.
if [ ! -e "$prefix/split.conf" ]; then
    if [ -e /etc/split/split.conf ]; then
        RAMP_NGINX_DIR=$prefix ramp prepare /etc/split/split.conf
    else
        cp /etc/proxy/split.conf "$prefix"
    fi
fi
exec nginx -e stderr -p "$prefix" -c "$prefix/nginx.conf"
