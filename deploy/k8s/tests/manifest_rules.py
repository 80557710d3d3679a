#!/usr/bin/env python3
"""Tests deploy/k8s/rules.py: `make lint`. Each case changes one passing manifest and names words of the only message
that must then come.
"""

import copy
import sys

from check import check_owned
from pods import container_spec
from rules import ALL, broken_rules, uncounted

VERSION = "1.2.3"
CONTAINER = {
    "name": "it",
    "image": "localhost/it:1.2.3",
    "ports": [{"name": "http"}],
    "startupProbe": {"path": "/"},
    "livenessProbe": {"path": "/"},
    "readinessProbe": {"path": "/"},
    "resources": {
        "requests": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "10Mi"},
        "limits": {"memory": "1Gi", "ephemeral-storage": "100Mi"},
    },
}
POD = {
    "automountServiceAccountToken": False,
    "shareProcessNamespace": False,
    "topologySpreadConstraints": [{"matchLabelKeys": ["pod-template-hash"]}],
    "initContainers": [
        {"name": "first", "image": "docker.io/first:v1.2.3", "resources": copy.deepcopy(CONTAINER["resources"])}
    ],
    "containers": [CONTAINER],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
}
ONCE = {
    "automountServiceAccountToken": False,
    "containers": [
        {
            "name": "it",
            "image": f"registry.test/it@sha256:{'0123456789abcdef' * 4}",
            "resources": CONTAINER["resources"],
        }
    ],
}
PASSING = {
    "Deployment": {"strategy": {"type": "Recreate"}, "template": {"spec": POD}},
    "Job": {"template": {"spec": ONCE}},
    "PodDisruptionBudget": {"unhealthyPodEvictionPolicy": "AlwaysAllow"},
    "Service": {"ports": []},
}
IMAGE = "template spec containers 0 image"
LIMIT = "template spec containers 0 resources limits ephemeral-storage"
SPREAD = "template spec topologySpreadConstraints 0 matchLabelKeys"
# Kind, path to a value, the new value or None to remove it, and words of the message.
REFUSED = [
    ("Deployment", "strategy", None, "strategy"),
    ("Deployment", "strategy", {"type": "RollingUpdate"}, "strategy"),
    ("Deployment", SPREAD, None, "matchLabelKeys"),
    ("Deployment", SPREAD, ["app"], "matchLabelKeys"),
    ("PodDisruptionBudget", "unhealthyPodEvictionPolicy", None, "AlwaysAllow"),
    ("PodDisruptionBudget", "unhealthyPodEvictionPolicy", "IfHealthyBudget", "AlwaysAllow"),
    ("Deployment", "template spec automountServiceAccountToken", None, "automountServiceAccountToken"),
    ("Job", "template spec automountServiceAccountToken", True, "automountServiceAccountToken"),
    ("Deployment", "template spec shareProcessNamespace", True, "shareProcessNamespace"),
    ("Deployment", "template spec containers 0 readinessProbe", None, "no readinessProbe"),
    ("Deployment", "template spec containers 0 startupProbe", None, "no startupProbe"),
    ("Deployment", "template spec containers 0 livenessProbe", None, "no livenessProbe"),
    ("Deployment", IMAGE, "docker.io/it", "no fixed tag"),
    ("Job", IMAGE, "docker.io/it", "no fixed tag"),
    ("Job", IMAGE, "registry.test:5000/it", "no fixed tag"),
    ("Job", IMAGE, "docker.io/it:1.2", "no fixed tag"),
    ("Job", IMAGE, "docker.io/it:latest", "no fixed tag"),
    ("Deployment", "template spec initContainers 0 image", "docker.io/first:1", "no fixed tag"),
    ("Deployment", IMAGE, "localhost/it:1.2.4", "workspace's version, 1.2.3"),
    ("Deployment", "template spec initContainers 0 image", "localhost/it:11.2.3", "workspace's version"),
    ("Job", "template spec containers 0 resources requests cpu", None, "requests have no cpu"),
    ("Deployment", "template spec initContainers 0 resources limits memory", None, "limits have no memory"),
    ("Deployment", LIMIT, "50Mi", "ephemeral-storage"),
    ("Deployment", LIMIT, "0Mi", "ephemeral-storage"),
]


def changed(kind, way, value):
    manifest = {"kind": kind, "metadata": {"name": "it"}, "spec": copy.deepcopy(PASSING[kind])}
    *way, last = way.split()
    place = manifest["spec"]
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return manifest


def main():
    problems = []
    for kind, spec in PASSING.items():
        found = [*broken_rules({"kind": kind, "metadata": {"name": "it"}, "spec": spec}, VERSION)]
        problems += [f"a {kind} that follows the rules is refused: {found}"] if found else []
    for kind, way, value, words in REFUSED:
        found = [*broken_rules(changed(kind, way, value), VERSION)]
        if len(found) != 1 or words not in found[0]:
            problems.append(f"{kind} with {way} = {value}: {found}")
    # The tests' own pods run in the same namespace.
    problems += uncounted(container_spec("test", "it", [], memory="1Gi"), ALL)
    scaler = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "it"}}
    scaler["spec"] = {"scaleTargetRef": {"name": "it"}}
    split = {"kind": "ConfigMap", "metadata": {"name": "split"}, "data": {}}
    found = [*check_owned([scaler, changed("Deployment", "replicas", 2), split])]
    if len(found) != 2 or [*check_owned([scaler, changed("Deployment", "strategy", {})])]:
        problems.append(f"replicas of an autoscaler and data of a run: {found}")
    for problem in problems:
        print(f"rules: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
