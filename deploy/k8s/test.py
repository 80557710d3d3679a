#!/usr/bin/env python3
"""The manifests on a real cluster: `make deploy-test`.

Applies deploy/ to a cluster, where it must not be yet, and looks whether clients notice anything of
what happens to pods after that. Clients are pods inside the cluster. At the end all of it is deleted.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from check import workspace_version
from cluster import Cluster, Failed
from faults import FAULTS
from load import Load
from mistakes import MISTAKES
from ramp import ramp

TOP = Path(__file__).resolve().parents[2]
DEPLOY = TOP / "deploy"
VERSION = workspace_version()
IMAGES = ["qr-service", "legacy-node", "shadow", "ramp", "proxy", "contract", "oha"]
READY_WITHIN_SECONDS = 60
RUST_LIMIT_MIB = 32


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kubectl", default="kubectl", help="the command that reaches the cluster")
    parser.add_argument("--load-image", metavar="COMMAND", help="called with each image that is needed")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="DEPLOYMENT",
        help="leave one out whose image the cluster can't have",
    )
    parser.add_argument("--only", metavar="WORD", help="what has it in its name, of what is done to pods")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
        kustomization = what_is_applied(Path(folder), arguments.without)
        cluster = Cluster(arguments.kubectl.split(), kustomization)
        cluster.refuse_where_it_is()
        if arguments.load_image:
            for name in IMAGES:
                subprocess.run([*arguments.load_image.split(), f"localhost/{name}:{VERSION}"], check=True)
        return run(cluster, arguments.only)


def what_is_applied(folder, without):
    if not without:
        return DEPLOY
    text = "resources: [../../deploy]\npatches:\n"
    for name in without:
        text += (
            f"  - target: {{ kind: Deployment, name: {name} }}\n"
            f"    patch: '{{ $patch: delete, apiVersion: apps/v1, kind: Deployment,"
            f" metadata: {{ name: {name} }} }}'\n"
        )
    (folder / "kustomization.yaml").write_text(text)
    return folder


def run(cluster, only):
    counts = {True: 0, False: 0}
    try:
        for check in CHECKS:
            if check not in OPTIONAL or not only or only in check.__name__:
                counts[passed(check, cluster)] += 1
    finally:
        counts[passed(deleting_leaves_nothing, cluster)] += 1
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


def passed(check, cluster):
    name = check.__name__.replace("_", " ")
    began = time.monotonic()
    try:
        said = check(cluster)
    except Failed as failure:
        print(f"FAILED {name}: {failure}", flush=True)
        return False
    except Exception:  # a fault of the test's own: the cluster is cleaned up all the same
        traceback.print_exc()
        print(f"FAILED {name}", flush=True)
        return False
    seconds = time.monotonic() - began
    print(f"ok {name} ({seconds:.0f} s){': ' + said if said else ''}", flush=True)
    return True


# --- From nothing to serving -------------------------------------------------------------------------


def everything_is_ready_within_a_minute(cluster):
    began = time.monotonic()
    warnings = cluster.apply()
    cluster.wait_until_ready(timeout=300)
    seconds = time.monotonic() - began
    cluster.expect(not warnings, f"apply warns: {warnings}")
    cluster.expect(seconds < READY_WITHIN_SECONDS, f"it took {seconds:.0f} s")
    return f"{seconds:.0f} s"


def the_contract_holds_inside(cluster):
    log = cluster.run_job("contract", f"localhost/contract:{VERSION}", ["http://proxy"], timeout=120)
    return log.strip().splitlines()[-1]


def grafana_has_taken_over_what_it_is_provisioned_with(cluster):
    if not cluster.has("deployment", "grafana"):
        return "left out"
    pod = cluster.pods("app.kubernetes.io/name=grafana")[0]
    dashboard = cluster.ask(pod, 3000, "api/dashboards/uid/qr-gap")
    cluster.expect(dashboard["meta"]["provisioned"], f"the dashboard is not: {dashboard['meta']}")
    health = cluster.ask(pod, 3000, "api/datasources/uid/prometheus/health")
    cluster.expect(health["status"] == "OK", f"its data source: {health}")
    return f"{len(dashboard['dashboard']['panels'])} panels; {health['message']}"


def a_second_apply_changes_nothing(cluster):
    cluster.apply()
    cluster.expect_no_difference()


def memory_stays_within_the_limits(cluster):
    by_rust = memory_under_load(cluster, rate=400)
    cluster.expect(ramp(cluster, ["set", "0"]) == 0, "ramp set 0 fails")
    by_node = memory_under_load(cluster, rate=100)
    cluster.expect(ramp(cluster, ["set", "100"]) == 0, "ramp set 100 fails")
    rust, node = by_rust["qr-service"], by_node["legacy-node"]
    cluster.expect(rust < RUST_LIMIT_MIB, f"qr-service has {rust:.1f} MiB")
    restarts = cluster.restarts()
    cluster.expect(not restarts, f"containers were started again: {restarts}")
    parts = ", ".join(f"{name} {mib:.1f}" for name, mib in sorted(by_rust.items()))
    return f"MiB with 400 requests a second on Rust: {parts}; with 100 on Node: legacy-node {node:.1f}"


def memory_under_load(cluster, rate):
    """The most that a container of each name has, in MiB."""
    figures = {}
    with Load(cluster, rate=rate):
        for _ in range(6):
            time.sleep(5)
            for (_, container), mib in cluster.memory_mib().items():
                figures[container] = max(mib, figures.get(container, 0))
    return figures


def deleting_leaves_nothing(cluster):
    cluster.delete()
    cluster.expect_nothing_left()


OPTIONAL = [*FAULTS, *MISTAKES, memory_stays_within_the_limits]
CHECKS = [
    everything_is_ready_within_a_minute,
    the_contract_holds_inside,
    grafana_has_taken_over_what_it_is_provisioned_with,
    *OPTIONAL,
    a_second_apply_changes_nothing,
]

if __name__ == "__main__":
    sys.exit(main())
