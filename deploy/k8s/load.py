"""Steady load through the proxy's Service, from inside the cluster."""

import json
import subprocess
import time

from cluster import Failed
from pods import NAMESPACE, OHA, client


class Load:
    """Runs oha as a pod at a steady rate while a `with` block lasts; raises Failed at its end if any
    request failed.

    nginx closes idle connections when it reloads or stops. A client must resend a request that meets
    such a close (RFC 9112, 9.3.1). Browsers and most libraries do; oha does not. So tests that restart
    or reload nginx pass kept=False, and each request opens its own connection.
    """

    # Random texts, so that nothing is cached. oha reads the URL as a regular expression, so the host in
    # it has no dot.
    QRCODE = "http://proxy/qrcode\\?text=https://www/[a-z0-9]{16}"

    def __init__(self, cluster, rate=100, connections=16, kept=True, url=QRCODE):
        self.cluster = cluster
        self.url = url
        self.options = ["--no-tui", "--output-format=json", "-z=900s", f"-q={rate}", f"-c={connections}"]
        if not kept:
            self.options.append("--disable-keepalive")
        self.summary = ""

    def __enter__(self):
        self.cluster.start(client("load", OHA, [*self.options, "--rand-regex-url", self.url]))
        self.cluster.kubectl("wait", "--for=condition=Ready", "pod/load", "--timeout=30s")
        command = [*self.cluster.command, "-n", NAMESPACE, "logs", "--follow", "pod/load"]
        self.log = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        return self

    def __exit__(self, kind, error, trace):
        time.sleep(2)
        # The image's STOPSIGNAL is SIGINT, on which oha prints its summary.
        self.cluster.kubectl("delete", "pod", "load", "--wait=false")
        text, _ = self.log.communicate(timeout=60)
        self.cluster.kubectl("wait", "--for=delete", "pod/load", "--timeout=60s")
        if kind:
            return False
        outcome = json.loads(text)
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
        self.summary = f"{statuses['200']} requests, 0 failed, the slowest {slowest_ms:.0f} ms"
        return False
