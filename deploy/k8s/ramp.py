"""ramp's commands, as people type them on a cluster."""

import sys

from pods import NAMESPACE


def ramp(cluster, words):
    """Runs one of ramp's commands in its pod, copies what it says and returns its exit code."""
    done = cluster.run("-n", NAMESPACE, "exec", "deploy/ramp", "--", "/ramp", *words)
    print(done.stdout, end="", flush=True)
    print(done.stderr, end="", file=sys.stderr, flush=True)
    return done.returncode


def set_share(cluster, route, percent):
    words = [f"--route={route}", "set", percent]
    cluster.expect(ramp(cluster, words) == 0, f"ramp {' '.join(words)} fails")
