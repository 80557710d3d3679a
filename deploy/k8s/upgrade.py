"""An upgrade to PRIME, which is the same code as another version, and the way back."""

import os
import tempfile
from pathlib import Path

from check import TOP, workspace_version
from load import Load
from ramp import ramp
from relay import Pairs

PRIME = "prime"
# `make deploy-test` builds these as PRIME too.
IMAGES = ["qr-service", "relay-service", "legacy-node", "shadow", "ramp", "proxy"]


def clients_notice_no_upgrade_and_no_way_back(cluster):
    # In the middle of a move, which must survive both.
    cluster.expect(ramp(cluster, ["set", "25"]) == 0, "ramp set 25 fails")
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
        prime = kustomization(cluster.kustomization, Path(folder))
        with Load(cluster, kept=False) as load, Pairs(cluster) as pairs:
            for target, version in ((prime, PRIME), (cluster.kustomization, workspace_version())):
                cluster.apply(target)
                cluster.wait_until_ready(timeout=180)
                cluster.wait_until_none_terminates()
                versions, shares = versions_of(cluster), cluster.shares_served()
                cluster.expect(versions == {version}, f"{versions} run, not {version}")
                cluster.expect(shares == {"25"}, f"the proxies of {version} serve {shares}")
    cluster.expect(ramp(cluster, ["set", "100"]) == 0, "ramp set 100 fails")
    return f"{load.summary}; {pairs.summary}"


def kustomization(target, folder):
    """Returns a folder to apply: `target` with the images of PRIME."""
    images = "".join(f"  - {{ name: localhost/{name}, newTag: {PRIME} }}\n" for name in IMAGES)
    text = f"resources: [{os.path.relpath(target, folder)}]\nimages:\n{images}"
    (folder / "kustomization.yaml").write_text(text)
    return folder


def versions_of(cluster):
    """Returns the tags of this project's images that run."""
    return {
        container["image"].rpartition(":")[2]
        for pod in cluster.get("pods", "-l", "app.kubernetes.io/part-of=qr")["items"]
        for container in pod["spec"]["containers"]
        if container["image"].startswith("localhost/") and pod["status"]["phase"] == "Running"
    }
