"""Bad pods of the new side, no pods of it, and no DNS: the proxies stop using bad pods and go on."""

import json
import time

from edges import Edges
from faults import set_stop
from load import Load
from own_app import NODE
from pods import NAMESPACE, PROXY, QR_SERVICE, QR_SERVICE_PORT, pod_spec
from ramp import ramp
from walks import end, in_time, setting_0, stop_by_kubectl

# Each is ready, because it has no probe, and belongs to qr-service's Service like a pod of the Deployment.
BAD = {
    "answers-500": 'require("http").createServer((_, answer) => { answer.statusCode = 500; answer.end(); })'
    f".listen({QR_SERVICE_PORT})",
    "refuses": "setInterval(() => {}, 1e9)",
    "hangs": f'require("net").createServer(() => {{}}).listen({QR_SERVICE_PORT})',
}
# Requests of the first second, until a proxy has waited long enough for a pod that hangs, then one per 5 s and proxy.
RETRIED_PERCENT = 10


def clients_notice_no_pod_that_answers_500_refuses_or_hangs_for_ever(cluster):
    """Adds a bad pod of each kind, one after the other, to two good ones. If the proxies kept using it, it would get a
    third of the requests."""
    said = []
    # The relay's route may move meanwhile.
    with Load(cluster, kept=False) as load:
        for name in BAD:
            with Edges(cluster) as edges:
                cluster.kubectl("apply", "-f", "-", given=json.dumps(bad_pod(name)))
                cluster.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=30s")
                cluster.wait_for("a proxy to ask it", lambda edges=edges: edges.since()["retried"], timeout=30)
                # Each proxy asks it again every 5 s.
                time.sleep(11)
                said.append(f"{name}: {edges.expect(RETRIED_PERCENT)}")
                cluster.kubectl("delete", "pod", name, "--grace-period=1")
        time.sleep(8)  # until the proxies have forgotten the last one
    return f"{load.summary}; {'; '.join(said)}"


def bad_pod(name):
    spec = pod_spec(name, NODE, ["-e", BAD[name]], memory="128Mi", command=["node"])
    spec["containers"][0]["ports"] = [{"name": "http", "containerPort": QR_SERVICE_PORT}]
    # Without the ReplicaSet's hash label: it would take the pod for one of its own.
    labels = dict([QR_SERVICE.split("=")])
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def clients_notice_no_half_minute_without_dns_and_both_ways_back_work(cluster):
    dns = ("deployment/coredns", "-n", "kube-system")
    found = cluster.run("get", *dns, "-o", "jsonpath={.spec.replicas}")
    if found.returncode:
        return "left out: no Deployment coredns in kube-system"
    took = {}

    def back():
        cluster.run("scale", *dns, f"--replicas={found.stdout}")
        cluster.run("rollout", "status", *dns, "--timeout=60s")

    try:
        # The load keeps its connections, since each new one would ask DNS for the proxy.
        with Load(cluster) as load, Edges(cluster) as edges:
            cluster.run("scale", *dns, "--replicas=0")
            time.sleep(20)  # CoreDNS needs some of it to end
            said = edges.expect(RETRIED_PERCENT)
            took["stop_by_kubectl"] = stop_by_kubectl(cluster)
            set_stop(cluster, None)
            with setting_0(cluster) as took["set_0"]:
                back()
    finally:
        back()
    # nginx does not load a configuration whose names it cannot resolve, so the route is stopped instead of split.
    end(cluster)
    cluster.expect(ramp(cluster, ["split", "100"]) == 0, "carve split 100 fails")
    return f"{in_time(cluster, took)}; {load.summary}; {said}"


def clients_notice_no_time_without_a_ready_pod(cluster):
    with Load(cluster, rate=50, kept=False) as load:
        with Edges(cluster) as edges:
            scale(cluster, 0)
            cluster.wait_for("requests without a live upstream", lambda: edges.since()["no live"] > 50)
            counts = edges.since()
        cluster.expect(
            counts["fallback"] >= counts["no live"], f"the old side does not stand in for the new one: {counts}"
        )
        # A proxy that starts now knows no pod of the new side.
        cluster.kubectl("delete", "pod", cluster.pods(PROXY)[0], "--wait=false")
        cluster.wait_for_rollout("proxy")
        cluster.wait_until_none_terminates()
        with Edges(cluster) as edges:
            scale(cluster, 2)
            cluster.wait_for("the new side to answer again", lambda: edges.since()["new"] > 50)
    cluster.restore()
    return f"{load.summary}; without a live upstream: {counts['no live']}, all answered by the old side"


def scale(cluster, replicas):
    cluster.kubectl("scale", "deployment/qr-service", f"--replicas={replicas}")
    cluster.wait_for_rollout("qr-service")
    cluster.wait_until_none_terminates()


BAD_PODS = [
    clients_notice_no_pod_that_answers_500_refuses_or_hangs_for_ever,
    clients_notice_no_time_without_a_ready_pod,
]
