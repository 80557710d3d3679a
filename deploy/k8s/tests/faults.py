"""Faults of pods and changes of the split under load: no client may notice any of them."""

import json
import time

from edges import Edges
from load import Load
from pods import NAMESPACE, PROXY, QR_SERVICE, pod_template_patch
from ramp import ramp


def clients_notice_no_rollout_of_the_sides_the_shadow_and_prometheus(cluster):
    parts = ("qr-service", "legacy-node", "shadow", "prometheus")
    with Load(cluster) as load, Edges(cluster) as edges:
        cluster.kubectl("rollout", "restart", *(f"deployment/{part}" for part in parts))
        for part in parts:
            cluster.wait_for_rollout(part)
        cluster.wait_until_none_terminates()
        said = edges.expect(retried_percent=1)
    return f"{load.summary}; {said}"


def clients_notice_no_rollout_of_the_proxy_which_has_the_split_that_was_set(cluster):
    cluster.expect(ramp(cluster, ["split", "25"]) == 0, "carve split 25 fails")
    with Load(cluster, kept=False) as load:
        cluster.kubectl("rollout", "restart", "deployment/proxy")
        cluster.wait_for_rollout("proxy")
        shares = cluster.shares_served()
        cluster.wait_until_none_terminates()
    cluster.restore()
    kept = cluster.shares_served()
    cluster.expect(shares == kept == {"25"}, f"served: {shares}; after another apply: {kept}")
    cluster.expect(ramp(cluster, ["split", "100"]) == 0, "carve split 100 fails")
    return load.summary


def clients_notice_no_change_of_the_split(cluster):
    with Load(cluster, kept=False) as load:
        for percent in ("0", "25", "100", "0", "100"):
            cluster.expect(ramp(cluster, ["split", percent]) == 0, f"carve split {percent} fails")
            shares = cluster.shares_served()
            cluster.expect(shares == {percent}, f"the proxies serve {shares}, not {percent}")
    return load.summary


def set_stop(cluster, words, route="qrcode"):
    """Stops a route by the patch of docs/moving-traffic.md, which needs only the proxies, or with None ends the stop.
    Waits until every proxy has seen it."""
    patch = json.dumps({"data": {f"{route}.stop": words}})
    cluster.kubectl("patch", "configmap", "split", "--type=merge", "-p", patch)
    expected = "stopped" if words else "not stopped"
    is_so = lambda: cluster.stops_served(route) == {expected}
    cluster.wait_for(f"every proxy to say {expected}", is_so, timeout=5)


def clients_notice_no_scaling(cluster):
    # A route may move meanwhile.
    with Load(cluster, kept=False) as load, Edges(cluster) as edges:
        spec = cluster.get("hpa", "qr-service")["spec"]
        for replicas in (10, 1):
            # The autoscaler enforces its bounds even without metrics; with metrics it also scales between them.
            cluster.patch("hpa", "qr-service", {"spec": {"minReplicas": replicas, "maxReplicas": replicas}})
            cluster.kubectl("scale", "deployment/qr-service", f"--replicas={replicas}")
            cluster.wait_for_rollout("qr-service")
            cluster.expect_pods(QR_SERVICE, replicas)
        cluster.wait_until_none_terminates()
        # The autoscaler adds the second pod again.
        cluster.patch("hpa", "qr-service", {"spec": spec})
        cluster.wait_until_ready()
        said = edges.expect(retried_percent=1)
    return f"{load.summary}; {said}"


def clients_notice_no_scaling_by_the_autoscaler(cluster):
    metrics = f"/apis/metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}/pods"
    if cluster.run("get", "--raw", metrics).returncode:
        return "left out: the cluster has no metrics"
    # The targets are so low that 800 requests a second need more than two pods, but 20 a second only half of two.
    scalers = {"qr-service": (QR_SERVICE, "8m"), "proxy": (PROXY, "60m")}
    for name, (_, millicores) in scalers.items():
        cpu = {"name": "cpu", "target": {"type": "AverageValue", "averageValue": millicores}}
        spec = {"metrics": [{"type": "Resource", "resource": cpu}], "maxReplicas": 4}
        spec["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": 0}}
        cluster.patch("hpa", name, {"spec": spec})
    most = {}

    def grown():
        for name, (pods, _) in scalers.items():
            most[name] = max(most.get(name, 0), len(cluster.ready_pods(pods)))
        return min(most.values()) > 2

    shrunk = lambda: all(len(cluster.pods(pods)) == 2 for pods, _ in scalers.values())
    with Load(cluster, rate=20, kept=False) as load:
        with Load(cluster, rate=800, kept=False) as rush:
            cluster.wait_for("the autoscalers to add pods", grown, timeout=120)
        cluster.wait_for("the autoscalers to take them away", shrunk, timeout=180)
        cluster.wait_until_none_terminates()
    cluster.restore()
    grown_to = ", ".join(f"{name} to {count}" for name, count in most.items())
    return f"{grown_to}, both back to 2; {load.summary}; {rush.summary}"


def clients_notice_no_pod_killed_at_once_and_no_eviction(cluster):
    with Load(cluster, kept=False) as load:
        cluster.kubectl("delete", "pod", cluster.pods(QR_SERVICE)[0], "--grace-period=0", "--force")
        time.sleep(5)
        cluster.wait_until_ready()
        for part in (PROXY, QR_SERVICE):
            cluster.evict(cluster.pods(part)[0])
        cluster.wait_until_none_terminates()
        cluster.wait_until_ready()
    return load.summary


def clients_notice_no_hung_pod_and_none_that_exceeds_its_memory(cluster):
    cluster.patch("deployment", "qr-service", frail())
    cluster.wait_for_rollout("qr-service")
    with Load(cluster) as load, Edges(cluster) as edges:
        hung, flooded = cluster.pods(QR_SERVICE)
        cluster.stop_process(hung, "qr-service")
        restarted = lambda: cluster.restarts().get(f"{hung}/qr-service")
        cluster.wait_for(f"the kubelet to restart {hung}", restarted, timeout=180)
        cluster.wait_until_ready()
        # Requests of the first second, until one has waited long enough; the other pod answers them.
        said = edges.expect(retried_percent=10)
        cluster.flood(f"http://{cluster.address_of(flooded)}:42069/qrcode?text=a", connections=4000)
        cluster.wait_for_reason(flooded, "OOMKilled")
        cluster.wait_until_ready()
    # apply would not revert settings that the manifests do not name.
    cluster.kubectl("rollout", "undo", "deployment/qr-service")
    cluster.restore()
    return f"{load.summary}; {said}"


def frail():
    """Returns a patch of qr-service that lets the test cause the two faults quickly."""
    # Clients cannot cause the second within the default limits.
    patch = pod_template_patch("qr-service", memory="12Mi", env={"QR_MAX_CONNECTIONS": "5000"})
    pod = patch["spec"]["template"]["spec"]
    # A container cannot stop the first process of its namespace, so here all containers of a pod share one.
    pod["shareProcessNamespace"] = True
    # By default it takes the kubelet a minute to give a hung pod up and to kill it.
    probe = {"periodSeconds": 3, "timeoutSeconds": 2, "terminationGracePeriodSeconds": 5}
    pod["containers"][0]["livenessProbe"] = probe
    return patch


FAULTS = [
    clients_notice_no_rollout_of_the_sides_the_shadow_and_prometheus,
    clients_notice_no_rollout_of_the_proxy_which_has_the_split_that_was_set,
    clients_notice_no_pod_killed_at_once_and_no_eviction,
    clients_notice_no_hung_pod_and_none_that_exceeds_its_memory,
]
