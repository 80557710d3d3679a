"""Checks that all pods are hardened in the same way, which Pod Security's profile `restricted` admits. Applying a
Deployment that breaks the profile gives only a warning, and then no pods.

https://kubernetes.io/docs/concepts/security/pod-security-standards/ has the rules.
"""

import json

CONTAINER = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
USERS = ("runAsUser", "runAsGroup", "fsGroup")
VOLUMES = {"name", "configMap", "emptyDir", "persistentVolumeClaim", "projected"}
ASKING = ("startupProbe", "livenessProbe", "readinessProbe", "lifecycle")


def check_restricted(pod):
    """Yields one line for each part of a pod's specification that deviates."""
    if not pod:
        return
    yield from context_problems("the pod", pod.get("securityContext", {}), POD)
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(field):
            yield f"{field} is set"
    for volume in pod.get("volumes", []):
        for kind in volume.keys() - VOLUMES:
            yield f"volume {volume['name']}: {kind} is not allowed"
    for container in pod.get("initContainers", []) + pod["containers"]:
        name = f"container {container['name']}"
        yield from context_problems(name, container.get("securityContext", {}), CONTAINER)
        if any("hostPort" in port for port in container.get("ports", [])):
            yield f"{name}: a hostPort is set"
        if '"host":' in json.dumps([container.get(key) for key in ASKING]):
            yield f"{name}: a probe or hook names a host"


def context_problems(name, context, expected):
    users = {key: context[key] for key in context.keys() & set(USERS)}
    if 0 in users.values():
        yield f"{name}: a user or group is 0: {users}"
    if context != {**expected, **users}:
        yield f"{name}: the securityContext is not {expected} but {context}"
