"""The cluster under test, through kubectl and through programs that run inside it as pods."""

import http.client
import json
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlencode

from pods import HOME, NAMESPACE, OHA, OWN_NAMESPACE, PROXY, SHELL, job, with_policies

POLL_SECONDS = 0.25
# The pods' grace periods are up to 660 s, for streams; the tests leave none open.
PODS_END_WITHIN_SECONDS = 180
DELETED_WITHIN_SECONDS = 120


class Failed(Exception):
    """An expectation that did not hold; its text goes into the report."""


class Api(http.client.HTTPConnection):
    """A connection to `kubectl proxy`. A request takes milliseconds. Each kubectl would take a fifth of a second of a
    core, which the pods under test would lack."""

    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Cluster:
    """kubectl and the kustomization under test. Some checks also need other kustomizations (around two Services of
    one's own, for production, of an older commit), helm, a released chart with helm's flags for it, and the command
    that verifies its signatures."""

    def __init__(self, command, kustomization, own_app=None, production=None, older=None, helm=(), chart=(), verify=()):
        self.command = command
        self.kustomization = kustomization
        self.own_app = own_app
        self.production = production
        self.older = older
        self.helm = helm
        self.chart = chart
        self.verify = verify
        self.busy_seconds = 0

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        # Unlike a port, it can be reached from any network namespace.
        self.socket = str(Path(self.folder.name, "api"))
        command = [*self.command, "proxy", f"--unix-socket={self.socket}"]
        self.proxy = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.proxy.stdout.readline()  # once it listens
        return self

    def __exit__(self, kind, error, trace):
        self.proxy.terminate()
        self.proxy.wait()
        self.folder.cleanup()
        return False

    # --- kubectl -------------------------------------------------------------------------------------

    def run(self, *arguments, given=None, timeout=None):
        """Runs kubectl and returns the outcome, success or not."""
        command = [*self.command, *map(str, arguments)]
        try:
            return subprocess.run(
                command, check=False, capture_output=True, text=True, input=given, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 1, "", f"kubectl does not end within {timeout} s")
        except OSError as problem:
            return subprocess.CompletedProcess(command, 1, "", f"{problem.filename}: {problem.strerror}")

    def kubectl(self, *arguments, given=None):
        """Runs kubectl in the namespace and returns what it prints; raises Failed if it fails."""
        done = self.run("-n", NAMESPACE, *arguments, given=given)
        if done.returncode:
            raise Failed(f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *arguments):
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def read(self, path, group="api/v1"):
        """Returns what a group of the API answers for a path below the namespace."""
        api = Api(self.socket)
        try:
            api.request("GET", f"/{group}/namespaces/{NAMESPACE}/{path}")
            answer = api.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as problem:
            raise Failed(f"{path}: {problem!r}") from None
        finally:
            api.close()
        if answer.status != 200:
            raise Failed(f"{path}: {answer.status} {text.strip()}")
        return text

    def read_all(self, kind, group="api/v1", selector=None):
        query = f"?labelSelector={quote(selector)}" if selector else ""
        return json.loads(self.read(kind + query, group))["items"]

    def read_pods(self, selector=None):
        return self.read_all("pods", selector=selector)

    def apply(self, kustomization=None):
        """Applies a kustomization, by default the one under test, and returns kubectl's warnings."""
        done = self.run("apply", "-k", kustomization or self.kustomization)
        if done.returncode:
            raise Failed(f"apply: {done.stderr.strip()}")
        return [line for line in done.stderr.splitlines() if line.strip()]

    def dry_run(self, kustomization):
        """Lets the server validate and admit a kustomization, whose namespace must exist. Returns the objects that it
        would create or change, and the warnings."""
        done = self.run("apply", "--dry-run=server", "-k", kustomization)
        if done.returncode:
            raise Failed(f"apply --dry-run=server: {done.stderr.strip()}")
        return done.stdout.splitlines(), done.stderr.strip()

    def restore(self):
        """Brings everything back to the manifests' state. Old pods may still be ending."""
        self.apply()
        self.wait_until_ready()

    def delete(self):
        """Deletes everything and waits until it is gone."""
        self.delete_pods()
        # kubectl waits for one object after the other, so the time is bounded here.
        options = ["--ignore-not-found"]
        # An older version had a PriorityClass, which is in no namespace and not in this kustomization.
        self.run("delete", "priorityclasses", "-l", "app.kubernetes.io/part-of=qr", *options)
        done = self.run("delete", "-k", self.kustomization, *options, timeout=DELETED_WITHIN_SECONDS)
        left = self.left()
        self.expect(not done.returncode and not left, f"delete: {done.stderr.strip()}; left: {', '.join(left)}")

    def delete_pods(self):
        """Ends every pod. If a namespace is deleted with pods in it, Kubernetes looks at it again only after half of
        their longest grace period."""
        kinds = "deployments,statefulsets,jobs,services,pods"
        options = ["--all", "--cascade=foreground"]
        self.run("-n", NAMESPACE, "delete", kinds, *options, timeout=PODS_END_WITHIN_SECONDS)

    def start_afresh(self):
        """Installs everything again after a check has failed, so that it makes no other check fail."""
        self.delete_pods()
        self.run("delete", "namespace", NAMESPACE, OWN_NAMESPACE, "--ignore-not-found", "--timeout=180s")
        self.apply()
        self.wait_until_ready(timeout=300)

    # --- Reading -------------------------------------------------------------------------------------

    def pods(self, selector=None, living=True):
        """Returns the names of pods; with `living`, only of those that are not being deleted."""
        names = [
            pod["metadata"]["name"]
            for pod in self.read_pods(selector)
            if not living or "deletionTimestamp" not in pod["metadata"]
        ]
        if living and not names:
            raise Failed(f"no pod matches {selector}")
        return names

    def address_of(self, pod):
        return self.get("pod", pod)["status"]["podIP"]

    def shares_served(self, route="qrcode"):
        """Returns the set of a route's shares that the ready proxies report, or the homes of the relay."""
        pods, port, path = (HOME, 42093, "share") if route == "relay" else (PROXY, 8081, f"split/{route}")
        # A home's second line is the split.
        answers = [self.ask_text(pod, port, path).splitlines()[-1] for pod in self.pods(pods)]
        return {f"{json.loads(answer)['share_percent']:g}" for answer in answers}

    def stops_served(self, route="qrcode"):
        """Returns the set of the ready proxies' answers about a route: stopped, not stopped."""
        # Autoscalers may start and end pods meanwhile.
        pods = set(self.pods(PROXY)) & set(self.ready_pods(PROXY))
        return {self.ask_text(pod, 8081, f"stop/{route}").strip() for pod in pods}

    def measure(self, expression):
        """Returns the one number that Prometheus has for an expression, or None."""
        pod = self.pods("app.kubernetes.io/name=prometheus")[0]
        query = urlencode({"query": expression})
        results = self.ask(pod, 9090, f"prometheus/api/v1/query?{query}")["data"]["result"]
        return float(results[0]["value"][1]) if results else None

    def ask(self, pod, port, path):
        """Returns a pod's JSON answer, fetched through the Kubernetes API."""
        return json.loads(self.ask_text(pod, port, path))

    def ask_text(self, pod, port, path):
        return self.read(f"pods/{pod}:{port}/proxy/{path}")

    def ready_pods(self, selector=None):
        """Returns the names of the ready pods."""
        is_ready = lambda it: it["type"] == "Ready" and it["status"] == "True"
        return [
            pod["metadata"]["name"]
            for pod in self.read_pods(selector)
            if any(map(is_ready, pod["status"].get("conditions", [])))
        ]

    def has(self, kind, name):
        return bool(self.kubectl("get", kind, name, "--ignore-not-found", "-o", "name").strip())

    def usage(self):
        """Yields each pod's resource usage, as the kubelets report it."""
        for node in self.get("nodes")["items"]:
            path = f"/api/v1/nodes/{node['metadata']['name']}/proxy/stats/summary"
            pods = json.loads(self.kubectl("get", "--raw", path))["pods"]
            yield from (pod for pod in pods if pod["podRef"]["namespace"] == NAMESPACE)

    def restarts(self):
        """Maps each restarted container to its number of restarts."""
        return {
            f"{pod['metadata']['name']}/{status['name']}": status["restartCount"]
            for pod in self.read_pods()
            for status in pod["status"].get("containerStatuses", [])
            if status["restartCount"]
        }

    # --- Waiting -------------------------------------------------------------------------------------

    def wait_for(self, what, condition, timeout=90):
        """Polls until the condition returns something true, and returns that."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            found = condition()
            if found:
                return found
            time.sleep(POLL_SECONDS)
        raise Failed(f"still waiting after {timeout} s for {what}")

    def wait_until_ready(self, timeout=90):
        """Waits until every Deployment has all its pods, including those that its autoscaler wants: `kubectl rollout
        status` accepts fewer until the autoscaler has acted."""

        def ready():
            bounds = {
                scaler["spec"]["scaleTargetRef"]["name"]: scaler["spec"]["minReplicas"]
                for scaler in self.read_all("horizontalpodautoscalers", "apis/autoscaling/v2")
            }
            return all(
                is_ready(deployment, bounds.get(deployment["metadata"]["name"], 0))
                for kind in ("deployments", "statefulsets")
                for deployment in self.read_all(kind, "apis/apps/v1")
            )

        self.wait_for("every Deployment to be ready", ready, timeout)

    def wait_for_rollout(self, deployment):
        self.kubectl("rollout", "status", f"deployment/{deployment}", "--timeout=120s")

    def wait_until_none_terminates(self):
        def ended():
            return not any("deletionTimestamp" in pod["metadata"] for pod in self.read_pods())

        self.wait_for("terminating pods to end", ended)

    def wait_for_reason(self, pod, reason):
        """Waits until one of the pod's containers has terminated for that reason."""

        def ended():
            statuses = json.loads(self.read(f"pods/{pod}"))["status"]["containerStatuses"]
            reasons = [
                status.get(key, {}).get("terminated", {}).get("reason")
                for status in statuses
                for key in ("state", "lastState")
            ]
            return reason in reasons

        self.wait_for(f"{pod} to end with {reason}", ended)

    def wait_for_crash(self, selector):
        """Waits until a pod is in CrashLoopBackOff and returns its last log."""

        def crashed():
            for pod in self.read_pods(selector):
                for status in pod["status"].get("containerStatuses", []):
                    if status.get("state", {}).get("waiting", {}).get("reason") == "CrashLoopBackOff":
                        return pod["metadata"]["name"]
            return None

        pod = self.wait_for(f"a pod of {selector} in CrashLoopBackOff", crashed)
        return self.kubectl("logs", pod, "--previous").strip()

    def wait_for_event(self, word):
        def said():
            return any(word in event.get("message", "") for event in self.read_all("events"))

        self.wait_for(f"an event about {word}", said)

    # --- Changing ------------------------------------------------------------------------------------

    def patch(self, kind, name, patch):
        self.kubectl("patch", kind, name, "--patch", json.dumps(patch))

    def evict(self, pod):
        """Evicts one pod as `kubectl drain` does, which respects its disruption budget."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": NAMESPACE},
        }
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/eviction"
        self.kubectl("create", "--raw", path, "-f", "-", given=json.dumps(eviction))

    def stop_process(self, pod, name):
        """Sends SIGSTOP to a process of a pod whose containers share their processes."""
        script = f"kill -STOP $(grep -lx {name} /proc/[0-9]*/comm | cut -d/ -f3)"
        self.debug(pod, ["sh", "-c", script])

    def debug(self, pod, command, name=None):
        """Starts a container in a running pod. It has the pod's address and network policies."""
        options = ["--image-pull-policy=IfNotPresent", "--profile=restricted", "--quiet"]
        options += [f"--container={name}"] if name else []
        self.kubectl("debug", pod, f"--image={SHELL}", *options, "--", *command)

    def start(self, manifest):
        """Starts a pod or a Job, with the network policies that a test client needs."""
        self.kubectl("apply", "-f", "-", given=json.dumps(with_policies(manifest)))

    def check_contract(self, image):
        """Checks the contract through nginx from a pod of this image, and returns the report."""
        return self.run_job("contract", image, ["http://proxy"], timeout=120, command=["carve", "contract"])

    def run_job(self, name, image, arguments, timeout, command=None):
        """Runs a program as a Job and returns what it printed; raises Failed if it fails."""
        self.start(job(name, image, arguments, command=command))

        # `kubectl wait` waits for one condition, and a Job ends with one of two.
        def ended():
            status = json.loads(self.read(f"jobs/{name}", "apis/batch/v1"))["status"]
            return {c["type"] for c in status.get("conditions", [])} & {"Complete", "Failed"}

        outcome = self.wait_for(f"the end of {name}", ended, timeout)
        log = self.kubectl("logs", f"job/{name}")
        self.kubectl("delete", "job", name)
        if "Failed" in outcome:
            raise Failed(f"{name} failed:\n{log}")
        return log

    def flood(self, url, connections):
        """Starts 15 s of load over that many connections and ignores the outcome."""
        arguments = ["--no-tui", "--output-format=quiet", "-z=15s", f"-c={connections}", url]
        self.kubectl("delete", "job", "flood", "--ignore-not-found")
        self.start(job("flood", OHA, arguments, memory="512Mi"))

    # --- Expecting -----------------------------------------------------------------------------------

    @staticmethod
    def expect(holds, message):
        if not holds:
            raise Failed(message)

    def expect_pods(self, selector, count):
        pods = self.pods(selector)
        self.expect(len(pods) == count, f"{len(pods)} pods match {selector}, not {count}")

    def expect_no_difference(self):
        done = self.run("diff", "-k", self.kustomization)
        self.expect(done.returncode == 0, f"diff:\n{done.stdout}{done.stderr}")

    def refuse_existing_namespaces(self):
        """Refuses a cluster that already has one of the namespaces, because the test deletes them."""
        for name in (NAMESPACE, OWN_NAMESPACE):
            done = self.run("get", "namespace", name, "--ignore-not-found", "-o", "name")
            if done.returncode:
                raise SystemExit(f"deploy-test: {done.stderr.strip()}")
            if done.stdout.strip():
                raise SystemExit(f"deploy-test: the cluster already has a namespace {name}")

    def left(self):
        """Lists the project's objects that are left outside of namespaces and in its own."""
        kinds = "namespaces,priorityclasses,clusterroles,clusterrolebindings,persistentvolumes"
        done = self.run("get", kinds, "-l", "app.kubernetes.io/part-of=qr", "-o", "name")
        inside = self.run("-n", NAMESPACE, "get", "pods,services,persistentvolumeclaims", "-o", "name")
        for outcome in (done, inside):
            if outcome.returncode:
                raise Failed(f"get: {outcome.stderr.strip()}")
        return done.stdout.split() + inside.stdout.split()


    def inside(self):
        """Lists every object in the namespace, except events and the objects that Kubernetes itself creates."""
        kinds = self.kubectl("api-resources", "--namespaced", "--verbs=list,delete", "-o", "name").split()
        wanted = ",".join(kind for kind in kinds if not kind.startswith("events"))
        found = self.kubectl("get", wanted, "-o", "name").split()
        return [name for name in found if name not in ("configmap/kube-root-ca.crt", "serviceaccount/default")]


def is_ready(deployment, at_least):
    status, spec = deployment["status"], deployment["spec"]
    wanted = max(spec["replicas"], at_least)
    return (
        status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
        and status.get("updatedReplicas", 0) == wanted
        and status.get("readyReplicas", 0) == wanted
        and status.get("replicas", 0) == wanted
    )
