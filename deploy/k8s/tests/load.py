"""Steady load through the proxy's Service, from inside the cluster."""

import itertools
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from cluster import Failed
from pods import CLIENT, NAMESPACE, OHA, client_pod

CLIENTS = f"app={CLIENT}"
# Requests a second of a Load that the old side mostly answers: each takes some 8 ms of a core, and the pods that start
# meanwhile need a core too.
RATE_ON_OLD = 50


class Client:
    """Runs a program as a pod while a `with` block lasts. It prints JSON when the pod is deleted; summarize() turns
    that into a line, or raises Failed."""

    kind = image = None
    command = None  # the image's own
    memory = "128Mi"
    numbers = itertools.count(1)

    def __init__(self, cluster, arguments):
        self.cluster = cluster
        self.arguments = arguments
        self.summary = ""
        # A new name each time, so that nobody has to wait until the previous pod is gone.
        self.name = f"{self.kind}-{next(self.numbers)}"

    def __enter__(self):
        pod = client_pod(self.name, self.image, self.arguments, self.memory, self.command)
        self.cluster.start(pod)
        self.cluster.wait_for(f"{self.name} to run", lambda: self.name in self.cluster.ready_pods(CLIENTS), timeout=30)
        self.log = self.follow()
        time.sleep(0.3)
        return self

    def follow(self):
        command = [*self.cluster.command, "-n", NAMESPACE, "logs", "--follow", f"pod/{self.name}"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __exit__(self, kind, error, trace):
        if self.log.poll() is not None:
            # The API server or the kubelet closed the stream; the pod has printed nothing yet.
            self.log = self.follow()
        time.sleep(1)
        was_there = self.cluster.kubectl("delete", "pod", self.name, "--wait=false", "--ignore-not-found")
        text, complaint = self.log.communicate(timeout=60)
        if not kind:
            # On a full node, a pod of a part may preempt it.
            self.cluster.expect(was_there, f"the pod {self.name} was deleted or preempted")
            self.cluster.expect(text, f"the log of the pod {self.name} came back empty. {complaint}")
            outcome, end = json.JSONDecoder().raw_decode(text)
            # A followed log may repeat a part.
            rest = text[end:].strip()
            self.cluster.expect(rest in text[:end], f"{self.name} printed more than its JSON: {rest}")
            self.summary = self.summarize(outcome)
        return False


@contextmanager
def at_once(*clients):
    """Starts clients at the same time, and stops them at the same time when the `with` block ends."""
    kind = None
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda client: client.__enter__(), clients))
        try:
            yield clients
        except BaseException as error:
            kind = type(error)
            raise
        finally:
            list(pool.map(lambda client: client.__exit__(kind, None, None), clients))


class Load(Client):
    """Runs oha at a steady rate; no request may fail.

    nginx closes idle connections when it reloads or stops. A client must resend a request that meets
    such a close (RFC 9112, 9.3.1). Browsers and most libraries do; oha does not. So tests that restart
    or reload nginx pass kept=False, and each request opens its own connection.
    """

    # Random texts, so that nothing is cached. oha reads the URL as a regular expression, so the host in
    # it has no dot.
    QRCODE = "http://proxy/qrcode\\?text=https://www/[a-z0-9]{16}"
    # Its STOPSIGNAL is SIGINT, on which oha prints its summary.
    kind = "load"
    image = OHA

    def __init__(self, cluster, rate=100, connections=16, kept=True, url=QRCODE, headers=()):
        options = ["--no-tui", "--output-format=json", "-z=900s", f"-q={rate}", f"-c={connections}"]
        options += [f"-H={header}" for header in headers]
        if not kept:
            options.append("--disable-keepalive")
        super().__init__(cluster, [*options, "--rand-regex-url", url])

    def summarize(self, outcome):
        statuses = outcome["statusCodeDistribution"]
        # "aborted due to deadline" counts the requests under way when oha was stopped.
        errors = {
            error: count
            for error, count in outcome["errorDistribution"].items()
            if error != "aborted due to deadline"
        }
        if set(statuses) != {"200"} or errors:
            raise Failed(f"clients noticed: statuses {statuses}, errors {errors}")
        slowest_ms = outcome["summary"]["slowest"] * 1000
        return f"{statuses['200']} requests, 0 failed, the slowest {slowest_ms:.0f} ms"
