"""Faults of pods and changes of the split under load: no client may notice any of them."""

import json
import time

from edges import Edges
from load import Load
from pods import PROXY, QR_SERVICE, pod_template_patch
from ramp import ramp


def clients_notice_no_rollout_of_qr_service(cluster):
    with Edges(cluster) as edges:
        said = rolled_out(cluster, "qr-service")
        return f"{said}; {edges.expect(retried_percent=1)}"


def clients_notice_no_rollout_of_the_legacy_app(cluster):
    return rolled_out(cluster, "legacy-node")


def clients_notice_no_rollout_of_the_shadow(cluster):
    return rolled_out(cluster, "shadow")


def clients_notice_no_rollout_of_the_proxy(cluster):
    return rolled_out(cluster, "proxy", kept=False)


def clients_notice_no_rollout_of_prometheus(cluster):
    return rolled_out(cluster, "prometheus")


def rolled_out(cluster, deployment, kept=True):
    with Load(cluster, kept=kept) as load:
        cluster.kubectl("rollout", "restart", f"deployment/{deployment}")
        cluster.wait_for_rollout(deployment)
        cluster.wait_until_none_terminates()
    return load.summary


def clients_notice_no_change_of_the_split(cluster):
    with Load(cluster, kept=False) as load:
        for percent in ("0", "25", "100", "0", "100"):
            cluster.expect(ramp(cluster, ["set", percent]) == 0, f"ramp set {percent} fails")
            shares = cluster.shares_served()
            cluster.expect(shares == {percent}, f"the proxies serve {shares}, not {percent}")
    return load.summary


def clients_notice_no_stop_by_kubectl(cluster):
    # The patch of deploy/README.md, which needs nothing of ours but the proxies.
    with Load(cluster) as load:
        set_stop(cluster, "wrong pictures")
        set_stop(cluster, None)
    return load.summary


def set_stop(cluster, words, route="qrcode"):
    """Stops a route, or with None ends that, and waits until every proxy has seen it."""
    patch = json.dumps({"data": {f"{route}.stop": words}})
    cluster.kubectl("patch", "configmap", "split", "--type=merge", "-p", patch)
    expected = "stopped" if words else "not stopped"
    is_so = lambda: cluster.stops_served(route) == {expected}
    cluster.wait_for(f"every proxy to say {expected}", is_so, timeout=5)


def a_run_passes_the_gates_of_the_clusters_prometheus(cluster):
    cluster.expect(ramp(cluster, ["set", "0"]) == 0, "ramp set 0 fails")
    run = ["run", "--steps=25,100", "--hold=30s", "--patience=90s"]
    with Load(cluster, kept=False) as load:
        code = ramp(cluster, run)
    shares = cluster.shares_served()
    cluster.expect(code == 0 and shares == {"100"}, f"ramp run ends with {code}, at {shares}")
    return load.summary


def a_new_proxy_has_the_split_that_was_set(cluster):
    cluster.expect(ramp(cluster, ["set", "25"]) == 0, "ramp set 25 fails")
    cluster.kubectl("rollout", "restart", "deployment/proxy")
    cluster.wait_for_rollout("proxy")
    shares = cluster.shares_served()
    cluster.restore()
    kept = cluster.shares_served()
    cluster.expect(shares == kept == {"25"}, f"served: {shares}; after another apply: {kept}")
    cluster.expect(ramp(cluster, ["set", "100"]) == 0, "ramp set 100 fails")


def clients_notice_no_scaling(cluster):
    # The autoscaler enforces its bounds even without metrics, so its minimum must allow one pod.
    cluster.patch("hpa", "qr-service", {"spec": {"minReplicas": 1}})
    with Load(cluster) as load, Edges(cluster) as edges:
        for replicas in (1, 10, 2):
            cluster.kubectl("scale", "deployment/qr-service", f"--replicas={replicas}")
            cluster.wait_for_rollout("qr-service")
            cluster.wait_until_none_terminates()
            cluster.expect_pods(QR_SERVICE, replicas)
        said = edges.expect(retried_percent=1)
    cluster.restore()
    return f"{load.summary}; {said}"


def clients_notice_no_deleted_pod(cluster):
    with Load(cluster) as load:
        cluster.kubectl("delete", "pod", cluster.pods(QR_SERVICE)[0], "--wait=false")
        cluster.wait_until_none_terminates()
        cluster.wait_until_ready()
    return load.summary


def clients_notice_no_pod_killed_at_once(cluster):
    with Load(cluster) as load:
        cluster.kubectl("delete", "pod", cluster.pods(QR_SERVICE)[0], "--grace-period=0", "--force")
        time.sleep(5)
        cluster.wait_until_ready()
    return load.summary


def clients_notice_no_pod_that_exceeds_its_memory(cluster):
    # Clients cannot cause this within the default limits, so the test raises the limits.
    patch = pod_template_patch("qr-service", memory="12Mi", env={"QR_MAX_CONNECTIONS": "5000"})
    cluster.patch("deployment", "qr-service", patch)
    cluster.wait_for_rollout("qr-service")
    with Load(cluster) as load:
        victim = cluster.pods(QR_SERVICE)[0]
        cluster.flood(f"http://{cluster.address_of(victim)}:42069/qrcode?text=a", connections=4000)
        cluster.wait_for_reason(victim, "OOMKilled")
        cluster.wait_until_ready()
    cluster.restore()
    return load.summary


def clients_notice_no_eviction(cluster):
    with Load(cluster, kept=False) as load:
        for part in (PROXY, QR_SERVICE):
            cluster.evict(cluster.pods(part)[0])
            cluster.wait_until_none_terminates()
            cluster.wait_until_ready()
    return load.summary


def clients_notice_no_hung_pod(cluster):
    # A container cannot stop the first process of its namespace, so here all containers of a pod share one.
    share_processes(cluster, True)
    with Load(cluster) as load, Edges(cluster) as edges:
        victim = cluster.pods(QR_SERVICE)[0]
        cluster.stop_process(victim, "qr-service")
        restarted = lambda: cluster.restarts().get(f"{victim}/qr-service")
        cluster.wait_for(f"the kubelet to restart {victim}", restarted, timeout=180)
        cluster.wait_until_ready()
        # Those of the second before the first of them has waited long enough; the other pod answers them.
        said = edges.expect(retried_percent=10)
    share_processes(cluster, None)
    cluster.restore()
    return f"{load.summary}; {said}"


def share_processes(cluster, value):
    patch = {"spec": {"template": {"spec": {"shareProcessNamespace": value}}}}
    cluster.patch("deployment", "qr-service", patch)
    cluster.wait_for_rollout("qr-service")
    cluster.wait_until_none_terminates()


def clients_notice_no_minute_without_the_api(cluster):
    # A test cannot stop a cluster's API. Without this binding it refuses the proxies.
    with Load(cluster, kept=False) as load:
        cluster.kubectl("delete", "rolebinding", "proxy-follow-split")
        time.sleep(60)
        served = cluster.shares_served(), cluster.stops_served()
        cluster.expect(served == ({"100"}, {"not stopped"}), f"without the API, the proxies serve {served}")
        cluster.apply()
        set_stop(cluster, "wrong pictures")
        set_stop(cluster, None)
        cluster.expect(ramp(cluster, ["set", "0"]) == 0, "ramp set 0 fails")
        cluster.expect(ramp(cluster, ["set", "100"]) == 0, "ramp set 100 fails")
    restarts = cluster.restarts()
    cluster.expect(not restarts, f"containers restarted: {restarts}")
    return load.summary


FAULTS = [
    clients_notice_no_rollout_of_qr_service,
    clients_notice_no_rollout_of_the_legacy_app,
    clients_notice_no_rollout_of_the_shadow,
    clients_notice_no_rollout_of_the_proxy,
    clients_notice_no_rollout_of_prometheus,
    clients_notice_no_change_of_the_split,
    clients_notice_no_stop_by_kubectl,
    a_run_passes_the_gates_of_the_clusters_prometheus,
    a_new_proxy_has_the_split_that_was_set,
    clients_notice_no_scaling,
    clients_notice_no_deleted_pod,
    clients_notice_no_pod_killed_at_once,
    clients_notice_no_pod_that_exceeds_its_memory,
    clients_notice_no_eviction,
    clients_notice_no_hung_pod,
    clients_notice_no_minute_without_the_api,
]
