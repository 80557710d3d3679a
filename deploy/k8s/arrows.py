"""Whether the network policies fit each other: not every cluster enforces them, so that a test there may
not see where they don't.
"""


def check_arrows(manifests):
    """A line for each arrow that only one of its ends allows, or that leads to no port."""
    policies = [each for each in manifests if each["kind"] == "NetworkPolicy"]
    ports = ports_of_parts(manifests)
    out = set(arrows(policies, "egress", "to"))
    into = {(peer, part, port) for part, peer, port in arrows(policies, "ingress", "from")}
    for asking, asked, port in out - into:
        yield f"NetworkPolicy: {asking} may ask {asked}:{port}, which does not let it in"
    for asking, asked, port in into - out:
        yield f"NetworkPolicy: {asked} lets {asking} in at {port}, who may not ask it"
    for _, asked, port in out | into:
        if port not in ports.get(asked, ()):
            yield f"NetworkPolicy: {asked} has no port {port}"
    for part in ports.keys() - {part_of(policy["spec"]["podSelector"]) for policy in policies}:
        yield f"NetworkPolicy: none is for {part}"


def arrows(policies, direction, side):
    """(part, part at the other end, port), of those to or from this namespace's parts."""
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
    """The ports of each part's containers, by the name in its pods' labels."""
    ports = {}
    for manifest in manifests:
        template = manifest.get("spec", {}).get("template", {})
        if "spec" in template:
            found = ports.setdefault(template["metadata"]["labels"]["app.kubernetes.io/name"], set())
            for container in template["spec"]["containers"]:
                found |= {port["containerPort"] for port in container.get("ports", [])}
    return ports
