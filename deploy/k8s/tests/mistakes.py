"""Wrong configurations: the old pods keep serving, and a log or an event names the mistake."""

import json

from load import Load
from pods import PROXY, QR_SERVICE, pod_template_patch


def a_wrong_port_keeps_the_old_pods_serving(cluster):
    # A route may move meanwhile.
    with Load(cluster, kept=False) as load:
        patch = pod_template_patch("qr-service", env={"QR_ADDR": "0.0.0.0:99999"})
        cluster.patch("deployment", "qr-service", patch)
        line = refused(cluster, QR_SERVICE, "QR_ADDR")
        undo(cluster, "qr-service")
    return f"{line}; {load.summary}"


def wrong_files_and_missing_ones_keep_the_old_pods_serving(cluster):
    written = cluster.get("configmap", "split")["data"]["qrcode.conf"]
    data = {**files_of_the_proxy(cluster), "listen.conf": "upstream {"}
    broken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "broken"}, "data": data}
    with Load(cluster, kept=False) as load:
        cluster.kubectl("create", "-f", "-", given=json.dumps(broken))
        mount_configuration(cluster, "broken")
        said = refused(cluster, PROXY, "listen.conf:1")
        undo(cluster, "proxy")
        mount_configuration(cluster, "nowhere")
        cluster.wait_for_event("nowhere")
        undo(cluster, "proxy")
        cluster.patch("configmap", "split", {"data": {"qrcode.conf": "nonsense"}})
        cluster.kubectl("rollout", "restart", "deployment/proxy")
        said += "; " + refused(cluster, PROXY, "qrcode.conf is not written by ramp")
        cluster.patch("configmap", "split", {"data": {"qrcode.conf": written}})
        undo(cluster, "proxy")
    cluster.kubectl("delete", "configmap", "broken")
    return f"{said}; {load.summary}"


def refused(cluster, selector, expected):
    """Waits until a new pod has given up, and returns the one line of its log, which names the mistake."""
    log = cluster.wait_for_crash(selector)
    cluster.expect(len(log.splitlines()) == 1 and expected in log, f"the log says: {log}")
    return log


def undo(cluster, deployment):
    cluster.kubectl("rollout", "undo", f"deployment/{deployment}")
    cluster.wait_for_rollout(deployment)


def files_of_the_proxy(cluster):
    volumes = cluster.get("deployment", "proxy")["spec"]["template"]["spec"]["volumes"]
    name = next(each["configMap"]["name"] for each in volumes if each["name"] == "configuration")
    return cluster.get("configmap", name)["data"]


def mount_configuration(cluster, config_map):
    """Makes the proxies mount that ConfigMap as their configuration."""
    volumes = [{"name": "configuration", "configMap": {"name": config_map}}]
    cluster.patch("deployment", "proxy", {"spec": {"template": {"spec": {"volumes": volumes}}}})
