"""A log as busy as the proxy can make it: the kubelet counts it, and evicts a pod beyond its limit."""

import time

from load import Load
from pods import PROXY

# A former limit, at which proxies were evicted.
TOO_SMALL_MIB = 50
# How long the log may take to exceed it.
PATIENCE_SECONDS = 60
RATE = 10_000
# The longest request id that proxies log.
REQUEST_ID = "i" * 128


def clients_notice_no_busy_log(cluster):
    # All of it goes through one proxy.
    cluster.patch("hpa", "proxy", {"spec": {"minReplicas": 1, "maxReplicas": 1}})
    cluster.kubectl("scale", "deployment/proxy", "--replicas=1")
    (pod,) = cluster.wait_for("one proxy", lambda: len(cluster.pods(PROXY)) == 1 and cluster.pods(PROXY))
    most = 0
    load = Load(cluster, rate=RATE, connections=64, headers=[f"x-request-id: {REQUEST_ID}"])
    load.memory = "2Gi"  # oha keeps a record of each request
    with load:
        deadline = time.monotonic() + (cluster.busy_seconds or PATIENCE_SECONDS)
        while time.monotonic() < deadline and (cluster.busy_seconds or most < TOO_SMALL_MIB):
            time.sleep(5)
            most = max(most, used_mib(cluster, pod))
            cluster.expect(pod in cluster.ready_pods(PROXY), f"{pod} is not ready any more, at {most:.0f} MiB")
    cluster.restore()
    used = f"the log and files of the pod took up to {most:.0f} MiB"
    if most < TOO_SMALL_MIB:
        return f"left out: {used}, less than evicts one; --busy 600 is longer"
    return f"{used}; {load.summary}"


def used_mib(cluster, pod):
    """Returns what the kubelet compares with the limit of ephemeral storage."""
    sizes = {it["podRef"]["name"]: it.get("ephemeral-storage", {}).get("usedBytes", 0) for it in cluster.usage()}
    return sizes.get(pod, 0) / 2**20
