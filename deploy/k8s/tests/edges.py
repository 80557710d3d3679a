"""Counts of /qrcode by the proxies' containers `edge` during a `with` block."""

from collections import Counter

from cluster import Failed
from pods import PROXY

EDGE_PORT = 42085
# The prefix of each series by its short name here.
SERIES = {
    "new": 'edge_requests_total{route="qrcode",arm="new",side="new"',
    "fallback": 'edge_requests_total{route="qrcode",arm="new",side="fallback"',
    "retried": 'edge_retries_total{route="qrcode",arm="new"',
    "no live": 'edge_no_live_upstreams_total{route="qrcode",arm="new"',
}


class Edges:
    """Counts the changes during a block in which no proxy is replaced."""

    def __init__(self, cluster):
        self.cluster = cluster

    def __enter__(self):
        self.before = self.read()
        return self

    def __exit__(self, kind, error, trace):
        return False

    def read(self):
        counts = Counter()
        for pod in self.cluster.pods(PROXY):
            for line in self.cluster.ask_text(pod, EDGE_PORT, "metrics").splitlines():
                for name, prefix in SERIES.items():
                    if line.startswith(prefix):
                        counts[name] += int(line.rpartition(" ")[2])
        return counts

    def since(self):
        """Returns the counts since the block began."""
        counts = self.read()
        return {name: counts[name] - self.before[name] for name in SERIES}

    def expect(self, retried_percent, fallback_percent=0.5):
        """Expects that the new side has answered, nearly all of it at the first try."""
        counts = self.since()
        asked = counts["new"] + counts["fallback"]
        is_met = (
            asked
            and counts["fallback"] <= asked * fallback_percent / 100
            and counts["retried"] <= asked * retried_percent / 100
        )
        if not is_met:
            raise Failed(
                f"too many second tries (over {retried_percent} %) or fallbacks (over {fallback_percent} %): {counts}"
            )
        return f"retried {counts['retried']}, fallbacks {counts['fallback']}, no live upstream {counts['no live']}"
