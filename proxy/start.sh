#!/bin/sh
# Starts nginx in a container. First copies the files of the image, or those mounted over them, into nginx' empty
# prefix.
#
# Settings, all variables, for docs/reference/settings.py: NAME [default] meaning.
#   NGINX_WORKERS [4] number of nginx' worker processes
#   OLD_URL [http://127.0.0.1:3000] the old side, http://HOST:PORT; if neither is set, mounted files stay as they are
#   NEW_URL [http://127.0.0.1:42069] the new side, http://HOST:PORT
#   OLD_PODS_URL [OLD_URL] a headless Service of the old side's pods, with their port; nginx then knows each of them
#   NEW_PODS_URL [NEW_URL] a headless Service of the new side's pods, with their port
#   TRUSTED_PROXIES [those of carve.toml] load balancers in front of nginx: addresses or networks, separated by commas
#   PROMETHEUS_URL [http://prometheus:9090/prometheus] the Prometheus of the live page, without /api/v1; plain HTTP
#   RAMP_FIRST_SHARE [that of the route file] the first share, in percent, of routes that were not prepared before
#   RAMP_KUBERNETES_URL [no cluster] file:FILE, the copy of a cluster's splits to follow; without it, `carve watch` runs
set -eu

# docker run IMAGE up --old ... --new ..., or another command of carve.
case ${1:-} in
'') ;;
up) shift && exec carve up --foreground "$@" ;;
*) exec carve "$@" ;;
esac

# EDGE_JSON_PERCENT replaces this variable. If it were ignored, a log that used to be sampled would be complete.
[ -z "${NGINX_LOG_PERCENT:-}" ] || { echo "NGINX_LOG_PERCENT: set EDGE_JSON_PERCENT of edge instead" >&2 && exit 1; }

# nginx' and Prometheus' files name the Services, and kustomize does not change names in files.
# shellcheck disable=SC3028 # the container runtime sets HOSTNAME
case ${RAMP_KUBERNETES_URL:+${HOSTNAME:-proxy-0-0}} in
proxy-*-*-*) of=another ;;
'' | proxy-*) of=proxy ;;
*) of=another ;;
esac
[ "$of" = proxy ] || {
    # shellcheck disable=SC3028
    echo "$HOSTNAME is not a pod of the Deployment proxy: namePrefix and nameSuffix cannot work, set a namespace" >&2
    exit 1
}
prefix=/run/proxy
cp -L /etc/proxy/*.conf "$prefix"
mkdir -p "$prefix/edge"
# nginx does not start with an address of IPv6 where there is none.
[ ! -s /proc/net/if_inet6 ] || sed -i -E 's/^listen ([0-9]+);/&\nlisten [::]:\1;/' "$prefix"/listen*.conf
if [ -n "${OLD_URL:-}${NEW_URL:-}" ]; then
    carve render --routes /etc/routes --to "$prefix" --shadow http://shadow:42080 --prometheus http://prometheus:9090 \
        --old "${OLD_PODS_URL:-$OLD_URL}" ${OLD_PODS_URL:+--resolve "$OLD_PODS_URL"} \
        --new "${NEW_PODS_URL:-$NEW_URL}" ${NEW_PODS_URL:+--resolve "$NEW_PODS_URL"} \
        ${TRUSTED_PROXIES:+--trusted-proxies "$TRUSTED_PROXIES"}
elif [ ! -e "$prefix/routes.conf" ]; then
    carve render --routes /etc/routes --to "$prefix"
fi
# The live page may use another Prometheus than the file's. nginx must start even if the name of that Prometheus is
# unknown, so it resolves the name later.
case ${PROMETHEUS_URL:=} in
'') ;;
http://[!/:]*)
    address=${PROMETHEUS_URL#http://}
    host=${address%%/*}
    path=${address#"$host"}
    case $host in *:*) ;; *) host=$host:80 ;; esac
    sed -i "s|^    server prometheus:9090;|    zone prometheus 64k;\n    server $host resolve max_fails=0;|" \
        "$prefix/upstreams.conf"
    sed -i "s|proxy_pass http://prometheus;|proxy_pass http://prometheus${path%/}/;|" "$prefix/nginx.conf"
    ;;
*) echo "PROMETHEUS_URL: $PROMETHEUS_URL: must be a URL such as http://prometheus.monitoring:9090" >&2 && exit 1 ;;
esac
# nginx itself asks DNS for names with `resolve`, and does not complete short names, so this does. On a cluster, the
# first search domain is NAMESPACE.svc.DOMAIN. The cluster's addresses have the same family (IPv4 or IPv6) as its DNS.
domain=$(sed -n 's/^search \([^ ]*\.svc\.[^ ]*\).*/\1/p' /etc/resolv.conf)
if [ -n "$domain" ]; then
    sed -i -E "/ resolve /{ s/(server [^.: ]+):/\1.$domain:/; s/(server [^.: ]+\.[^.: ]+):/\1.${domain#*.}:/; \
        s/(server [^.: ]+\.[^.: ]+\.svc):/\1.${domain#*.svc.}:/; }" \
        "$prefix/upstreams.conf"
fi
servers=$(sed -n -E 's/^nameserver +([^ ]+).*/\1/p' /etc/resolv.conf)
case $servers in
*:*) family=ipv4=off ;;
*) family=ipv6=off ;;
esac
# nginx repeats a failed query after resolver_timeout.
echo "resolver $(echo "$servers" | sed -E 's/.*:.*/[&]/' | tr '\n' ' ')valid=2s $family; resolver_timeout 2s;" \
    >"$prefix/resolver.conf"
# With `auto`, nginx would start one worker per core of the node, each with memory for all its connections.
sed -i "s/^worker_processes auto;/worker_processes ${NGINX_WORKERS:-4};/" "$prefix/nginx.conf"
# Since 1.27.4, nginx can keep idle connections open for a while when it reloads or stops, so that it still answers
# requests that are on their way.
version=$(nginx -v 2>&1 | sed 's|.*nginx/\([0-9.]*\).*|\1|')
if [ "$(printf '%s\n' 1.27.4 "$version" | sort -V | head -n 1)" = 1.27.4 ]; then
    echo "keepalive_min_timeout 5s;" >>"$prefix/listen.conf"
fi
[ -e "$prefix/live" ] || ln -s /etc/live-page "$prefix/live"
# A container that restarts in its pod keeps its splits. A new pod loads the cluster's current splits before it serves.
RAMP_NGINX_DIR=$prefix carve prepare /etc/routes --splits /etc/split
# Runs beside nginx, because only nginx' own container may signal it. On a cluster, `follow` reads the copy that another
# container keeps, which has the token. Elsewhere, `watch` rolls back runs whose process has died.
follower=watch
if [ -n "${RAMP_KUBERNETES_URL:-}" ]; then follower=follow; fi
(until RAMP_NGINX_DIR=$prefix carve "$follower"; do sleep 1; done) &
exec nginx -e stderr -p "$prefix" -c "$prefix/nginx.conf"
