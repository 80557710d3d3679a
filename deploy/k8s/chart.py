#!/usr/bin/env python3
"""Makes the Helm chart from the manifests: `make chart`.

`deploy/chart/` has the chart's own files. Its templates are what kustomize renders from `deploy/k8s/base`, with an
expression wherever a value of `values.yaml` decides. So there is one source, and both give the same objects, which
--verify checks with helm itself: EQUAL has the components and the values that go together.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

TOP = Path(__file__).resolve().parents[2]
CHART = TOP / "deploy/chart"
KUSTOMIZE = TOP / "target/tools/bin/kustomize"
# The values that name each part's volume; components/ephemeral-data has what is there without one.
KEPT = {"legacy-node": "legacyNode", "prometheus": "prometheus"}
EPHEMERAL = ["ephemeral-data"]
# Components on top of the base, and the values with which helm has to render the same objects.
EQUAL = [
    ([], []),
    (EPHEMERAL, ["legacyNode.persistence.enabled=false", "prometheus.persistence.enabled=false"]),
    (["openshift"], ["openshift=true"]),
]
# The values of the parts with an autoscaler.
SCALED = {"proxy": "proxy", "qr-service": "qrService"}


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


def rendered(components=()):
    """Returns the objects of deploy/k8s/base with these components."""
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
        names = [f"../../deploy/k8s/components/{name}" for name in components]
        text = json.dumps({"resources": ["../../deploy/k8s/base"], "components": names})
        Path(folder, "kustomization.yaml").write_text(text)
        command = [KUSTOMIZE, "build", folder]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def version():
    return re.search(r'^version = "(.+)"', (TOP / "Cargo.toml").read_text(), re.MULTILINE)[1]


def write_chart(out):
    """Writes a chart that `helm package` takes."""
    ephemeral = {it["metadata"]["name"]: it["spec"] for it in rendered(EPHEMERAL) if it["kind"] == "Deployment"}
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(CHART, out)
    chart = (out / "Chart.yaml").read_text().replace("0.0.0", version())
    (out / "Chart.yaml").write_text(chart)
    (out / "templates").mkdir(exist_ok=True)
    for manifest in rendered():
        # helm makes the namespace (--create-namespace); the README has its labels.
        if manifest["kind"] == "Namespace":
            continue
        name = f"{manifest['metadata']['name']}.{manifest['kind'].lower()}.yaml"
        (out / "templates" / name).write_text(Template(manifest, ephemeral).text())


class Template:
    """The template of one object."""

    def __init__(self, manifest, ephemeral):
        self.manifest = manifest
        # The specification of each Deployment, by name, as it is without volumes.
        self.ephemeral = ephemeral
        self.expressions = []

    def text(self):
        kind, name = self.manifest["kind"], self.manifest["metadata"]["name"]
        if "namespace" in self.manifest["metadata"]:
            self.manifest["metadata"]["namespace"] = self.of("{{ .Release.Namespace }}")
        for subject in self.manifest.get("subjects", []):
            subject["namespace"] = self.of("{{ .Release.Namespace }}")
        if kind in ("Deployment", "StatefulSet"):
            self.workload(name)
        if (kind, name) == ("Service", "proxy"):
            self.manifest["spec"]["type"] = self.of("{{ .Values.proxy.service.type }}")
            self.manifest["metadata"]["annotations"] = self.nested(".Values.proxy.service.annotations")
        if kind == "HorizontalPodAutoscaler":
            self.autoscaler(name)
        if "clients.conf" in self.manifest.get("data", {}):
            ours = json.dumps(self.manifest["data"]["clients.conf"])
            text = f'{{{{ printf "%s%s" (include "carve-out.trusted" .) {ours} | toJson }}}}'
            self.manifest["data"]["clients.conf"] = self.of(text)
        if kind == "NetworkPolicy" and name in ("proxy", "ramp", "relay-home"):
            ports = {"ports": self.nested('include "carve-out.apiServerPorts" . | fromYamlArray')}
            self.manifest["spec"]["egress"][-1] = ports
        if kind == "PersistentVolumeClaim":
            value = f".Values.{self.kept_by()}.persistence"
            self.manifest["spec"]["storageClassName"] = self.of(("if", f"{value}.storageClass"))
            self.manifest["spec"]["resources"]["requests"]["storage"] = self.of(f"{{{{ {value}.size }}}}")
            return self.only_if(f"{value}.enabled", self.dumped())
        return self.only_if(condition(kind, name), self.dumped())

    def kept_by(self):
        return KEPT[self.manifest["metadata"]["labels"]["app.kubernetes.io/name"]]

    def workload(self, name):
        spec = self.manifest["spec"]
        pod = spec["template"]["spec"]
        if name == "proxy":
            # nginx reads its files when it starts, so other clients.conf must start a rollout.
            trusted = self.nested('include "carve-out.trustedSum" . | fromYaml')
            spec["template"]["metadata"]["annotations"] = trusted
            settings = {it["name"]: it for it in pod["containers"][0]["env"]}
            settings["NGINX_WORKERS"]["value"] = self.of('"{{ .Values.proxy.workers }}"')
            settings["NGINX_LOG_PERCENT"]["value"] = self.of('"{{ .Values.proxy.logPercent }}"')
        if name == "legacy-node":
            pod["containers"][0]["env"].append(self.items('include "carve-out.publicUrl" . | fromYamlArray'))
        if "priorityClassName" in pod:
            unused = "(not .Values.priorityClass.use)"
            pod["priorityClassName"] = self.of(("unless", unused, pod["priorityClassName"]))
        security = pod["securityContext"]
        for key in {"runAsUser", "runAsGroup", "fsGroup"} & security.keys():
            security[key] = self.of(("unless", ".Values.openshift", security[key]))
        pod["imagePullSecrets"] = self.nested('include "carve-out.pullSecrets" . | fromYamlArray')
        pod["nodeSelector"] = self.nested(".Values.nodeSelector")
        ours = json.dumps(pod.get("tolerations", []))
        pod["tolerations"] = self.nested(f"concat (fromJsonArray `{ours}`) .Values.tolerations")
        ours = json.dumps(pod.get("affinity", {}))
        pod["affinity"] = self.nested(f"mustMergeOverwrite (fromJson `{ours}`) (deepCopy .Values.affinity)")
        for container in pod.get("initContainers", []) + pod["containers"]:
            self.container(container, name)
        if name in KEPT:
            self.persistence(spec, self.ephemeral[name])

    def container(self, container, deployment):
        image, _, tag = container["image"].rpartition(":")
        registry, _, path = image.partition("/")
        if registry != "localhost":
            container["image"] = self.of(f'{{{{ include "carve-out.thirdParty" (list . "{path}" "{tag}") }}}}')
        elif tag == version():
            container["image"] = self.of(f'{{{{ include "carve-out.image" (list . "{path}") }}}}')
        container["imagePullPolicy"] = self.of("{{ .Values.image.pullPolicy }}")
        value = {"nginx": "proxy", "qr-service": "qrService"}.get(container["name"])
        if value:
            container["resources"] = self.nested(f".Values.{value}.resources")

    def autoscaler(self, name):
        spec = self.manifest["spec"]
        value = SCALED[name]
        for key in ("minReplicas", "maxReplicas"):
            spec[key] = self.of(f"{{{{ .Values.{value}.{key} }}}}")
        if name == "proxy":
            target = spec["metrics"][0]["resource"]["target"]
            target["averageValue"] = self.of("{{ mul 600 .Values.proxy.workers }}m")

    def persistence(self, spec, ephemeral):
        """Puts the data into the pod where a value says so."""
        enabled = f".Values.{self.kept_by()}.persistence.enabled"
        volumes = spec["template"]["spec"]["volumes"]
        others = {volume["name"]: volume for volume in ephemeral["template"]["spec"]["volumes"]}
        for volume in volumes:
            for key in volume.keys() & {"persistentVolumeClaim"}:
                other = others[volume["name"]]["emptyDir"]
                volume[key] = self.of(("choice", enabled, volume[key], "emptyDir", other))
        spec["strategy"] = self.of(("choice", enabled, spec["strategy"], "strategy", ephemeral["strategy"]))

    def of(self, expression):
        """A string that stands for an expression until the object is text."""
        self.expressions.append(expression)
        return f"@{len(self.expressions) - 1}@"

    def nested(self, expression):
        """An expression that gives a map or a list, which are left out if empty."""
        return self.of(("nested", expression))

    def items(self, expression):
        """A list's item that stands for all that an expression gives."""
        return self.of(("items", expression))

    def only_if(self, expression, text):
        return f"{{{{- if {expression} }}}}\n{text}{{{{- end }}}}\n" if expression else text

    def dumped(self):
        text = yaml.safe_dump(self.manifest, sort_keys=False, width=1000, allow_unicode=True)
        # Prometheus' and Grafana's files have braces of their own.
        text = re.sub(r"\{\{|\}\}", lambda braces: "{{ `" + braces[0] + "` }}", text)
        return "".join(map(self.line, text.splitlines(keepends=True)))

    def line(self, line):
        found = re.search(r"'?@(\d+)@'?", line)
        if not found:
            return line
        expression = self.expressions[int(found[1])]
        if isinstance(expression, str):
            return line.replace(found[0], expression)
        if expression[0] == "unless":
            fixed = line.replace(found[0], str(expression[2]))
            return f"{{{{- if not {expression[1]} }}}}\n{fixed}{{{{- end }}}}\n"
        indent = len(line) - len(line.lstrip(" -"))
        if expression[0] == "items":
            return f"{{{{- with {expression[1]} }}}}\n{{{{- toYaml . | nindent {indent - 2} }}}}\n{{{{- end }}}}\n"
        key = line[:indent] + line.strip().lstrip("- ").partition(":")[0]
        if expression[0] == "nested":
            return (
                f"{{{{- with {expression[1]} }}}}\n{key}:\n"
                f"{{{{- toYaml . | nindent {indent + 2} }}}}\n{{{{- end }}}}\n"
            )
        if expression[0] == "if":
            return f"{{{{- with {expression[1]} }}}}\n{key}: {{{{ . }}}}\n{{{{- end }}}}\n"
        _, condition_, value, other_key, other = expression
        either = block(key, value, indent), block(line[:indent] + other_key, other, indent)
        return f"{{{{- if {condition_} }}}}\n{either[0]}{{{{- else }}}}\n{either[1]}{{{{- end }}}}\n"


def block(head, value, indent):
    inner = yaml.safe_dump(value, sort_keys=False)
    return f"{head}:\n" + "".join(f"{' ' * (indent + 2)}{line}\n" for line in inner.splitlines())


def condition(kind, name):
    """When an object is there at all; None is always."""
    if kind == "PriorityClass":
        return ".Values.priorityClass.create"
    needed = []
    if name.startswith("grafana"):
        needed.append(".Values.grafana.enabled")
    if kind == "NetworkPolicy":
        needed.append(".Values.networkPolicy.enabled")
    return f"and {' '.join(needed)}" if needed else None


def template(helm, chart, values=()):
    """Returns what helm renders with these NAME=VALUE, and its error."""
    command = [helm, "template", "qr", chart, "--namespace", "qr"]
    command += [word for value in values for word in ("--set", value)]
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
    for components, values in EQUAL:
        text, error = template(helm, chart, values)
        found = [error] if error else differences(rendered(components), text)
        problems += [f"{', '.join(values) or 'defaults'}: {problem}" for problem in found]
    return problems


def differences(manifests, text):
    """Lists the objects that only one of kustomize and helm renders, or each in its own way."""
    key = lambda it: (it["kind"], it["metadata"]["name"])
    ours = {key(it): comparable(it) for it in manifests if it["kind"] != "Namespace"}
    theirs = {key(it): comparable(it) for it in yaml.load_all(text, Loader=yaml.CSafeLoader) if it}
    problems = [f"{kind} {name} is only in one of them" for kind, name in ours.keys() ^ theirs.keys()]
    both = ours.keys() & theirs.keys()
    problems += [f"{kind} {name} differs" for kind, name in both if ours[kind, name] != theirs[kind, name]]
    return sorted(problems)


def comparable(manifest):
    """Sorts a pod's volumes by name, in place: kustomize puts those that a component changes first."""
    pod = manifest.get("spec", {}).get("template", {}).get("spec", {})
    pod.get("volumes", []).sort(key=lambda volume: volume["name"])
    return manifest


if __name__ == "__main__":
    sys.exit(main())
