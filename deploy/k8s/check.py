#!/usr/bin/env python3
"""Checks the manifests without a cluster: `make lint`, and with --all `make test-all PART=manifests`.

It renders every kustomization, and every component on top of the default. It validates the manifests strictly against
the schemas of several Kubernetes versions, and checks the rules of rules.py and rules that span several manifests. With
--all it also renders the chart, validates the custom kinds by their types, and runs kube-score. It prints one line per
problem and exits with 1 if there is any.

With --write-rules it writes the one manifest that is generated from other files.
"""

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compose_spec
import kubernetes_validate
import kubernetes_validate.utils
import yaml

from arrows import check_arrows
from chart import KUBECTL, TOP, workspace_version
from chart_values import CHART_VALUES, check_chart
from restricted import check_restricted
from rules import ALL, broken_rules, uncounted

DEPLOY = TOP / "deploy"
TOOLS = TOP / "target" / "tools" / "bin"
# The oldest supported kubectl, if `make test-all` has installed it.
OLDEST = TOOLS / "kubectl-1.28"
# The oldest supported version, the newest with published schemas, and two between them.
VERSIONS = ["1.28", "1.31", "1.34", "1.37"]
# Kinds of the components' CRDs; the Kubernetes schemas do not cover them.
CUSTOM = {"monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1"}
EPHEMERAL = DEPLOY / "k8s/components/ephemeral-data"
OPENSHIFT = DEPLOY / "k8s/components/openshift"
PRODUCTION = DEPLOY / "k8s/overlays/production"
CPU_LIMITS = DEPLOY / "k8s/components/cpu-limits"
RULES = DEPLOY / "k8s/components/prometheus-operator/rules.yaml"

# The library parses its schemas, megabytes of them, again at every call.
kubernetes_validate.utils.schema_contents = functools.cache(kubernetes_validate.utils.schema_contents)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="also the chart, custom kinds and kube-score")
    parser.add_argument("--write-rules", action="store_true", help="write the PrometheusRule again")
    arguments = parser.parse_args()
    if arguments.write_rules:
        RULES.write_text(rules_text())
        return 0
    with ThreadPoolExecutor() as pool:
        rendered = list(pool.map(render, kustomizations()))
        if arguments.all:
            rendered += check_chart(pool)
        texts = [text for text, _ in rendered]
        problems = [error for _, error in rendered if error]
        manifests = unique(texts)
        for text in texts:
            problems += check_owned(unique([text]))
        problems += check_quota()
        problems += check_namespace()
        problems += check_rules()
        problems += check_context()
        problems += check_compose(manifests)
        problems += check_arrows(manifests)
        for found in pool.map(check_manifest, manifests):
            problems += found
        if arguments.all:
            problems += check_custom(manifests)
            for found in pool.map(score, texts):
                problems += found
    for problem in sorted(set(problems)):
        print(f"manifests: {problem}", file=sys.stderr)
    if not problems:
        chart = f"{len(CHART_VALUES)} sets of the chart's values, " if arguments.all else ""
        print(
            f"manifests: {len(kustomizations())} kustomizations, {chart}{len(manifests)} manifests, "
            f"Kubernetes {', '.join(VERSIONS)}: all fine"
        )
    return 1 if problems else 0


def kustomizations():
    """Names every kustomization under deploy/."""
    files = sorted(DEPLOY.rglob("kustomization.yaml"))
    return [str(file.parent.relative_to(DEPLOY)) for file in files]


def render(name):
    """Returns what kustomize renders, and its error. A component is rendered on top of the default."""
    folder = DEPLOY / name
    with tempfile.TemporaryDirectory(dir=TOP / "target") as temporary:
        if yaml.safe_load((folder / "kustomization.yaml").read_text())["kind"] == "Component":
            folder = Path(temporary)
            text = f"resources: [../../deploy]\ncomponents: [../../deploy/{name}]\n"
            (folder / "kustomization.yaml").write_text(text)
        elif folder == PRODUCTION:
            if not kustomize(KUBECTL, folder)[1]:
                return "", f"{name}: renders before its settings are made"
            folder = write_production(Path(temporary))
        text, error = kustomize(KUBECTL, folder)
        if OLDEST.exists() and kustomize(OLDEST, folder) != (text, error):
            error += f"; {OLDEST.name} renders something else: {kustomize(OLDEST, folder)[1]}"
    return text, error and f"{name}: {error}"


def kustomize(kubectl, folder):
    """Renders a folder as `kubectl apply -k` does. Returns the text and the error."""
    done = subprocess.run([kubectl, "kustomize", folder], check=False, capture_output=True, text=True)
    # A deprecated field still renders, with a warning.
    return done.stdout, done.stderr.strip()


def write_production(folder, registry="registry.example.com/qr"):
    """Writes overlays/production to a folder, with its settings filled in, and returns the folder."""
    text = (PRODUCTION / "kustomization.yaml").read_text()
    (folder / "kustomization.yaml").write_text(text.replace("../..", os.path.relpath(DEPLOY / "k8s", folder)))
    settings = (PRODUCTION / "settings.env").read_text()
    settings = re.sub("^#(?=[a-z])", "", settings, flags=re.MULTILINE)
    (folder / "settings.env").write_text(re.sub("(?<=^registry=).*", registry, settings, flags=re.MULTILINE))
    return folder


def unique(texts):
    """Removes duplicates: most manifests are in every rendering."""
    manifests = {}
    for text in texts:
        for manifest in yaml.load_all(text, Loader=yaml.CSafeLoader):
            # A file of the chart that begins with a condition and `---` has an empty one before that.
            if manifest:
                manifests[json.dumps(manifest, sort_keys=True)] = manifest
    return list(manifests.values())


def check_manifest(manifest):
    name = f"{manifest['kind']} {manifest['metadata']['name']}"
    problems = [] if manifest["apiVersion"] in CUSTOM else [*schema_problems(manifest)]
    problems += check_restricted(pod_of(manifest) or {})
    problems += broken_rules(manifest, workspace_version())
    return [f"{name}: {problem}" for problem in problems]


def check_owned(manifests):
    """Checks that an upgrade, server-side as Helm 4's too, takes nothing from its owner: an autoscaler's replicas, and
    the split and the runs."""
    scaled = {it["spec"]["scaleTargetRef"]["name"] for it in manifests if it["kind"] == "HorizontalPodAutoscaler"}
    for manifest in manifests:
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        if kind == "Deployment" and name in scaled and "replicas" in manifest["spec"]:
            yield f"Deployment {name}: replicas are its autoscaler's"
        if kind == "ConfigMap" and name in ("split", "split-beats") and "data" in manifest:
            yield f"ConfigMap {name}: its data are those of carve serve"


def check_quota():
    """Checks that with components/cpu-limits every container has all that a quota may ask for."""
    for manifest in unique([render(str(CPU_LIMITS.relative_to(DEPLOY)))[0]]):
        pod = pod_of(manifest) or {}
        for container in pod.get("initContainers", []) + pod.get("containers", []):
            yield from (f"cpu-limits: {manifest['metadata']['name']}: {it}" for it in uncounted(container, ALL))


def check_namespace():
    """Checks that an overlay can choose another namespace: nothing names the default one, and roles are bound there."""
    for base in ("", "/k8s/overlays/own-app"):
        with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
            text = f"namespace: other\nresources: [../../deploy{base}]\n"
            Path(folder, "kustomization.yaml").write_text(text)
            text, error = kustomize(KUBECTL, folder)
        for line in re.findall(r"^.*(?:namespace: qr$|\.qr[.:/]|\bqr/).*$", text, re.MULTILINE) + error.splitlines():
            yield f"another namespace: {line.strip()}"


def check_custom(manifests):
    """Validates custom kinds with the Go types that their projects publish."""
    text = yaml.safe_dump_all(each for each in manifests if each["apiVersion"] in CUSTOM)
    done = subprocess.run([TOOLS / "kinds"], check=False, capture_output=True, text=True, input=text)
    return done.stdout.splitlines() + done.stderr.splitlines()


def schema_problems(manifest):
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(manifest, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            path = ".".join(map(str, error.path))
            yield f"Kubernetes {version}: {path}: {error.message}"
        except kubernetes_validate.SchemaNotFoundError as error:
            yield error.message


def pod_of(manifest):
    """Returns the pod's specification, or None for kinds without one."""
    return manifest.get("spec", {}).get("template", {}).get("spec")


# Rules that kube-score skips everywhere. An exception for one manifest is an annotation there.
IGNORED = [
    # A CPU limit pauses a process in the middle of a request for the rest of a 100 ms period, even on
    # an idle node. CPU requests already divide a full node.
    "--ignore-container-cpu-limit",
    # Tags are fixed, and a pod must be able to restart while the registry is unreachable.
    "--ignore-test=container-image-pull-policy",
]


def score(text):
    """Returns what kube-score criticises."""
    # OpenShift chooses users and groups.
    chosen = [] if "runAsUser" in text else ["--ignore-test=container-security-context-user-group-id"]
    command = [TOOLS / "kube-score", "score", "--output-format=ci", *IGNORED, *chosen, "-"]
    done = subprocess.run(command, check=False, input=text, capture_output=True, text=True)
    lines = done.stdout.splitlines() + done.stderr.splitlines()
    fine = ("[OK]", "[SKIPPED]")
    return [f"kube-score: {line}" for line in lines if line.strip() and not line.startswith(fine)]


def check_compose(manifests):
    """Checks that compose.yaml is valid and runs the cluster's images."""
    text = (DEPLOY / "compose.yaml").read_text()
    try:
        compose_spec.PyOptions(apply_merge=True).from_yaml(text).validate()
    except ValueError as error:
        yield f"compose.yaml: {error}"
    pods = filter(None, map(pod_of, manifests))
    images = {container["image"] for pod in pods for container in pod["containers"]}
    for name, service in yaml.safe_load(text)["services"].items():
        if service["image"] not in images:
            yield f"compose.yaml: {name} runs {service['image']}, which no manifest does"


def check_context():
    """Checks that .dockerignore keeps the folders that `carve` embeds: only the images' build could lack them."""
    ignored = [line.strip("/") for line in (TOP / ".dockerignore").read_text().splitlines()]
    embeds = (TOP / "proxy/carve/build.rs").read_text()
    for folder in re.findall(r'"\.\./\.\./(.+?)"', embeds):
        parents = {folder, *map(str, Path(folder).parents)}
        yield from (f".dockerignore leaves out {line}, which carve embeds" for line in parents.intersection(ignored))


def check_rules():
    if RULES.read_text() != rules_text():
        yield f"{RULES.relative_to(TOP)} differs from dashboards/prometheus/rules: run make generate"


def rules_text():
    """Returns the rules of dashboards/ as a PrometheusRule; kustomize cannot embed files in a manifest."""
    text = (
        "# Written by `make generate` from dashboards/prometheus/rules.\n"
        "apiVersion: monitoring.coreos.com/v1\n"
        "kind: PrometheusRule\n"
        "metadata:\n"
        "  name: qr\n"
        "spec:\n"
        "  groups:\n"
    )
    for file in sorted((TOP / "dashboards/prometheus/rules").glob("*.yml")):
        _, _, groups = file.read_text().partition("groups:\n")
        # The operator's Prometheus evaluates each 30 s otherwise, which is too old for the gates.
        groups = re.sub(r"^( *)- name: .*$(?!\n *interval:)", r"\g<0>\n\1  interval: 5s", groups, flags=re.MULTILINE)
        text += "".join(f"  {line}".rstrip() + "\n" for line in groups.splitlines())
    return text


if __name__ == "__main__":
    sys.exit(main())
