"""Makes a template of the chart from one object, with an expression wherever a value decides."""

import json
import re

import yaml

# The parts with a volume; components/ephemeral-data has what is there without one.
KEPT = {"legacy-node", "prometheus"}
# The pods that clients wait for, and ramp: these may get a PriorityClass.
SERVING = {"proxy", "qr-service", "legacy-node", "relay-service", "legacy-relay", "relay-home", "ramp"}
OPERATOR = "monitoring.coreos.com/v1"
# Objects that an app of one's own replaces: components/own-app deletes them.
REPLACED = re.compile("(qr-service|legacy-node|relay-service|legacy-relay|relay-home).*|links")


class Template:
    """The template of one object."""

    def __init__(self, manifest, ephemeral, version):
        self.manifest = manifest
        # The tag of our own images.
        self.version = version
        # The specification of each Deployment, by name, as it is without volumes.
        self.ephemeral = ephemeral
        self.expressions = []

    def text(self):
        kind, name = self.manifest["kind"], self.manifest["metadata"]["name"]
        self.part = self.manifest["metadata"].get("labels", {}).get("app.kubernetes.io/name")
        if "namespace" in self.manifest["metadata"]:
            self.manifest["metadata"]["namespace"] = self.of("{{ .Release.Namespace }}")
        for subject in self.manifest.get("subjects", []):
            subject["namespace"] = self.of("{{ .Release.Namespace }}")
        operator = ".Values.prometheus.operator.labels" if self.manifest["apiVersion"] == OPERATOR else ""
        self.label(self.manifest["metadata"], operator)
        if kind in ("Deployment", "StatefulSet"):
            self.workload(name)
        if (kind, name) == ("Service", "proxy"):
            self.manifest["spec"]["type"] = self.of("{{ .Values.proxy.service.type }}")
            self.manifest["metadata"]["annotations"] = self.nested(".Values.proxy.service.annotations")
        if kind == "HorizontalPodAutoscaler":
            self.autoscaler(name)
        if kind == "ConfigMap":
            self.files(name.partition("-")[0])
        if kind == "NetworkPolicy" and name in ("proxy", "ramp", "relay-home"):
            ports = {"ports": self.nested('include "carve-out.apiServerPorts" . | fromYamlArray')}
            self.manifest["spec"]["egress"][-1] = ports
        if kind == "NetworkPolicy" and name in ("proxy", "shadow"):
            own = self.items('.Values.old | empty | ternary list (fromJsonArray `[{"to":[{"namespaceSelector":{}}]}]`)')
            self.manifest["spec"]["egress"].insert(0, own)
        if name in ("metrics", "own-prometheus"):
            self.own_prometheus()
        if kind == "PersistentVolumeClaim":
            value = f".Values.{self.kept_by()}.persistence"
            self.manifest["spec"]["storageClassName"] = self.of(("if", f"{value}.storageClass"))
            self.manifest["spec"]["resources"]["requests"]["storage"] = self.of(f"{{{{ {value}.size }}}}")
            needed = [condition(kind, name), f"{value}.enabled", f"(not {value}.existingClaim)"]
            return self.only_if(" ".join(filter(None, needed)), self.dumped())
        return self.only_if(condition(kind, name), self.dumped())

    def label(self, metadata, others=""):
        """Adds the labels of the release, but not to selectors: those of a Deployment cannot change."""
        ours = json.dumps(metadata.get("labels", {}))
        release = 'include "carve-out.labels" . | fromYaml'
        metadata["labels"] = self.nested(f"merge (fromJson `{ours}`) ({release}) {others}".rstrip())

    def files(self, name):
        """Replaces a ConfigMap's files if the chart is used for an app of one's own."""
        data = self.manifest.get("data", {})
        if name == "proxy":
            for file in [it for it in data if it.startswith("app-")]:
                data[file] = self.of(f'{{{{ .Values.old | empty | ternary {json.dumps(data[file])} "" | toJson }}}}')
        if name in ("routes", "sides"):
            ours = json.dumps(json.dumps(data))
            own = f'default (fromJson {ours}) (include "carve-out.{name}" . | fromYaml)'
            self.manifest["data"] = self.nested(own)

    def own_prometheus(self):
        """Replaces the namespace and ports of the cluster's Prometheus in a policy."""
        spec = self.manifest["spec"]
        for rule in spec.get("ingress", []) + spec.get("egress", []):
            for peer in rule.get("from", []) + rule.get("to", []):
                labels = peer["namespaceSelector"]["matchLabels"]
                labels["kubernetes.io/metadata.name"] = self.of("{{ .Values.prometheus.namespace }}")
        for rule in spec.get("egress", []):
            rule["ports"] = self.nested('include "carve-out.prometheusPorts" . | fromYamlArray')

    def kept_by(self):
        return value_of(self.part)

    def workload(self, name):
        spec = self.manifest["spec"]
        pod = spec["template"]["spec"]
        self.label(spec["template"]["metadata"])
        # These read their files only when they start, so changed files must start a rollout.
        sums = {"proxy": ["ownAppSum"], "shadow": ["ownAppSum"]}.get(name, [])
        sums = [f'(include "carve-out.{it}" . | fromYaml)' for it in sums]
        annotations = " ".join(["merge", *sums, ".Values.podAnnotations"] if sums else [".Values.podAnnotations"])
        if name == "proxy":
            settings = {it["name"]: it for it in pod["containers"][0]["env"]}
            settings["TRUSTED_PROXIES"]["value"] = self.of('{{ include "carve-out.trusted" . | quote }}')
            settings["NGINX_WORKERS"]["value"] = self.of('"{{ .Values.proxy.workers }}"')
            (edge,) = (it for it in pod["containers"] if it["name"] == "edge")
            settings |= {it["name"]: it for it in edge["env"]}
            settings["EDGE_JSON_PERCENT"]["value"] = self.of('"{{ .Values.proxy.logPercent }}"')
            pod["containers"][0]["env"].append(self.items('include "carve-out.ownPrometheus" . | fromYamlArray'))
        if name == "legacy-node":
            pod["containers"][0]["env"].append(self.items('include "carve-out.publicUrl" . | fromYamlArray'))
        spec["template"]["metadata"]["annotations"] = self.nested(annotations)
        if name in SERVING:
            pod["priorityClassName"] = self.of(("if", ".Values.priorityClassName"))
        security = pod["securityContext"]
        for setting in pod["containers"][0].get("env", []):
            if isinstance(setting, dict) and setting["name"].endswith("PROMETHEUS_URL"):
                ours = json.dumps(setting["value"])
                setting["value"] = self.of(f"{{{{ default {ours} .Values.prometheus.url }}}}")
        for key in {"runAsUser", "runAsGroup", "fsGroup"} & security.keys():
            security[key] = self.of(("unless", ".Values.openshift", security[key]))
        pod["imagePullSecrets"] = self.nested('include "carve-out.pullSecrets" . | fromYamlArray')
        pod["nodeSelector"] = self.nested(".Values.nodeSelector")
        ours = json.dumps(pod.get("tolerations", []))
        pod["tolerations"] = self.nested(f"concat (fromJsonArray `{ours}`) .Values.tolerations")
        ours = json.dumps(pod.get("affinity", {}))
        pod["affinity"] = self.nested(f"mustMergeOverwrite (fromJson `{ours}`) (deepCopy .Values.affinity)")
        for container in pod.get("initContainers", []) + pod["containers"]:
            self.container(container)
        for container in pod.get("initContainers", []) + pod["containers"][1:]:
            value = " (deepCopy .Values.proxy.edgeResources)" if container["name"] == "edge" else ""
            self.resources(container, "1", value)
        self.first_container(pod["containers"][0], value_of(name))
        if name in KEPT:
            self.persistence(spec, self.ephemeral[name])

    def first_container(self, container, value):
        """Adds resources and variables to the part's own container; the pod may have others."""
        self.resources(container, "4", f" (deepCopy .Values.{value}.resources)")
        extra = f".Values.{value}.extraEnv"
        if "env" in container:
            container["env"].append(self.items(extra))
        else:
            container["env"] = self.nested(extra)

    def resources(self, container, cpu, values):
        """Adds what components/cpu-limits adds, if chosen, and the values."""
        ours = json.dumps(container["resources"])
        limit = f'(ternary (dict "limits" (dict "cpu" "{cpu}")) (dict) .Values.cpuLimits)'
        container["resources"] = self.nested(f"mustMergeOverwrite (fromJson `{ours}`) {limit}{values}")

    def container(self, container):
        image, _, tag = container["image"].rpartition(":")
        registry, _, path = image.partition("/")
        if registry != "localhost":
            container["image"] = self.of(f'{{{{ include "carve-out.thirdParty" (list . "{path}" "{tag}") }}}}')
        elif tag == self.version:
            container["image"] = self.of(f'{{{{ include "carve-out.image" (list . "{path}") }}}}')
        container["imagePullPolicy"] = self.of("{{ .Values.image.pullPolicy }}")
        security = container["securityContext"]
        if "runAsUser" in security:
            security["runAsUser"] = self.of(("unless", ".Values.openshift", security["runAsUser"]))

    def autoscaler(self, name):
        spec = self.manifest["spec"]
        value = value_of(name)
        for key in ("minReplicas", "maxReplicas"):
            spec[key] = self.of(f"{{{{ .Values.{value}.{key} }}}}")
        if name == "proxy":
            target = spec["metrics"][0]["resource"]["target"]
            target["averageValue"] = self.of("{{ mul 600 .Values.proxy.workers }}m")

    def persistence(self, spec, ephemeral):
        """Chooses between a claim and an emptyDir, by a value."""
        value = f".Values.{self.kept_by()}.persistence"
        enabled = f"{value}.enabled"
        volumes = spec["template"]["spec"]["volumes"]
        others = {volume["name"]: volume for volume in ephemeral["template"]["spec"]["volumes"]}
        for volume in volumes:
            for key in volume.keys() & {"persistentVolumeClaim"}:
                other = others[volume["name"]]["emptyDir"]
                ours = volume[key]["claimName"]
                volume[key]["claimName"] = f'{{{{ default "{ours}" {value}.existingClaim }}}}'
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
        return f"{{{{- if and {expression} }}}}\n{text}{{{{- end }}}}\n" if expression else text

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


def value_of(name):
    """Returns the name of a part's values: qrService."""
    first, *others = name.split("-")
    return first + "".join(word.capitalize() for word in others)


def block(head, value, indent):
    inner = yaml.safe_dump(value, sort_keys=False)
    return f"{head}:\n" + "".join(f"{' ' * (indent + 2)}{line}\n" for line in inner.splitlines())


def condition(kind, name):
    """Returns the arguments of `and` that decide whether an object is rendered; None means always."""
    needed = []
    if name == "own-prometheus":
        needed.append("(not .Values.prometheus.enabled)")
    elif name == "metrics":
        needed.append("(or .Values.prometheus.operator.enabled (not .Values.prometheus.enabled))")
    elif kind in ("ServiceMonitor", "PrometheusRule"):
        needed.append(".Values.prometheus.operator.enabled")
    elif name.startswith("prometheus"):
        needed.append(".Values.prometheus.enabled")
    if REPLACED.fullmatch(name):
        needed.append("(not .Values.old)")
    if name.startswith("grafana"):
        needed.append(".Values.grafana.enabled")
    if kind == "NetworkPolicy":
        needed.append(".Values.networkPolicy.enabled")
    return " ".join(needed) or None
