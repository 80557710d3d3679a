"""Upgrades and downgrades under load: to PRIME, and from an older commit."""

import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from check import KUBECTL, TOP, workspace_version
from links import add_link, has_link
from load import RATE_ON_OLD, Load, at_once
from pods import NAMESPACE, images_in, kustomization
from ramp import ramp
from relay import Pairs
from walks import goes_on, told, walk

# The same code under another version. `make deploy-test` also builds the images with this tag.
PRIME = "prime"
# The tag of the images that `FROM=COMMIT deploy/images.sh` builds, and the name of its checkout.
OLDER = "older"
CHECKOUT = TOP / "target" / OLDER


def clients_and_a_run_notice_no_upgrade_and_no_way_back(cluster):
    """Upgrades the overlay for production. If the cluster has volumes, the links must survive."""
    target = cluster.production
    link = add_link(cluster)
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
        prime = with_tag(PRIME, target, Path(folder))
        steps = [(lambda: cluster.apply(prime), PRIME), (lambda: cluster.apply(target), workspace_version())]
        said = replaced_under_load(cluster, steps, walk)
    kept = has_volumes(cluster)
    if kept:
        cluster.expect(has_link(cluster, link), "a link is lost")
    # No other kustomization has an Ingress.
    cluster.kubectl("delete", "ingresses", "--all", "--wait=false")
    return f"{said}; {'the links are kept' if kept else 'left out: volumes, since there is no default storage class'}"


def clients_notice_no_upgrade_from_an_older_commit(cluster):
    if not cluster.older:
        return "left out"
    # Nothing of this version may help the older one.
    cluster.delete()
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
        older = with_tag(OLDER, cluster.older, Path(folder))
        cluster.apply(older)
        cluster.wait_until_ready(timeout=300)
        ours = (cluster.apply, workspace_version())
        said = replaced_under_load(cluster, [ours, (lambda: cluster.apply(older), OLDER), ours])
    cluster.expect(ramp(cluster, ["split", "100"]) == 0, "carve split 100 fails")
    return said


UPGRADES = [clients_and_a_run_notice_no_upgrade_and_no_way_back, clients_notice_no_upgrade_from_an_older_commit]


@contextmanager
def share(cluster):
    """Holds 25 % without a run."""
    before_carve = ["-n", NAMESPACE, "exec", "deploy/ramp", "--", "/ramp", "set", "25"]
    typed = ramp(cluster, ["split", "25"]) == 0 or cluster.run(*before_carve).returncode == 0
    cluster.expect(typed, "carve split 25 fails")
    yield


def replaced_under_load(cluster, steps, move=share):
    """Does each step (a function, and the version that runs after it) during a move, which must survive."""
    load, pairs = Load(cluster, RATE_ON_OLD, kept=False), Pairs(cluster)
    with at_once(load, pairs), move(cluster):
        for replace, version in steps:
            before = told(cluster) if move is walk else None
            replace()
            cluster.wait_until_ready(timeout=180)
            cluster.wait_until_none_terminates()
            versions, shares = versions_of(cluster), cluster.shares_served()
            cluster.expect(versions == {version}, f"{versions} run, not {version}")
            cluster.expect(shares == {"25"}, f"the proxies of {version} serve {shares}")
            if before:
                goes_on(cluster, before)
    return f"{load.summary}; {pairs.summary}"


def has_volumes(cluster):
    """Whether a claim that names no storage class gets a volume."""
    default = "storageclass.kubernetes.io/is-default-class"
    classes = cluster.get("storageclasses")["items"]
    return any(it["metadata"].get("annotations", {}).get(default) == "true" for it in classes)


def with_tag(tag, target, folder):
    """Returns a folder to apply: `target` with this tag for this project's images."""
    images = [{"name": f"localhost/{name}", "newTag": tag} for name in images_of(target)]
    return kustomization(folder, target, images=images)


def versions_of(cluster):
    """Returns the tags of this project's images that run."""
    return {
        container["image"].rpartition(":")[2]
        for pod in cluster.get("pods", "-l", "app.kubernetes.io/part-of=qr")["items"]
        for container in pod["spec"]["containers"]
        if container["image"].startswith("localhost/") and pod["status"]["phase"] == "Running"
    }


def checked_out(commit):
    """Returns the folder deploy/ of an older commit. Exits unless its images were built from the same checkout."""
    git = ["git", "-C", TOP, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"]
    wanted = subprocess.run(git, check=False, capture_output=True, text=True).stdout
    if not wanted:
        sys.exit(f"deploy-test: there is no tag or commit {commit}")
    git = ["git", "-C", CHECKOUT, "rev-parse", "HEAD"]
    found = subprocess.run(git, check=False, capture_output=True, text=True).stdout
    if found != wanted:
        sys.exit(f"deploy-test: {CHECKOUT} is not {commit}; type: FROM={commit} deploy/images.sh")
    return CHECKOUT / "deploy"


def images_of(target):
    """Returns the names of this project's images in a kustomization."""
    command = [KUBECTL, "kustomize", target]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = {image.rpartition(":")[0] for image in images_in(text)}
    return sorted(name.removeprefix("localhost/") for name in names if name.startswith("localhost/"))
