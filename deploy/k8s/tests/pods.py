"""Manifests of the tests' own pods, Jobs and network policies, hardened like the others; and kustomizations."""

import json
import os

import yaml

from check import workspace_version

NAMESPACE = "qr"
# Where overlays/own-app expects two Services of one's own.
OWN_NAMESPACE = "my-app"
OHA = f"localhost/oha:{workspace_version()}"
# An image with a shell.
SHELL = f"localhost/carve:{workspace_version()}"
QR_SERVICE = "app.kubernetes.io/name=qr-service"
PROXY = "app.kubernetes.io/name=proxy"
HOME = "app.kubernetes.io/name=relay-home"
# The label of test clients. It belongs to no part, and the proxy admits anybody.
CLIENT = "qr-test-client"
PUBLIC_PORT = 8080
QR_SERVICE_PORT = 42069


def with_policies(manifest):
    """Adds the policies that let a test client reach the proxy and, for the flood, qr-service."""
    return {"apiVersion": "v1", "kind": "List", "items": [*policies(), manifest]}


def policies():
    client, qr_service, proxy = (
        {"podSelector": {"matchLabels": labels}}
        for labels in (
            {"app": CLIENT},
            {"app.kubernetes.io/name": "qr-service"},
            {"app.kubernetes.io/name": "proxy"},
        )
    )
    targets = [("to", proxy, PUBLIC_PORT), ("to", qr_service, QR_SERVICE_PORT)]
    yield policy("test-client", client, "Egress", targets)
    yield policy("test-flood", qr_service, "Ingress", [("from", client, QR_SERVICE_PORT)])


def policy(name, of, direction, arrows):
    rules = [{side: [peer], "ports": [{"port": port}]} for side, peer, port in arrows]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {**of, "policyTypes": [direction], direction.lower(): rules},
    }


def client_pod(name, image, arguments, memory="128Mi", command=None):
    """Returns a pod that runs one program once it can reach the proxy: network policies take effect only some time
    after a new pod has its address, and its connections are refused until then."""
    spec = pod_spec(name, image, arguments, memory, command)
    reach = "until (: </dev/tcp/proxy/80) 2>/dev/null; do sleep 0.1; done"
    spec["initContainers"] = [container_spec("reach", SHELL, ["-c", reach], memory="64Mi", command=["bash"])]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": CLIENT}},
        "spec": spec,
    }


def job(name, image, arguments, memory="128Mi", command=None):
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {"labels": {"app": CLIENT}},
                "spec": pod_spec(name, image, arguments, memory, command),
            },
        },
    }


def pod_spec(name, image, arguments, memory, command=None):
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 10,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container_spec(name, image, arguments, memory, command)],
    }


def container_spec(name, image, arguments, memory, command=None):
    """A container; without a command it runs the image's own."""
    own = {"command": command} if command else {}
    room = {"memory": memory, "ephemeral-storage": "100Mi"}
    return {
        **own,
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": arguments,
        "resources": {"requests": {"cpu": "50m", **room}, "limits": {"cpu": "2", **room}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def pod_template_patch(container, memory=None, env=None):
    """Returns a Deployment's patch that changes one container."""
    changed = {"name": container}
    if memory:
        changed["resources"] = {"requests": {"memory": memory}, "limits": {"memory": memory}}
    if env:
        changed["env"] = [{"name": name, "value": value} for name, value in env.items()]
    return {"spec": {"template": {"spec": {"containers": [changed]}}}}


def kustomization(folder, target, components=(), **fields):
    """Writes a kustomization of `target` with these components and fields to a folder, and returns that."""
    fields["resources"] = [os.path.relpath(target, folder)]
    fields["components"] = [os.path.relpath(component, folder) for component in components]
    folder.mkdir(exist_ok=True)
    (folder / "kustomization.yaml").write_text(json.dumps(fields))
    return folder


def images_in(rendered):
    """Returns the images of all pods of Deployments and StatefulSets."""
    manifests = [it for it in yaml.load_all(rendered, Loader=yaml.CSafeLoader) if it]
    pods = [it["spec"]["template"]["spec"] for it in manifests if it["kind"] in ("Deployment", "StatefulSet")]
    return {container["image"] for pod in pods for container in pod.get("initContainers", []) + pod["containers"]}
