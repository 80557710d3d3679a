#!/usr/bin/env python3
"""Makes the Helm chart from the manifests: `make chart`.

`deploy/chart/` has the chart's own files. The other templates are what kustomize renders from `deploy/k8s/base`, with
an expression wherever a value of `values.yaml` decides. So there is one source, and both render the same objects.
--verify checks this with helm itself, for the components and values listed in EQUAL.
"""

import argparse
import functools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from chart_template import Template

TOP = Path(__file__).resolve().parents[2]
CHART = TOP / "deploy/chart"
KUBECTL = TOP / "target/tools/python/bin/kubectl"
# The component that removes the volumes.
EPHEMERAL = ["ephemeral-data"]
# Their objects are in the chart too, each under a condition.
OWN_PROMETHEUS = ["prometheus-operator", "own-prometheus"]
OWN_APP = "overlays/own-app"
OWN_ROUTE = TOP / "deploy/k8s" / OWN_APP / "report.toml"
# Folders of deploy/k8s with components on top, and the values with which helm has to render the same objects.
EQUAL = [
    ("base", [], []),
    ("base", EPHEMERAL, ["legacyNode.persistence.enabled=false", "prometheus.persistence.enabled=false"]),
    ("base", ["openshift"], ["openshift=true"]),
    ("base", ["cpu-limits"], ["cpuLimits=true"]),
    ("base", ["prometheus-operator"], ["prometheus.operator.enabled=true"]),
    (
        OWN_APP,
        [],
        ["old=http://old.my-app:80", "new=http://new.my-app:80", f"routes.report={OWN_ROUTE}"],
    ),
    (
        "base",
        OWN_PROMETHEUS,
        [
            "prometheus.enabled=false",
            "prometheus.url=http://prometheus-operated.monitoring:9090",
            "prometheus.operator.enabled=true",
        ],
    ),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=TOP / "target/chart", help="folder to write")
    parser.add_argument("--verify", metavar="HELM", help="a helm program; compare what it renders with kustomize")
    arguments = parser.parse_args()
    write_chart(arguments.out)
    if arguments.verify:
        return verify(arguments.verify, arguments.out)
    print(arguments.out)
    return 0


def rendered(components=(), base="base"):
    """Returns the objects of a folder of deploy/k8s with these components."""
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
        names = [f"../../deploy/k8s/components/{name}" for name in components]
        text = json.dumps({"resources": [f"../../deploy/k8s/{base}"], "components": names})
        Path(folder, "kustomization.yaml").write_text(text)
        command = [KUBECTL, "kustomize", folder]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


@functools.cache
def workspace_version():
    return re.search(r'^version = "(.+)"', (TOP / "Cargo.toml").read_text(), re.MULTILINE)[1]


def write_chart(out):
    """Writes a chart that `helm package` takes."""
    ephemeral = {it["metadata"]["name"]: it["spec"] for it in rendered(EPHEMERAL) if it["kind"] == "Deployment"}
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(CHART, out)
    chart = (out / "Chart.yaml").read_text().replace("0.0.0", workspace_version())
    (out / "Chart.yaml").write_text(chart)
    (out / "templates").mkdir(exist_ok=True)
    base = rendered()
    named = {key_of(it) for it in base}
    for manifest in base + [it for it in rendered(OWN_PROMETHEUS) if key_of(it) not in named]:
        # helm makes the namespace (--create-namespace); the README has its labels.
        if manifest["kind"] == "Namespace":
            continue
        name = f"{manifest['metadata']['name']}.{manifest['kind'].lower()}.yaml"
        (out / "templates" / name).write_text(Template(manifest, ephemeral, workspace_version()).text())


def key_of(manifest):
    return manifest["kind"], manifest["metadata"]["name"]


def template(helm, chart, values=()):
    """Returns what helm renders with these values, NAME=VALUE or NAME=FILE for a route file, and its error."""
    command = [helm, "template", "qr", chart, "--namespace", "qr"]
    for value in values:
        command += ["--set-file" if value.endswith(".toml") else "--set", value]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout, done.stderr.strip()


def verify(helm, chart):
    """Compares what helm and kustomize render, object by object."""
    problems = unequal(helm, chart)
    for problem in problems:
        print(f"chart: {problem}", file=sys.stderr)
    if not problems:
        print(f"chart: helm and kustomize render the same objects, with {len(EQUAL)} sets of values")
    return 1 if problems else 0


def unequal(helm, chart):
    """Lists the differences for each line of EQUAL."""
    problems = []
    for base, components, values in EQUAL:
        text, error = template(helm, chart, values)
        found = [error] if error else differences(rendered(components, base), text)
        problems += [f"{', '.join(values) or 'defaults'}: {problem}" for problem in found]
    return problems


def differences(manifests, text):
    """Lists the objects that only one of kustomize and helm renders, or that they render differently."""
    ours = {key_of(it): it for it in map(comparable, manifests) if it["kind"] != "Namespace"}
    theirs = {key_of(it): it for it in map(comparable, filter(None, yaml.load_all(text, Loader=yaml.CSafeLoader)))}
    problems = [f"{kind} {name} is only in one of them" for kind, name in ours.keys() ^ theirs.keys()]
    both = ours.keys() & theirs.keys()
    problems += [f"{kind} {name} differs" for kind, name in both if ours[kind, name] != theirs[kind, name]]
    return sorted(problems)


def comparable(manifest):
    """Removes differences that do not matter. Sorts a pod's volumes and variables by name, because kustomize puts those
    that a component changes first. Drops a release's labels and checksum annotations, and the hashes in ConfigMaps'
    names."""
    manifest = json.loads(re.sub(r"-[2456789bcdfghkmt]{10}\b", "", json.dumps(manifest)))
    for metadata in (manifest["metadata"], manifest.get("spec", {}).get("template", {}).get("metadata", {})):
        labels = metadata.pop("labels", {})
        release = {"app.kubernetes.io/instance", "app.kubernetes.io/managed-by"}
        metadata["labels"] = {name: value for name, value in labels.items() if name not in release}
        metadata["annotations"] = {**metadata.get("annotations", {})}
        metadata["annotations"].pop("checksum/own-app", None)
    pod = manifest.get("spec", {}).get("template", {}).get("spec", {})
    for listed in [pod.get("volumes", []), *(it.get("env", []) for it in pod.get("containers", []))]:
        listed.sort(key=lambda it: it["name"])
    return manifest


if __name__ == "__main__":
    sys.exit(main())
