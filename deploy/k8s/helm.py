"""The chart, installed by helm: upgraded under load, and as a release has published it."""

import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from check import TOP, workspace_version
from pods import NAMESPACE
from upgrade import CHECKOUT, OLDER, PRIME, replaced_under_load

# Volumes are not what is looked at, and a cluster may have no storage class.
VALUES = ["legacyNode.persistence.enabled=false", "prometheus.persistence.enabled=false", "grafana.enabled=false"]


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
        install_tag(cluster, *first)
        cluster.wait_until_ready(timeout=300)
        steps = [
            (lambda: install_tag(cluster, *then), then[1]),
            (lambda: helm(cluster, "rollback", "qr", "1"), first[1]),
        ]
        said = replaced_under_load(cluster, steps)
    uninstall(cluster)
    return said


def a_released_chart_installs_and_leaves_nothing(cluster):
    """As --chart names it, with the images that are its defaults, in a namespace that refuses unhardened pods."""
    if not cluster.chart:
        return "left out"
    cluster.delete()
    registry = yaml.safe_load(helm(cluster, "show values", *cluster.chart))["image"]["registry"]
    cluster.run("create", "namespace", NAMESPACE)
    cluster.run("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    install(cluster, cluster.chart)
    cluster.wait_until_ready(timeout=300)
    images = {
        container["image"]
        for pod in cluster.get("pods", "-l", "app.kubernetes.io/part-of=qr")["items"]
        for container in pod["spec"]["containers"]
        if container["image"].startswith(registry)
    }
    cluster.expect(images, f"no pod has an image of {registry}")
    log = cluster.run_job("contract", f"{registry}/contract:{workspace_version()}", ["http://proxy"], timeout=120)
    before = generations(cluster)
    install(cluster, cluster.chart)
    cluster.expect(generations(cluster) == before, "a second installation changes Deployments")
    uninstall(cluster)
    by_digest = sum("@sha256:" in image for image in images)
    return f"{by_digest} of {len(images)} images by digest; {log.strip().splitlines()[-1]}"


CHART = [clients_notice_no_upgrade_of_the_chart, a_released_chart_installs_and_leaves_nothing]


def generations(cluster):
    """Maps each Deployment and StatefulSet to a number that grows with each change of what it wants."""
    items = cluster.get("deployments,statefulsets")["items"]
    return {it["metadata"]["name"]: it["metadata"]["generation"] for it in items}


def chart(tree, out):
    """Writes the chart of a checkout, by its own program."""
    tools = tree / "target/tools"
    if not tools.exists():
        tools.parent.mkdir(exist_ok=True)
        tools.symlink_to(TOP / "target/tools")
    subprocess.run([sys.executable, tree / "deploy/k8s/chart.py", "--out", out], check=True, capture_output=True)
    return out


def install_tag(cluster, folder, tag):
    install(cluster, [folder, "--set", f"image.tag={tag}"])


def install(cluster, chart_and_flags):
    flags = [word for value in VALUES for word in ("--set", value)]
    helm(cluster, "upgrade", "qr", *chart_and_flags, "--install", "--create-namespace", *flags)


def uninstall(cluster):
    helm(cluster, "uninstall", "qr")
    # helm leaves the namespace that it made.
    cluster.run("delete", "namespace", NAMESPACE, "--timeout=180s")
    left = cluster.left()
    cluster.expect(not left, f"left: {', '.join(left)}")


def helm(cluster, command, *arguments):
    words = [*cluster.helm, *command.split(), "--namespace", NAMESPACE, *map(str, arguments)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    cluster.expect(done.returncode == 0, f"helm {command}: {done.stderr.strip()}")
    return done.stdout
