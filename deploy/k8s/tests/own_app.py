"""overlays/own-app, in front of two small servers in another namespace."""

import json
import tempfile
from pathlib import Path

from check import TOP, workspace_version
from load import Load
from pods import NAMESPACE, OWN_NAMESPACE, PROXY, kustomization, pod_spec
from ramp import ramp, set_share

NODE = f"localhost/legacy-node:{workspace_version()}"
# Answers a report with the server's name in the field that the route file ignores.
PROGRAM = """
const [name, delay_ms] = process.argv.slice(1);
const body = JSON.stringify({ total: 42, generated_at: name });
const server = require("node:http").createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    setTimeout(() => response.end(body), Number(delay_ms));
});
server.keepAliveTimeout = 65_000;
server.listen(8080);
"""


def a_route_of_ones_own_passes_the_gates(cluster):
    run_kubectl(cluster, "apply", "-f", "-", given=json.dumps(servers()))
    try:
        run_kubectl(cluster, "-n", OWN_NAMESPACE, "wait", "--for=condition=Ready", "pod", "--all")
        with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
            cluster.apply(with_path("/summary", cluster.own_app, Path(folder)))
        cluster.wait_until_ready()
        cluster.wait_until_none_terminates()
        move(cluster, "100", "summary", "new")
        # One of ten requests is mirrored.
        url = "http://proxy/report\\?year=[0-9]{4}"
        with Load(cluster, rate=300, connections=48, kept=False, url=url) as load:
            # Another route file.
            cluster.apply(cluster.own_app)
            # The gates want 451 pairs, which take 45 s at the shadow's own rate.
            cluster.kubectl("set", "env", "deployment/shadow", "SHADOW_CPU_PERCENT=40", "SHADOW_CONCURRENCY=4")
            cluster.wait_until_ready()
            cluster.wait_until_none_terminates()
            move(cluster, "100", "report", "new")
            move(cluster, "0", "report", "old")
            run = ["ramp", "report", "--steps=50,100", "--hold=10s", "--patience=90s"]
            code = ramp(cluster, run)
        shares = cluster.shares_served("report")
        cluster.expect(code == 0 and shares == {"100"}, f"carve ramp ends with {code}, at {shares}")
    finally:
        run_kubectl(cluster, "delete", "namespace", OWN_NAMESPACE, "--wait=false")
    return load.summary


def with_path(path, target, folder):
    """Returns a folder to apply: `target` with a route file `report.toml` that has this path."""
    route = f'path = "{path}"\njudge = {{ kind = "json", ignore = ["/generated_at"] }}\n'
    routes = {"name": "routes", "namespace": NAMESPACE, "behavior": "merge", "literals": [f"report.toml={route}"]}
    return kustomization(folder, target, configMapGenerator=[routes])


def move(cluster, percent, path, name):
    """Moves the route and waits until that server answers."""
    set_share(cluster, "report", percent)
    ask = lambda pod: cluster.ask(pod, 8080, f"{path}?year=2024")["generated_at"]
    answers = lambda: {ask(pod) for pod in cluster.pods(PROXY)} == {name}
    # Until 5 s after a reload, each kept connection of the API may get one more answer from the previous workers
    # (keepalive_min_timeout, proxy/start.sh).
    cluster.wait_for(f"{name} alone to answer at {percent}%", answers, timeout=10)


def run_kubectl(cluster, *arguments, given=None):
    """Runs kubectl outside the namespace of the parts."""
    done = cluster.run(*arguments, given=given)
    cluster.expect(done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")


def servers():
    """The two servers, as Services that listen where the overlay expects them."""
    labels = {"app.kubernetes.io/part-of": "qr"}
    metadata = {"name": OWN_NAMESPACE, "labels": labels}
    items = [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}]
    # The old server is slow enough that the latency gates pass even on a busy machine.
    for name, delay_ms in (("old", "50"), ("new", "0")):
        spec = pod_spec(name, NODE, ["-e", PROGRAM, name, delay_ms], memory="128Mi", command=["node"])
        metadata = {"name": name, "namespace": OWN_NAMESPACE, "labels": {"app": name}}
        ports = {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]}
        items += [
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
            {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": ports},
        ]
    return {"apiVersion": "v1", "kind": "List", "items": items}
