"""Checks the chart: it renders with usual values, refuses wrong ones, and renders the same as kustomize."""

import functools
import re
import tempfile
from pathlib import Path

import chart
import pin

HELM = chart.TOP / "target/tools/bin/helm-3.16"

# Sets of values that people use, by name.
CHART_VALUES = {
    "defaults": [],
    "ingress": [
        "ingress.enabled=true",
        "ingress.className=traefik",
        "ingress.host=qr.example.com",
        "ingress.tls.secretName=qr-tls",
        "ingress.annotations.a=b",
        "ingress.paths={/}",
        "proxy.workers=4",
        "proxy.logPercent=0.5",
        "image.registry=registry.example.com",
    ],
    "http-route": [
        "httpRoute.enabled=true",
        "httpRoute.parentRefs[0].name=public",
        "httpRoute.parentRefs[0].namespace=gateway",
        "httpRoute.hostnames={qr.example.com}",
        "legacyNode.publicUrl=https://qr.example.com",
    ],
    "air-gapped": [
        "image.registry=registry.example.com/qr",
        "image.pullSecrets={registry}",
        "thirdParty.registry=registry.example.com:5000/mirror",
        f"thirdParty.digests.prometheus=sha256:{'0' * 64}",
        "nodeSelector.pool=qr",
        "tolerations[0].key=pool",
        "tolerations[0].operator=Exists",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
        ".matchExpressions[0].key=gpu",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
        ".matchExpressions[0].operator=DoesNotExist",
        "prometheus.persistence.enabled=false",
    ],
    "cloud": [
        "proxy.service.type=LoadBalancer",
        "networkPolicy.apiServerPorts={443}",
        "proxy.trustedProxies={10.0.0.0/8}",
        "legacyNode.persistence.size=10Gi",
        "prometheus.persistence.storageClass=fast",
    ],
    "own-prometheus": [
        "prometheus.enabled=false",
        "prometheus.url=http://prometheus-server.metrics/prometheus",
        "prometheus.namespace=metrics",
        "prometheus.operator.enabled=true",
        "prometheus.operator.labels.release=stack",
        "grafana.enabled=false",
    ],
    "own-app": [
        "old=http://old.shop:80",
        "new=http://new.shop",
        "newPods=http://new-ready.shop:8080",
        "oldPods=http://old-ready.shop",
        f"routes.report={chart.OWN_ROUTE}",
        f"routes.qrcode={chart.TOP}/proxy/routes/qrcode.toml",
        "ingress.enabled=true",
        "ingress.paths={/}",
    ],
    "openshift": [
        "openshift=true",
        "legacyNode.persistence.enabled=false",
        "grafana.enabled=false",
        "priorityClassName=served-first",
        "podAnnotations.a=b",
        "shadow.resources.limits.memory=128Mi",
        "shadow.extraEnv[0].name=SHADOW_LOG_LEVEL",
        "shadow.extraEnv[0].value=debug",
        "prometheus.extraEnv[0].name=A",
        "prometheus.persistence.existingClaim=samples",
    ],
}
# Values that the schema must refuse.
CHART_MISTAKES = [
    "ingress.enable=true",
    "ingress.enabled=yes",
    "ingress.host=https://qr.example.com",
    "ingress.path=/",
    "ingress.paths={qr}",
    "ingress.tls=qr-tls",
    "httpRoute.enabled=true",
    "httpRoute.parentRefs[0].namespace=gateway",
    "httpRoute.hostnames={qr.example.com/}",
    "legacyNode.publicUrl=qr.example.com",
    "proxy.workers=0",
    "proxy.logPercent=101",
    "proxy.replicas=3",
    "proxy.trustedProxies={a}",
    "prometheus.enabled=false",
    "prometheus.url=http://prometheus.monitoring:9090",
    "prometheus.enabled=false,prometheus.url=https://prometheus.monitoring",
    "prometheus.enabled=false,prometheus.url=prometheus.monitoring:9090",
    "prometheus.enabled=false,prometheus.url=http://prometheus/?a=b",
    "prometheus.operator=true",
    "prometheus.namespace=a/b",
    "image.registry=",
    "thirdParty.registry=docker.io/",
    "thirdParty.digests.redis=sha256:0",
    "tolerations.key=pool",
    "shadow.extraEnv[0].value=debug",
    "ramp.replicas=3",
    "fullnameOverride=a",
    "old=http://old.shop:80",
    "routes.report=a",
    "newPods=http://new.shop:80",
    "old=http://old.shop,new=https://new.shop,routes.report=a",
    "old=http://old.shop,new=http://new.shop/path,routes.report=a",
    "old=http://old.shop,new=http://new.shop,routes.Report=a",
]


def check_chart(pool):
    """Returns what helm's engine renders with each set of values, and its errors."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "chart")
        chart.write_chart(out)
        helm = functools.partial(chart.template, HELM, out)
        rendered = list(pool.map(helm, CHART_VALUES.values()))
        named = zip(CHART_VALUES, rendered, strict=True)
        found = [(text, f"chart, {name}: {error}" if error else "") for name, (text, error) in named]
        problems = chart.unequal(HELM, out)
        for mistake, (text, _) in zip(CHART_MISTAKES, pool.map(helm, [[it] for it in CHART_MISTAKES]), strict=True):
            if text:
                problems.append(f"the schema lets {mistake} pass")
        problems += pinned_problems(out, helm)
    return found + [("", f"chart: {problem}") for problem in problems]


def pinned_problems(out, helm):
    """Yields the images that a release's chart leaves without a digest. Changes the chart in `out`."""
    digest = "sha256:" + "0" * 64
    pin.pin(out, "".join(f"registry.test/qr/{name} {digest}\n" for name in workspace_images()))
    text, error = helm([])
    if error:
        yield f"with digests: {error}"
    for image in set(re.findall(r"image: (\S+)", text)):
        if image.startswith("localhost/") or image.startswith("registry.test/") and not image.endswith(f"@{digest}"):
            yield f"{image} has no digest in a release"


def workspace_images():
    """Returns the names of our own images in the manifests."""
    text = (chart.TOP / "deploy/k8s/base/kustomization.yaml").read_text()
    return re.findall(r"newName: localhost/([a-z-]+)", text)
