"""An API server, a gateway, Prometheus, `carve serve`, two sides and clients, in this program's network."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gateways import ADDRESS, ADMIN, API

NAMESPACE = "qr"
CARVE = "carve-token"
PORT = 8090
PORTS = {"shop": 3000, "qr": 8000, "shadow": 42080}
CLIENTS = 8
REQUESTS_PER_SECOND = 200
POLL_SECONDS = 0.1
STARTS_WITHIN_SECONDS = 60
CHANGED_OBJECTS = ["httproutes/carve-qrcode", "configmaps/split"]
# The rights that docs/gateways.md names.
ROLE = [
    {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["split"], "verbs": ["get", "watch", "patch"]},
    {"apiGroups": ["gateway.networking.k8s.io"], "resources": ["httproutes"], "verbs": ["get", "create"]},
    {
        "apiGroups": ["gateway.networking.k8s.io"],
        "resources": ["httproutes"],
        "resourceNames": ["carve-qrcode"],
        "verbs": ["patch", "delete"],
    },
]


class Failed(Exception):
    """An expectation that did not hold; its text goes into the report."""


def expect(condition, problem):
    if not condition:
        raise Failed(problem)


class Sides:
    """The two servers. The new one can be made to fail, or to answer something else than the old one."""

    def __init__(self):
        self.fails = self.differs = False
        self.servers = [self.server("old", PORTS["shop"]), self.server("new", PORTS["qr"])]

    def server(self, side, port):
        sides = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                is_wrong = side == "new" and sides.differs
                body = b"wrong" if is_wrong else b"right"
                self.send_response(500 if side == "new" and sides.fails else 200)
                self.send_header("X-Side", side)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 128

        server = Server((ADDRESS, port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server


class Load:
    """Clients with kept connections. Each answer is its time, and the side that answered, the status or the error."""

    def __init__(self):
        self.answers = []
        self.began = time.time()
        self.is_over = threading.Event()
        self.clients = [threading.Thread(target=self.client) for _ in range(CLIENTS)]
        for client in self.clients:
            client.start()

    def client(self):
        connection = None
        while not self.is_over.wait(CLIENTS / REQUESTS_PER_SECOND):
            connection = connection or HTTPConnection(ADDRESS, PORT, timeout=5)
            try:
                connection.request("GET", "/qrcode", headers={"Host": "shop.example"})
                answer = connection.getresponse()
                answer.read()
                outcome = answer.getheader("X-Side") if answer.status == 200 else str(answer.status)
            except (OSError, HTTPException) as problem:
                outcome, connection = repr(problem), None
            self.answers.append((time.time(), outcome))

    def end(self):
        self.is_over.set()
        for client in self.clients:
            client.join()

    def count(self, since, until):
        return Counter(outcome for at, outcome in list(self.answers) if since <= at < until)

    def total(self):
        return Counter(outcome for _, outcome in self.answers)

    def share(self, since, until):
        """The percentage of the answers that the new side gave."""
        counts = self.count(since, until)
        return 100 * counts["new"] / max(counts["new"] + counts["old"], 1)

    def changes(self):
        """The seconds at which an answer was another one than the one before."""
        pairs = zip(self.answers, self.answers[1:])
        return [f"{after[0] - self.began:.2f} {after[1]}" for before, after in pairs if before[1] != after[1]][:20]

    def last(self, outcome):
        return max((at for at, it in self.answers if it == outcome), default=0)


class Site:
    def __init__(self, assets, gateway, folder, route):
        self.assets, self.gateway, self.folder, self.route = assets, gateway, folder, route
        self.programs = {}
        self.sides = Sides()
        self.env = {**os.environ, "PATH": f"{assets}:{os.environ['PATH']}", "KUBECONFIG": str(folder / "admin.conf")}

    def __enter__(self):
        try:
            self.start_api()
            self.apply_crds()
            self.apply_objects()
            for name in ("serve", "commands", "routes"):
                (self.folder / name).mkdir()
            self.credentials = self.folder / "credentials"
            self.credentials.mkdir()
            shutil.copy(self.folder / "ca.crt", self.credentials)
            (self.credentials / "token").write_text(CARVE)
            self.write_route(self.route)
            self.gateway.start(self)
            self.start_prometheus()
            if self.gateway.mirrors:
                self.start_shadow()
            self.start_serve()
            with self.load() as load:
                self.wait(
                    lambda: load.total()["old"] > 10, STARTS_WITHIN_SECONDS, f"{self.gateway.name} serves no request"
                )
        except BaseException:
            for name in self.programs:
                print(f"--- {name}\n{self.log(name)}", file=sys.stderr)
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind, error, trace):
        for server in self.sides.servers:
            server.shutdown()
            server.server_close()
        for program in reversed(self.programs.values()):
            program.kill()
            program.wait()

    # --- Programs -----------------------------------------------------------------------------------

    def start(self, name, *command, env=None):
        with open(self.folder / f"{name}.log", "ab") as log:
            environment = {**self.env, **(env or {})}
            command = [str(word) for word in command]
            self.programs[name] = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.folder)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()[-4000:]

    def start_api(self):
        make_certificates(self.folder)
        (self.folder / "tokens.csv").write_text(f'{ADMIN},admin,admin,"system:masters"\n{CARVE},carve,carve\n')
        (self.folder / "admin.conf").write_text(json.dumps(kubeconfig(self.folder / "ca.crt", ADMIN)))
        etcd = "http://127.0.0.1:2379"
        listen = [
            "--listen-client-urls",
            etcd,
            "--advertise-client-urls",
            etcd,
            "--listen-peer-urls",
            "http://127.0.0.1:2380",
        ]
        self.start("etcd", self.assets / "etcd", "--data-dir", self.folder / "etcd", *listen, "--log-level=error")
        self.start_apiserver()

    def start_apiserver(self):
        service = ["--service-account-issuer=https://api", "--service-cluster-ip-range=10.96.0.0/16"]
        service += ["--service-account-key-file=server.key", "--service-account-signing-key-file=server.key"]
        files = ["--tls-cert-file=server.crt", "--tls-private-key-file=server.key", "--token-auth-file=tokens.csv"]
        self.start(
            "apiserver",
            self.assets / "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--advertise-address={ADDRESS}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            f"--cert-dir={self.folder}",
            *service,
            *files,
        )
        ready = lambda: self.run("get", "--raw", "/readyz").returncode == 0
        self.wait(ready, STARTS_WITHIN_SECONDS, "the API server is not ready", pause=1)

    def without_api(self, seconds):
        program = self.programs["apiserver"]
        program.kill()
        program.wait()
        time.sleep(seconds)
        self.start_apiserver()

    def start_prometheus(self):
        shadow = {"job_name": "shadow", "static_configs": [{"targets": ["127.0.0.1:42081"]}]}
        jobs = [{"job_name": "gateway", **self.gateway.metrics}, *([shadow] if self.gateway.mirrors else [])]
        settings = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": jobs}
        (self.folder / "prometheus.yml").write_text(json.dumps(settings))
        self.start("prometheus", "prometheus", "--config.file=prometheus.yml", "--web.listen-address=127.0.0.1:9090")

    def start_shadow(self):
        folder = ["--routes", self.folder / "routes", "--admin-addr", "127.0.0.1:42081"]
        self.start("shadow", self.program(), "shadow", *folder, "--addr", f"{ADDRESS}:{PORTS['shadow']}")

    def start_serve(self):
        self.start("serve", self.program(), "serve", env=self.settings("serve"))

    def kill_serve(self):
        self.programs["serve"].kill()
        self.programs["serve"].wait()

    def program(self):
        return os.environ["CARVE"]

    def settings(self, folder):
        return {
            "RAMP_KUBERNETES_URL": API,
            "RAMP_KUBERNETES_CREDENTIALS": str(self.credentials),
            "RAMP_SPLIT_CONFIG_MAP": f"{NAMESPACE}/split",
            "RAMP_GATEWAY_ROUTES": str(self.folder / "routes"),
            "RAMP_NGINX_DIR": str(self.folder / folder),
            "RAMP_PROMETHEUS_URL": "http://127.0.0.1:9090",
        }

    # --- carve --------------------------------------------------------------------------------------

    def carve(self, *arguments):
        done = self.try_carve(*arguments)
        expect(done.returncode == 0, f"carve {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def try_carve(self, *arguments):
        env = {**self.env, **self.settings("commands")}
        return subprocess.run([self.program(), *arguments], check=False, capture_output=True, text=True, env=env)

    def refuses(self, reason, *arguments):
        """carve refuses a command for this reason, and the old side has all the traffic that it had."""
        done = self.try_carve(*arguments)
        expect(done.returncode and reason in done.stderr, f"carve {' '.join(arguments)}: {done.stdout}{done.stderr}")

    def ramp(self, steps):
        self.carve("ramp", "qrcode", "--steps", steps, "--hold", "10s", "--detach")

    def status(self):
        """What carve says of the route: its share and its run; the share is None while the API is away."""
        done = self.try_carve("status", "qrcode", "--json")
        if not done.stdout:
            return {"share": None, "run": None}
        (route,) = json.loads(done.stdout)["routes"]
        return {"share": route["split"]["share_percent"], "run": route["run"]}

    def has_ended(self):
        run = self.status()["run"]
        return bool(run) and run["phase"] in ("done", "rolled_back", "stopped")

    def wait_for_share(self, share):
        self.wait(
            lambda: self.status()["share"] == share, 180, f"the share is not {share}%: {self.log('serve')}", pause=0.5
        )

    def wait_for_end(self, phase):
        self.wait(self.has_ended, 180, f"the run does not end: {self.log('serve')}", pause=0.5)
        run = self.status()["run"]
        expect(run["phase"] == phase, f"the run ended as {run['phase']}: {run.get('reason')}")

    def begin_again(self):
        """0 %, no stop, sides that are equal, and the process of runs as it was at first."""
        self.sides.fails = self.sides.differs = False
        self.write_route(self.route)
        self.kill_serve()
        self.run("-n", NAMESPACE, "delete", *CHANGED_OBJECTS, "--ignore-not-found")
        self.apply_objects()
        self.start_serve()

    def write_route(self, text):
        (self.folder / "routes/qrcode.toml").write_text(text + self.gateway.route)

    # --- Objects ------------------------------------------------------------------------------------

    def run(self, *arguments, given=None):
        command = ["kubectl", *map(str, arguments)]
        return subprocess.run(command, check=False, capture_output=True, text=True, input=given, env=self.env)

    def kubectl(self, *arguments, given=None):
        done = self.run("-n", NAMESPACE, *arguments, given=given)
        expect(done.returncode == 0, f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def get(self, name):
        return json.loads(self.kubectl("get", name, "-o", "json"))

    def apply_crds(self):
        self.kubectl("apply", "--server-side", "-f", "-", given=self.gateway.crds)

    def apply_objects(self):
        metadata = lambda name, **more: {"name": name, "namespace": NAMESPACE, **more}
        rbac = "rbac.authorization.k8s.io"
        parents = {"parentRefs": [{"name": "web"}], "hostnames": ["shop.example"]}
        paths = [{"path": {"type": kind, "value": value}} for kind, value in (("PathPrefix", "/"), ("Exact", "/shop"))]
        rule = {"matches": paths, "backendRefs": [{"name": "shop", "port": 3000}]}
        listener = {"name": "http", "port": PORT, "protocol": "HTTP"}
        role = {"apiGroup": rbac, "kind": "Role", "name": "carve"}
        gateway_api = "gateway.networking.k8s.io/v1"
        objects = [
            ("v1", "Namespace", {"name": NAMESPACE}, {}),
            ("v1", "ConfigMap", metadata("split"), {}),
            (f"{rbac}/v1", "Role", metadata("carve"), {"rules": ROLE}),
            (
                f"{rbac}/v1",
                "RoleBinding",
                metadata("carve"),
                {"roleRef": role, "subjects": [{"kind": "User", "name": "carve"}]},
            ),
            (gateway_api, "GatewayClass", {"name": "web"}, {"spec": {"controllerName": self.gateway.controller}}),
            (gateway_api, "Gateway", metadata("web"), {"spec": {"gatewayClassName": "web", "listeners": [listener]}}),
            (gateway_api, "HTTPRoute", metadata("shop"), {"spec": {**parents, "rules": [rule]}}),
        ]
        for name, port in PORTS.items():
            labels = {"kubernetes.io/service-name": name}
            slice = {
                "addressType": "IPv4",
                "ports": [{"name": "http", "port": port}],
                "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": True}}],
            }
            # Without a node, the port of a Service is that of its endpoint, which the shadow asks.
            objects.append(("v1", "Service", metadata(name), {"spec": {"ports": slice["ports"]}}))
            objects.append(("discovery.k8s.io/v1", "EndpointSlice", metadata(f"{name}-1", labels=labels), slice))
        items = [
            {"apiVersion": version, "kind": kind, "metadata": meta, **rest} for version, kind, meta, rest in objects
        ]
        self.run("apply", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": items[:1]}))
        self.kubectl("apply", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    # --- Clients ------------------------------------------------------------------------------------

    @contextmanager
    def load(self):
        load = Load()
        try:
            yield load
        finally:
            load.end()

    def nothing_was_lost(self, load):
        lost = [(f"{at - load.began:.2f} s", outcome) for at, outcome in load.answers if outcome not in ("old", "new")]
        expect(
            not lost, f"of {len(load.answers)} requests {len(lost)} were lost: {lost[:20]}; changes: {load.changes()}"
        )

    def wait(self, is_so, seconds, problem, pause=POLL_SECONDS):
        until = time.monotonic() + seconds
        while not is_so():
            expect(time.monotonic() < until, problem)
            time.sleep(pause)


def kubeconfig(authority, token):
    cluster = {"name": "api", "cluster": {"server": API, "certificate-authority": str(authority)}}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "api", "context": {"cluster": "api", "user": "user"}}],
        "current-context": "api",
    }


def make_certificates(folder):
    names = f"subjectAltName=IP:{ADDRESS},IP:127.0.0.1,IP:10.96.0.1,DNS:kubernetes"
    openssl = lambda *arguments: subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=folder)
    new = ["req", "-newkey", "rsa:2048", "-nodes"]
    openssl(*new, "-x509", "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=ca")
    openssl(*new, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=api")
    (folder / "names").write_text(names)
    sign = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
    openssl("x509", "-req", "-in", "server.csr", "-out", "server.crt", *sign)
