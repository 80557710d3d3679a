"""Checks what proxy/start.sh makes of nginx' files on a cluster. It runs in a folder, and nginx does not start."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
RESOLV = "search qr.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\n"
PODS = "server qr-service-ready.qr.svc.cluster.local:42069 resolve max_conns=64;"
# PROMETHEUS_URL, and what must then be in upstreams.conf and nginx.conf; without these, start.sh must refuse it.
ADDRESSES = [
    ("", "server prometheus:9090;", "proxy_pass http://prometheus;"),
    ("http://a.b:9090", "server a.b.svc.cluster.local:9090 resolve max_fails=0;", "proxy_pass http://prometheus/;"),
    ("http://a.b.svc/c/", "server a.b.svc.cluster.local:80 resolve max_fails=0;", "proxy_pass http://prometheus/c/;"),
    ("http://a.b.com:1/c", "server a.b.com:1 resolve max_fails=0;", "proxy_pass http://prometheus/c/;"),
    ("https://a.b", None, None),
    ("a.b:9090", None, None),
]


def check_start():
    """Yields one line for each address that start.sh takes in another way."""
    for address, *expected in ADDRESSES:
        with tempfile.TemporaryDirectory() as folder:
            accepted = run(Path(folder), address)
            files = [Path(folder, "run", name).read_text() for name in ("upstreams.conf", "nginx.conf")]
            *_, follower = Path(folder, "carve").read_text().split() if accepted else [None]
        if expected == [None, None]:
            if accepted:
                yield f"start.sh takes PROMETHEUS_URL={address}"
            continue
        if not accepted or PODS not in files[0]:
            yield f"start.sh fails with PROMETHEUS_URL={address}"
        if follower != ("follow" if address else "watch"):
            yield f"start.sh starts carve {follower} with RAMP_KUBERNETES_URL={address}"
        for line, text in zip(expected, files, strict=True):
            if line not in text:
                yield f"start.sh with PROMETHEUS_URL={address} does not write {line}"


def run(folder, address):
    """Runs start.sh with its folders in this one; returns whether it succeeded."""
    for name in ("etc", "run", "bin"):
        (folder / name).mkdir()
    for file in [*(TOP / "proxy").glob("*.conf"), *(TOP / "deploy/k8s/base/proxy").glob("*.conf")]:
        shutil.copy(file, folder / "etc")
    (folder / "bin" / "nginx").symlink_to("/bin/true")
    (folder / "bin" / "carve").write_text(f'#!/bin/sh\necho "$@" >>{folder}/carve\n')
    (folder / "bin" / "carve").chmod(0o755)
    (folder / "resolv.conf").write_text(RESOLV)
    script = (TOP / "proxy/start.sh").read_text()
    for ours, there in [("/run/proxy", "run"), ("/etc/proxy", "etc"), ("/etc/resolv.conf", "resolv.conf")]:
        script = script.replace(ours, str(folder / there))
    environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PROMETHEUS_URL": address}
    environment["RAMP_KUBERNETES_URL"] = address and "file:/run/cluster/split.json"
    done = subprocess.run(["sh", "-c", script], env=environment, check=False, capture_output=True, text=True)
    return done.returncode == 0
