"""Upgrades under load, and the way back: to PRIME, from an older commit, and by the chart."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from check import TOOLS, TOP, workspace_version
from load import Load
from pods import NAMESPACE
from ramp import ramp
from relay import Pairs

# The same code as another version. `make deploy-test` builds these images as PRIME too.
PRIME = "prime"
# What `FROM=TAG deploy/images.sh` has checked out, and the tag of the images it built there.
OLDER = "older"
CHECKOUT = TOP / "target" / OLDER


def clients_notice_no_upgrade_and_no_way_back(cluster):
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
        prime = with_tag(PRIME, cluster.kustomization, Path(folder))
        steps = [(lambda: cluster.apply(prime), PRIME), (cluster.apply, workspace_version())]
        said = replaced_under_load(cluster, steps)
    cluster.expect(ramp(cluster, ["set", "100"]) == 0, "ramp set 100 fails")
    return said


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
    cluster.expect(ramp(cluster, ["set", "100"]) == 0, "ramp set 100 fails")
    return said


def clients_notice_no_upgrade_of_the_chart(cluster):
    """From the older commit's chart, or else to PRIME; `helm rollback` is the way back."""
    if not cluster.helm:
        return "left out"
    cluster.delete()
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
        ours = chart(TOP, Path(folder, "ours"))
        if cluster.older:
            first, then = (chart(CHECKOUT, Path(folder, OLDER)), OLDER), (ours, workspace_version())
        else:
            first, then = (ours, workspace_version()), (ours, PRIME)
        install(cluster, *first)
        cluster.wait_until_ready(timeout=300)
        steps = [
            (lambda: install(cluster, *then), then[1]),
            (lambda: helm(cluster, "rollback", "qr", "1"), first[1]),
        ]
        said = replaced_under_load(cluster, steps)
    helm(cluster, "uninstall", "qr")
    cluster.run("delete", "namespace", NAMESPACE, "--timeout=180s")
    cluster.expect_nothing_left()
    return f"{said}; uninstalled"


UPGRADES = [clients_notice_no_upgrade_and_no_way_back, clients_notice_no_upgrade_from_an_older_commit]


def replaced_under_load(cluster, steps):
    """Does each step, a function and the version that runs after it, in the middle of a move, which must survive."""
    cluster.expect(ramp(cluster, ["set", "25"]) == 0, "ramp set 25 fails")
    with Load(cluster, kept=False) as load, Pairs(cluster) as pairs:
        for replace, version in steps:
            replace()
            cluster.wait_until_ready(timeout=180)
            cluster.wait_until_none_terminates()
            versions, shares = versions_of(cluster), cluster.shares_served()
            cluster.expect(versions == {version}, f"{versions} run, not {version}")
            cluster.expect(shares == {"25"}, f"the proxies of {version} serve {shares}")
    return f"{load.summary}; {pairs.summary}"


def with_tag(tag, target, folder):
    """Returns a folder to apply: `target` with this tag for this project's images."""
    images = "".join(f"  - {{ name: localhost/{name}, newTag: {tag} }}\n" for name in images_of(target))
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


def checked_out(commit):
    """Returns the folder deploy/ of an older commit; it has to be what its images were built from."""
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
    command = [TOOLS / "kustomize", "build", target]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    manifests = yaml.load_all(text, Loader=yaml.CSafeLoader)
    pods = [it["spec"]["template"]["spec"] for it in manifests if it["kind"] in ("Deployment", "StatefulSet")]
    containers = [it for pod in pods for it in pod.get("initContainers", []) + pod["containers"]]
    names = {container["image"].rpartition(":")[0] for container in containers}
    return sorted(name.removeprefix("localhost/") for name in names if name.startswith("localhost/"))


def chart(tree, out):
    """Writes the chart of a checkout, by its own program."""
    tools = tree / "target/tools"
    if not tools.exists():
        tools.parent.mkdir(exist_ok=True)
        tools.symlink_to(TOP / "target/tools")
    subprocess.run([sys.executable, tree / "deploy/k8s/chart.py", "--out", out], check=True, capture_output=True)
    return out


def install(cluster, folder, tag):
    # The links need no volume here: they are not what is looked at, and a cluster may have no storage class.
    values = [f"image.tag={tag}", "legacyNode.persistence.enabled=false", "grafana.enabled=false"]
    flags = [word for value in values for word in ("--set", value)]
    helm(cluster, "upgrade", "qr", folder, "--install", "--create-namespace", *flags)


def helm(cluster, command, *arguments):
    words = [*cluster.helm, command, "--namespace", NAMESPACE, *map(str, arguments)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    cluster.expect(done.returncode == 0, f"helm {command}: {done.stderr.strip()}")
