#!/usr/bin/env python3
"""Tests the nginx files that proxy/start.sh writes on a cluster: `make lint`. carve renders them. nginx itself checks
only those that need neither name resolution nor the parameter `resolve` (nginx 1.27.3).
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
RESOLV = "search qr.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\n"
SIDES = {"OLD_URL": "http://127.0.0.1:1", "NEW_URL": "http://127.0.0.1:2"}
PODS = {**SIDES, "NEW_PODS_URL": "http://new-ready.my-app:8080"}
OF_PODS = "server new-ready.my-app.svc.cluster.local:8080 resolve max_conns=64 max_fails=0;"
ROUTE = 'path = "/report"\n'
# Settings, a route file, whether start.sh accepts them, and lines that nginx' files, or else its error, must have.
CASES = [
    (SIDES, ROUTE, True, ["127.0.0.1:2 max_conns=64 max_fails=0;", "proxy_pass http://prometheus;", "listen 8081;\n"]),
    (PODS, ROUTE, True, [OF_PODS, "server prometheus:9090;", "proxy_pass http://prometheus;"]),
    (PODS, ROUTE, True, ["listen 8080;\nlisten [::]:8080;", "listen 8081;\nlisten [::]:8081;"]),
    *(
        ({**PODS, "PROMETHEUS_URL": url}, ROUTE, True, [OF_PODS, f"server {server} resolve", f"proxy_pass {passed};"])
        for url, server, passed in [
            ("http://a.b:9090", "a.b.svc.cluster.local:9090", "http://prometheus/"),
            ("http://a.b.svc/c/", "a.b.svc.cluster.local:80", "http://prometheus/c/"),
            ("http://a.b.com:1/c", "a.b.com:1", "http://prometheus/c/"),
        ]
    ),
    ({**SIDES, "PROMETHEUS_URL": "https://a.b"}, ROUTE, False, ["PROMETHEUS_URL: https://a.b: must be a URL"]),
    ({**SIDES, "PROMETHEUS_URL": "a.b:9090"}, ROUTE, False, ["PROMETHEUS_URL: a.b:9090: must be a URL"]),
    ({"NEW_URL": "http://127.0.0.1:2"}, ROUTE, False, ["OLD_URL"]),
    ({**PODS, "HOSTNAME": "proxy-6d4cf56db6-x2x4z"}, ROUTE, True, [OF_PODS]),
    ({**PODS, "HOSTNAME": "a-proxy-6d4cf56db6-x2x4z"}, ROUTE, False, ["a-proxy-6d", "namePrefix and nameSuffix"]),
    ({**PODS, "HOSTNAME": "proxy-a-6d4cf56db6-x2x4z"}, ROUTE, False, ["proxy-a-6d", "namePrefix and nameSuffix"]),
    (SIDES, f"{ROUTE}jugde = 1\n", False, ["report.toml", "line 2", "jugde"]),
]


def main():
    problems = [f"{settings}: {problem}" for settings, *case in CASES for problem in differences(settings, *case)]
    for problem in problems:
        print(f"start.sh: {problem}", file=sys.stderr)
    return 1 if problems else 0


def differences(settings, route, is_fine, lines):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        done = run(folder, settings, route)
        if is_fine != (done.returncode == 0):
            yield f"it ends with {done.returncode}: {done.stderr}"
            return
        text = done.stderr
        if is_fine:
            names = ("upstreams.conf", "nginx.conf", "listen.conf", "listen-admin.conf")
            text = "".join((folder / "run/proxy" / name).read_text() for name in names)
        if is_fine and "NEW_PODS_URL" not in settings and "[::]" in text:
            yield "it listens on IPv6, which this machine has not"
        follower = "follow" if "NEW_PODS_URL" in settings else "watch"
        if is_fine and follower not in (folder / "said").read_text():
            yield f"carve {follower} does not run"
        yield from (f"there is no {line} in {text}" for line in lines if line not in text)


def run(folder, settings, route):
    """Runs start.sh with its folders in this one."""
    for name in ("etc/proxy", "etc/routes", "run/proxy", "bin"):
        (folder / name).mkdir(parents=True)
    for file in [*(TOP / "proxy").glob("*.conf"), *(TOP / "deploy/k8s/base/proxy").glob("*.conf")]:
        shutil.copy(file, folder / "etc/proxy")
    for file in (folder / "etc/proxy").glob("*.conf"):
        if "make generate" in file.read_text().partition("\n")[0]:
            file.unlink()
    (folder / "etc/routes/report.toml").write_text(route)
    (folder / "etc/resolv.conf").write_text(RESOLV)
    carve = f'echo "$@" >>{folder}/said\ncase $1 in render | prepare) exec {TOP}/target/debug/carve "$@" ;; esac\n'
    script = (TOP / "proxy/start.sh").read_text()
    (folder / "proc/net").mkdir(parents=True)
    (folder / "proc/net/if_inet6").write_text("lo\n" if "NEW_PODS_URL" in settings else "")
    for path in ("/run/proxy", "/etc/proxy", "/etc/routes", "/etc/resolv.conf", "/proc/net/if_inet6"):
        script = script.replace(path, f"{folder}{path}")
    nginx = ""
    if settings == SIDES:
        nginx = f'[ "$1" = -v ] || set -- -t "$@"\nexec {shutil.which("nginx")} "$@"\n'
        for name in ("shadow", "prometheus"):
            script = script.replace(f"http://{name}:", "http://127.0.0.1:")
    for name, text in (("nginx", nginx), ("carve", carve)):
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}")
        (folder / "bin" / name).chmod(0o755)
    environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", **settings}
    if "NEW_PODS_URL" in settings:
        environment["RAMP_KUBERNETES_URL"] = "file:/run/cluster/split.json"
    return subprocess.run(["sh", "-c", script], env=environment, check=False, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
