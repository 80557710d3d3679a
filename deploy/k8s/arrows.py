"""Checks that the network policies match each other. A test on a cluster may miss a mismatch, because
not every network plug-in enforces policies.
"""


def check_arrows(manifests):
    """Yields one line for each connection that only one end allows, or that leads to a port that no container has."""
    policies = [each for each in manifests if each["kind"] == "NetworkPolicy"]
    ports = ports_of_parts(manifests)
    out = set(arrows(policies, "egress", "to"))
    into = {(peer, part, port) for part, peer, port in arrows(policies, "ingress", "from")}
    for asking, asked, port in out - into:
        yield f"NetworkPolicy: {asking} may connect to {asked}:{port}, but {asked} does not admit it"
    for asking, asked, port in into - out:
        yield f"NetworkPolicy: {asked} admits {asking} at {port}, but {asking} may not connect"
    for _, asked, port in out | into:
        if port not in ports.get(asked, ()):
            yield f"NetworkPolicy: {asked} has no port {port}"
    for part in ports.keys() - {part_of(policy["spec"]["podSelector"]) for policy in policies}:
        yield f"NetworkPolicy: {part} has none"


def arrows(policies, direction, side):
    """Yields (part, peer, port) for every peer in this namespace."""
    for policy in policies:
        part = part_of(policy["spec"]["podSelector"])
        for rule in policy["spec"].get(direction, []):
            for peer in rule.get(side, []):
                if "namespaceSelector" not in peer:
                    for port in rule["ports"]:
                        yield part, part_of(peer["podSelector"]), port["port"]


def part_of(selector):
    return selector.get("matchLabels", {}).get("app.kubernetes.io/name")


def ports_of_parts(manifests):
    """Maps each part, as its pods' label names it, to its containers' ports."""
    ports = {}
    for manifest in manifests:
        template = manifest.get("spec", {}).get("template", {})
        if "spec" in template:
            found = ports.setdefault(template["metadata"]["labels"]["app.kubernetes.io/name"], set())
            for container in template["spec"]["containers"]:
                found |= {port["containerPort"] for port in container.get("ports", [])}
    return ports
