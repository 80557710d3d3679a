#!/usr/bin/env python3
"""Runs one of ramp's commands in the cluster, as the Job of deploy/k8s/ramp: `make deploy-ramp`.

It prints the Job's log and exits with ramp's exit code.
"""

import argparse
import subprocess
import sys
import time

import yaml

from check import DEPLOY, TOOLS
from cluster import Cluster, Failed


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kubectl", default="kubectl", help="the command that reaches the cluster")
    # Not argparse.REMAINDER, which would hand the `--` before them to ramp.
    parser.add_argument("words", nargs="*", help="after --, ramp's arguments, for example: set 25")
    arguments = parser.parse_args(given)
    cluster = Cluster(arguments.kubectl.split(), DEPLOY / "k8s/ramp")
    try:
        return ramp(cluster, arguments.words)
    except Failed as failure:
        print(f"deploy-ramp: {failure}", file=sys.stderr)
        return 1


def ramp(cluster, words):
    """Runs ramp as a Job, copies its log to stdout and returns its exit code."""
    name = start(cluster, words)
    subprocess.run([*cluster.command, "-n", "qr", "logs", "--follow", f"job/{name}"], check=False)
    return cluster.wait_for(f"{name} to end", lambda: exit_codes(cluster, name))[0]


def start(cluster, words):
    """Starts ramp as a Job and returns the Job's name."""
    name = f"ramp-{time.time_ns() // 1_000_000}"
    cluster.kubectl("apply", "-f", "-", given=yaml.safe_dump_all(manifests(name, words)))
    cluster.wait_for(f"{name} to start", lambda: started(cluster, name))
    return name


def manifests(name, words):
    """Yields the manifests of deploy/k8s/ramp with another name and other arguments for the Job."""
    command = [TOOLS / "kustomize", "build", DEPLOY / "k8s/ramp"]
    rendered = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for manifest in yaml.safe_load_all(rendered):
        if manifest["kind"] == "Job":
            manifest["metadata"]["name"] = name
            if words:
                manifest["spec"]["template"]["spec"]["containers"][0]["args"] = words
        yield manifest


def started(cluster, job):
    return any("running" in state or "terminated" in state for state in states(cluster, job))


def exit_codes(cluster, job):
    """Returns the exit code in a list, because wait_for takes a bare 0 for "not yet"."""
    return [state["terminated"]["exitCode"] for state in states(cluster, job) if "terminated" in state]


def states(cluster, job):
    pods = cluster.get("pods", "-l", f"job-name={job}")["items"]
    return [status["state"] for pod in pods for status in pod["status"].get("containerStatuses", [])]


if __name__ == "__main__":
    sys.exit(main())
