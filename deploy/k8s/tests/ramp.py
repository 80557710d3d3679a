"""Runs carve's commands as people type them on a cluster."""

import sys

from pods import NAMESPACE


def ramp(cluster, words):
    """Runs one of carve's commands in a pod of ramp, prints its output, and returns its exit code."""
    done = cluster.run("-n", NAMESPACE, "exec", "deploy/ramp", "--", "carve", *words)
    print(done.stdout, end="", flush=True)
    print(done.stderr, end="", file=sys.stderr, flush=True)
    return done.returncode


def set_share(cluster, route, percent):
    words = ["split", route, percent]
    cluster.expect(ramp(cluster, words) == 0, f"carve {' '.join(words)} fails")
