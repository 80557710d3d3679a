"""Checks that the namespace will admit every pod: Pod Security's profile `restricted`. Whoever applies a Deployment
that breaks it gets a warning only, and then no pods.

https://kubernetes.io/docs/concepts/security/pod-security-standards/ has the rules. These are stricter where no pod here
needs more: no sysctls and no SELinux options at all.
"""

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
HOOKS = ("postStart", "preStop")


def check_restricted(pod):
    """Yields one line for each rule that a pod's specification breaks."""
    common = pod.get("securityContext", {})
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(field):
            yield f"{field} is set"
    if common.get("sysctls"):
        yield "sysctls are set"
    for volume in pod.get("volumes", []):
        for kind in volume.keys() - {"name"} - VOLUMES:
            yield f"volume {volume['name']}: {kind} is not allowed"
    yield from context_problems(common)
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in pod.get(kind, []):
            for problem in container_problems(container, common):
                yield f"container {container['name']}: {problem}"


def context_problems(context):
    """Yields what is wrong with a securityContext of a pod or of a container."""
    if context.get("runAsNonRoot", True) is not True:
        yield "runAsNonRoot is not true"
    if context.get("runAsUser") == 0:
        yield "runAsUser is 0"
    if context.get("seLinuxOptions"):
        yield "seLinuxOptions are set"
    if context.get("windowsOptions", {}).get("hostProcess"):
        yield "windowsOptions.hostProcess is set"
    for field in ("seccompProfile", "appArmorProfile"):
        if context.get(field, {}).get("type", "RuntimeDefault") not in ("RuntimeDefault", "Localhost"):
            yield f"{field} is neither RuntimeDefault nor Localhost"


def container_problems(container, common):
    context = container.get("securityContext", {})
    yield from context_problems(context)
    for field in ("runAsNonRoot", "seccompProfile"):
        if field not in {**common, **context}:
            yield f"{field} is not set, nor for its pod"
    if context.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation is not false"
    if context.get("privileged"):
        yield "privileged is set"
    if context.get("procMount", "Default") != "Default":
        yield "procMount is not Default"
    capabilities = context.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", []):
        yield "capabilities.drop has not ALL"
    if set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
        yield "capabilities.add has another than NET_BIND_SERVICE"
    if any(port.get("hostPort") for port in container.get("ports", [])):
        yield "a hostPort is set"
    hooks = container.get("lifecycle", {})
    asking = [container.get(name) for name in PROBES] + [hooks.get(name) for name in HOOKS]
    if any(each.get(how, {}).get("host") for each in filter(None, asking) for how in ("httpGet", "tcpSocket")):
        yield "a probe or hook names a host"
