"""Rules for every manifest, beside those of kube-score and restricted.py. tests/manifest_rules.py shows for each rule
that it refuses something.
"""

import re

FIXED_TAG = re.compile(r"(:v?\d+\.\d+\.\d+[\w.-]*|@sha256:[0-9a-f]{64})$")
# At least 100 MiB.
ROOM_FOR_LOGS = re.compile(r"[1-9]\d\dMi|\d+Gi")
# What a ResourceQuota may count. Only components/cpu-limits limits the CPU.
COUNTED = {"requests": {"cpu", "memory", "ephemeral-storage"}, "limits": {"memory", "ephemeral-storage"}}
ALL = {"requests": COUNTED["requests"], "limits": COUNTED["requests"]}


def broken_rules(manifest, version):
    """Yields one line for each rule that a manifest breaks; `version` is the workspace's."""
    kind, spec = manifest["kind"], manifest.get("spec", {})
    if kind == "PodDisruptionBudget" and spec.get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
        yield "unhealthyPodEvictionPolicy is not AlwaysAllow: a broken pod would hold up a drain"
    pod = spec.get("template", {}).get("spec")
    if not pod:
        return
    if pod.get("automountServiceAccountToken") is not False:
        yield "automountServiceAccountToken is not false: whoever breaks in could ask the Kubernetes API"
    if pod.get("shareProcessNamespace"):
        yield "shareProcessNamespace is set: its containers could read each other's files, the API token too"
    # Only the first container: an unready sidecar would take a working pod out of service.
    if kind != "Job" and "readinessProbe" not in pod["containers"][0]:
        yield "no readinessProbe: it would get requests before it can answer them"
    for container in pod.get("initContainers", []) + pod["containers"]:
        yield from image_problems(container, version)
        yield from uncounted(container, COUNTED)
    for container in pod["containers"]:
        yield from running_problems(kind, container)
    if kind == "Deployment":
        yield from deployment_problems(spec, pod)


def image_problems(container, version):
    image = container["image"]
    if not FIXED_TAG.search(image):
        yield f"container {container['name']}: {image} has no fixed tag: tomorrow it may be another program"
    if image.startswith("localhost/") and not image.endswith(f":{version}"):
        yield f"container {container['name']}: {image} does not have the workspace's version, {version}"


def uncounted(container, counted):
    """Yields a line for each request and limit that a container lacks: a namespace with a quota refuses its pod."""
    for key, resources in counted.items():
        for missing in sorted(resources - container.get("resources", {}).get(key, {}).keys()):
            yield f"container {container['name']}: {key} have no {missing}: a ResourceQuota would refuse its pod"


def running_problems(kind, container):
    name = f"container {container['name']}"
    for probe in ("startupProbe", "livenessProbe"):
        if kind != "Job" and probe not in container:
            yield f"{name}: no {probe}: a process that hangs would stay"
    # The kubelet counts five logs of 10 MiB, and more if a log grows fast. nginx' requests are in edge's log.
    logs = container["name"] != "nginx" and {port.get("name") for port in container.get("ports", [])} & {"http", "edge"}
    limit = container.get("resources", {}).get("limits", {}).get("ephemeral-storage", "")
    if logs and not ROOM_FOR_LOGS.fullmatch(limit):
        yield f"{name}: its log alone can exceed the limit of ephemeral-storage: the kubelet would evict it"


def deployment_problems(spec, pod):
    has_volume = any("persistentVolumeClaim" in volume for volume in pod.get("volumes", []))
    if has_volume and spec.get("strategy", {}).get("type") != "Recreate":
        yield "strategy is not Recreate: two pods on two nodes would wait for one volume"
    for spread in pod.get("topologySpreadConstraints", []):
        if spread.get("matchLabelKeys") != ["pod-template-hash"]:
            yield "a spread without matchLabelKeys counts the pods of the last rollout"
