"""Runs pods as OpenShift does: as users that the cluster chooses, in group 0."""

import json
import random
import tempfile
from pathlib import Path

from check import EPHEMERAL, OPENSHIFT, TOP, workspace_version
from links import add_link
from load import Load, at_once
from pods import NAMESPACE, QR_SERVICE, kustomization
from relay import Pairs

# The ones that have a shell.
IN_PODS = ("deployment/proxy", "deployment/legacy-node", "deployment/legacy-relay", "deployment/prometheus")

TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"


def the_contract_holds_as_a_random_user_of_group_0(cluster):
    user = random.randrange(1_000_000_000, 2_000_000_000)
    load, pairs = Load(cluster, kept=False), Pairs(cluster)
    with at_once(load, pairs):
        with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
            cluster.apply(with_user(user, cluster.kustomization, Path(folder)))
        cluster.wait_until_ready(timeout=180)
        # Pods of the previous user, which are ending, get none of the contract's requests.
        log = cluster.check_contract(f"localhost/carve:{workspace_version()}")
        cluster.wait_until_none_terminates()
        users = {pod["spec"]["securityContext"]["runAsUser"] for pod in cluster.read_pods(QR_SERVICE)}
        cluster.expect(users == {user}, f"the pods of qr-service have the users {users}")
        for pod in IN_PODS:
            ids = cluster.kubectl("exec", pod, "--", "sh", "-c", "id -u; id -g").split()
            cluster.expect(ids == [str(user), "0"], f"{pod} runs as {ids}")
        # Even if the container with the token runs as the same user.
        read = ["exec", "deployment/proxy", "--", "sh", "-c", f"cat /proc/[0-9]*/root{TOKEN}"]
        cluster.expect(not cluster.run("-n", NAMESPACE, *read).stdout, "nginx can read the API token")
        add_link(cluster)
    return f"{log.strip().splitlines()[-1]}; {load.summary}; {pairs.summary}"


def with_user(user, target, folder):
    """Returns a folder to apply: `target` as OpenShift changes it, for manifests without user, group and fsGroup."""
    path = "/spec/template/spec/securityContext"
    add = [{"op": "add", "path": f"{path}/{key}", "value": user} for key in ("runAsUser", "fsGroup")]
    patches = [{"target": {"kind": kind}, "patch": json.dumps(add)} for kind in ("Deployment", "StatefulSet")]
    # Without volumes: there, a file that another user has written stays that user's, and some volumes ignore fsGroup.
    return kustomization(folder, target, [EPHEMERAL, OPENSHIFT], patches=patches)
