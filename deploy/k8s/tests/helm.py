"""Installs the chart with helm: ours, or one that a release has published."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

import yaml

import chart
from check import TOP, workspace_version
from cluster import Failed
from pods import NAMESPACE, SHELL, images_in, policies

# Volumes do not matter here, and a cluster may have no storage class.
VALUES = ["legacyNode.persistence.enabled=false", "prometheus.persistence.enabled=false", "grafana.enabled=false"]
# The proxies may take their grace period for streams.
ENDED_WITHIN_SECONDS = 120
# The policies that cluster.run_job and Load have added.
TEST_POLICIES = [policy["metadata"]["name"] for policy in policies()]


def a_chart_installs_and_leaves_nothing(cluster):
    """Installs the chart that --chart names, with its default images, in a namespace that refuses unhardened pods."""
    if not cluster.helm:
        return "left out"
    cluster.delete()
    make_restricted_namespace(cluster)
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
        file, digest = pulled(cluster, Path(folder)) if cluster.chart else written(Path(folder, "chart"))
        registry = yaml.safe_load(helm(cluster, "show values", file))["image"]["registry"]
        carve = f"{registry}/carve:{workspace_version()}"
        rendered = helm(cluster, "template qr", file, *flags())
        images = {image for image in images_in(rendered) if image.startswith(f"{registry}/")}
        cluster.expect(images, f"no pod has an image of {registry}")
        said = verified(cluster, [digest, *sorted({*images, carve})]) if digest else "ours"
        install(cluster, file)
        cluster.wait_until_ready(timeout=300)
        log = cluster.check_contract(carve)
        changes_nothing(cluster, file, rendered)
    left = uninstall(cluster)
    cluster.expect(not left, f"helm uninstall leaves: {', '.join(left)}")
    by_digest = sum("@sha256:" in image for image in images)
    return f"{said}; {by_digest} of {len(images)} images by digest; {log.strip().splitlines()[-1]}"


def written(folder):
    """Writes our chart, which has no digest."""
    chart.write_chart(folder)
    return folder, None


def make_restricted_namespace(cluster):
    cluster.run("create", "namespace", NAMESPACE)
    cluster.run("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    refused = cluster.run("-n", NAMESPACE, "run", "unhardened", f"--image={SHELL}", "--dry-run=server").stderr
    cluster.expect("violates PodSecurity" in refused, f"the namespace admits unhardened pods: {refused}")


def pulled(cluster, folder):
    """Pulls the chart. Returns the file to install, and the chart's name by digest."""
    said = helm(cluster, "pull", *cluster.chart, "--destination", folder)
    found = re.search(r"Digest: (sha256:\w+)", said)
    cluster.expect(found, f"helm pull names no digest: {said}")
    name = cluster.chart[0].removeprefix("oci://")
    return next(folder.glob("*.tgz")), f"{name}@{found[1]}"


def verified(cluster, references):
    """Verifies each signature with the command --verify, before anything is installed."""
    if not cluster.verify:
        return "left out: signatures, without --verify"
    for reference in references:
        done = subprocess.run([*cluster.verify, reference], check=False, capture_output=True, text=True)
        cluster.expect(done.returncode == 0, f"{reference} is not verified: {done.stderr.strip()}")
    return f"{len(references)} signatures verified"


def changes_nothing(cluster, file, rendered):
    """Installs the chart again. Expects the cluster to match the rendered manifests and no object to change."""
    before = objects(cluster)
    done = cluster.run("diff", "-n", NAMESPACE, "-f", "-", given=rendered)
    cluster.expect(done.returncode == 0, f"diff with the chart:\n{done.stdout}{done.stderr}")
    install(cluster, file)
    now = objects(cluster)
    changed = sorted(name for name in before | now if before.get(name) != now.get(name))
    cluster.expect(not changed, f"a second installation changes {', '.join(changed)}")


def objects(cluster):
    """Maps each object of the release to its manifest without status."""
    manifest = helm(cluster, "get manifest qr")
    items = json.loads(cluster.kubectl("get", "-f", "-", "-o", "json", given=manifest))["items"]
    for item in items:
        item.pop("status", None)
        # Kubernetes updates both even if nothing changes, and with each status.
        for key in ("managedFields", "resourceVersion"):
            item["metadata"].pop(key, None)
    return {f"{it['kind']}/{it['metadata']['name']}": it for it in items}


def install(cluster, file):
    helm(cluster, "upgrade", "qr", file, "--install", "--create-namespace", *flags())


def flags():
    return [word for value in VALUES for word in ("--set", value)]


def uninstall(cluster):
    """Uninstalls the chart. Returns the objects that helm has left in the namespace, then deletes the namespace."""
    helm(cluster, "uninstall", "qr")
    cluster.kubectl("delete", "networkpolicies", *TEST_POLICIES, "--ignore-not-found")
    try:
        cluster.wait_for("the namespace to be empty", lambda: not cluster.inside(), timeout=ENDED_WITHIN_SECONDS)
        left = []
    except Failed:
        left = cluster.inside()
    cluster.run("delete", "namespace", NAMESPACE, "--timeout=180s")
    outside = cluster.left()
    cluster.expect(not outside, f"left: {', '.join(outside)}")
    return left


def helm(cluster, command, *arguments):
    words = [*cluster.helm, *command.split(), "--namespace", NAMESPACE, *map(str, arguments)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    cluster.expect(done.returncode == 0, f"helm {command}: {done.stderr.strip()}")
    return done.stdout
