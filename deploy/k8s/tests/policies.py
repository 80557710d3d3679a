"""Tests that on a cluster that enforces network policies, every allowed connection works and no other."""

import json

from own_app import run_kubectl
from pods import NAMESPACE, OWN_NAMESPACE, SHELL, pod_spec

PART = "app.kubernetes.io/name"
STRANGER = "stranger"
# Clients other than the parts, by namespace.
STRANGERS = {NAMESPACE: "a stranger in the namespace", OWN_NAMESPACE: "a stranger in another"}
# Reads lines of NAME ADDRESS PORT and prints NAME PORT for each that accepts a connection. Five at a time, because
# it runs within the memory limit of the part that it stands in for.
REACH = (
    "xargs -P 5 -n 3 bash -c "
    """'timeout 2 bash -c ": </dev/tcp/$1/$2" 2>/dev/null && echo "$0 $2"; true'"""
)


def pods_connect_as_the_policies_say_and_in_no_other_way(cluster):
    asking, asked = first_and_last_of_each_part(cluster)
    targets = list(all_targets(cluster, asked))
    labels = {part: pod["metadata"]["labels"] for part, pod in asking.items()}
    labels |= {STRANGERS[NAMESPACE]: {}, STRANGERS[OWN_NAMESPACE]: None}
    # A pod reaches itself without the network.
    alone = {part for part in asking if asking[part] == asked[part]}
    possible = {(who, name, port) for who in labels for name, _, port in targets if who not in alone or who != name}
    reached = all_reached(cluster, asking, targets) & possible
    if reached == possible:
        return "left out: this cluster enforces no network policy"
    policies = cluster.get("networkpolicies")["items"]
    allowed = {
        (who, name, port)
        for who, name, port in possible
        if admits(policies, "Egress", "to", labels[who], labels.get(name), port)
        and (name not in labels or admits(policies, "Ingress", "from", labels[name], labels[who], port))
    }
    wrong = [f"{who} reaches {name}:{port}" for who, name, port in sorted(reached - allowed)]
    wrong += [f"{who} does not reach {name}:{port}" for who, name, port in sorted(allowed - reached)]
    cluster.expect(not wrong, "; ".join(wrong))
    return f"{len(allowed)} connections work, {len(possible - allowed)} do not"


def first_and_last_of_each_part(cluster):
    """Maps each part with ready pods to a pod that connects, and to a pod to connect to: another one if there are
    two."""
    ready = set(cluster.ready_pods())
    first, last = {}, {}
    for pod in cluster.read_pods(PART):
        if pod["metadata"]["name"] in ready:
            part = pod["metadata"]["labels"][PART]
            first.setdefault(part, pod)
            last[part] = pod
    return first, last


def all_targets(cluster, pods):
    """Yields (name, address, port) for each port of each part, and for targets outside the namespace."""
    for part, pod in pods.items():
        for container in pod["spec"]["containers"]:
            for port in container.get("ports", []):
                yield part, pod["status"]["podIP"], port["containerPort"]
    services = json.loads(cluster.run("get", "services", "--all-namespaces", "-o", "json").stdout)["items"]
    for service in services:
        name, address = service["metadata"]["name"], service["spec"]["clusterIP"]
        if name in ("kubernetes", "kube-dns"):
            # DNS only over TCP, where an open port can be told from silence.
            yield name, address, {"kubernetes": 443, "kube-dns": 53}[name]
    yield "kubelet", next(iter(pods.values()))["status"]["hostIP"], 10250


def all_reached(cluster, asking, targets):
    """Returns (who, name, port) for each connection that works."""
    script = f"{REACH} <<'E'\n" + "".join(f"{name} {address} {port}\n" for name, address, port in targets) + "E"
    try:
        add_strangers(cluster, script)
        for pod in asking.values():
            cluster.debug(pod["metadata"]["name"], ["bash", "-c", script], name="reach")
        said = {part: printed(cluster, pod["metadata"]["name"], "reach") for part, pod in asking.items()}
        for namespace, who in STRANGERS.items():
            said[who] = printed(cluster, STRANGER, STRANGER, namespace)
    finally:
        cluster.kubectl("delete", "pod", STRANGER, "--ignore-not-found", "--wait=false")
        run_kubectl(cluster, "delete", "namespace", OWN_NAMESPACE, "--ignore-not-found", "--wait=false")
    return {(who, line.split()[0], int(line.split()[1])) for who, lines in said.items() for line in lines}


def add_strangers(cluster, script):
    # Policies may reach a new pod only after it has begun.
    script = f"sleep 5; {script}"
    labels = {"app.kubernetes.io/part-of": "qr"}
    items = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN_NAMESPACE, "labels": labels}}]
    for namespace in STRANGERS:
        spec = pod_spec(STRANGER, SHELL, ["-c", script], memory="64Mi", command=["bash"])
        metadata = {"name": STRANGER, "namespace": namespace}
        items.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    run_kubectl(cluster, "apply", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def printed(cluster, pod, container, namespace=NAMESPACE):
    """Returns the lines that a container has printed, once it has ended."""

    def ended():
        status = json.loads(cluster.run("-n", namespace, "get", "pod", pod, "-o", "json").stdout)["status"]
        statuses = status.get("ephemeralContainerStatuses", []) + status.get("containerStatuses", [])
        return any(each["name"] == container and "terminated" in each["state"] for each in statuses)

    cluster.wait_for(f"{container} in {pod} to end", ended)
    return cluster.run("-n", namespace, "logs", pod, "-c", container).stdout.splitlines()


def admits(policies, direction, side, of, peer, port):
    """Whether the policies of a pod with these labels admit a peer; labels are None outside the namespace."""
    own = [
        each["spec"]
        for each in policies
        if of is not None and direction in each["spec"]["policyTypes"] and selects(each["spec"]["podSelector"], of)
    ]
    return not own or any(
        (side not in rule or (peer is not None and any(selects(it.get("podSelector"), peer) for it in rule[side])))
        and any(it["port"] == port and it["protocol"] == "TCP" for it in rule["ports"])
        for spec in own
        for rule in spec.get(direction.lower(), [])
    )


def selects(selector, labels):
    """Whether a selector selects a pod with these labels. A peer without a selector is in another namespace."""
    return selector is not None and selector.get("matchLabels", {}).items() <= labels.items()
