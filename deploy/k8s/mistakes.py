"""Wrong configurations: the old pods keep serving, and a log or an event names the mistake."""

import json

from cluster import Cluster
from load import Load
from pods import PROXY, QR_SERVICE, pod_template_patch


def a_wrong_port_keeps_the_old_pods_serving(cluster):
    # A route may move meanwhile.
    with Load(cluster, kept=False) as load:
        patch = pod_template_patch("qr-service", env={"QR_ADDR": "0.0.0.0:99999"})
        cluster.patch("deployment", "qr-service", patch)
        line = cluster.wait_for_crash(QR_SERVICE)
        cluster.kubectl("rollout", "undo", "deployment/qr-service")
        cluster.wait_for_rollout("qr-service")
    return said_in_a_line(line, "QR_ADDR", load)


def a_configuration_that_nginx_cannot_parse_keeps_the_old_pods_serving(cluster):
    with Load(cluster, kept=False) as load:
        data = {**files_of_the_proxy(cluster), "upstreams.conf": "upstream {"}
        broken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "broken"}, "data": data}
        cluster.kubectl("create", "-f", "-", given=json.dumps(broken))
        mount_configuration(cluster, "broken")
        line = cluster.wait_for_crash(PROXY)
        cluster.kubectl("rollout", "undo", "deployment/proxy")
        cluster.wait_for_rollout("proxy")
    cluster.kubectl("delete", "configmap", "broken")
    return said_in_a_line(line, "upstreams.conf:1", load)


def a_missing_configuration_keeps_the_old_pods_serving(cluster):
    with Load(cluster, kept=False) as load:
        mount_configuration(cluster, "nowhere")
        cluster.wait_for_event("nowhere")
        cluster.kubectl("rollout", "undo", "deployment/proxy")
        cluster.wait_for_rollout("proxy")
    return load.summary


def a_split_that_ramp_did_not_write_keeps_the_old_pods_serving(cluster):
    written = cluster.get("configmap", "split")["data"]["qrcode.conf"]
    with Load(cluster, kept=False) as load:
        cluster.patch("configmap", "split", {"data": {"qrcode.conf": "nonsense"}})
        cluster.kubectl("rollout", "restart", "deployment/proxy")
        line = cluster.wait_for_crash(PROXY)
        cluster.patch("configmap", "split", {"data": {"qrcode.conf": written}})
        cluster.kubectl("rollout", "undo", "deployment/proxy")
        cluster.wait_for_rollout("proxy")
    return said_in_a_line(line, "qrcode.conf is not written by ramp", load)


def files_of_the_proxy(cluster):
    volumes = cluster.get("deployment", "proxy")["spec"]["template"]["spec"]["volumes"]
    name = next(each["configMap"]["name"] for each in volumes if each["name"] == "configuration")
    return cluster.get("configmap", name)["data"]


def mount_configuration(cluster, config_map):
    """Makes the proxies mount that ConfigMap as their configuration."""
    volumes = [{"name": "configuration", "configMap": {"name": config_map}}]
    cluster.patch("deployment", "proxy", {"spec": {"template": {"spec": {"volumes": volumes}}}})


def said_in_a_line(log, expected, load):
    Cluster.expect(len(log.splitlines()) == 1 and expected in log, f"the log says: {log}")
    return f"{log}; {load.summary}"


# A route may move during these.
MISTAKES_IN_FILES = [
    a_configuration_that_nginx_cannot_parse_keeps_the_old_pods_serving,
    a_missing_configuration_keeps_the_old_pods_serving,
]
