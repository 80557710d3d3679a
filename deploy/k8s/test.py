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
from load import Load
from pods import pod_template_patch
from ramp import ramp

TOP = Path(__file__).resolve().parents[2]
DEPLOY = TOP / "deploy"
VERSION = workspace_version()
IMAGES = ["qr-service", "legacy-node", "qr-shadow", "ramp", "proxy", "contract", "oha"]
READY_WITHIN_SECONDS = 60
RUST = "app.kubernetes.io/name=qr-service"
PROXY = "app.kubernetes.io/name=proxy"


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
    parser.add_argument("--only", metavar="WORD", help="of the faults, those with it in their name")
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
            if check not in FAULTS or not only or only in check.__name__:
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


def a_second_apply_changes_nothing(cluster):
    cluster.apply()
    cluster.expect_no_difference()


# --- What happens to pods, under load ----------------------------------------------------------------


def clients_notice_no_rollout_of_the_rust_service(cluster):
    return rolled_out(cluster, "qr-service")


def clients_notice_no_rollout_of_the_legacy_app(cluster):
    return rolled_out(cluster, "legacy-node")


def clients_notice_no_rollout_of_the_shadow(cluster):
    return rolled_out(cluster, "qr-shadow")


def clients_notice_no_rollout_of_the_proxy(cluster):
    return rolled_out(cluster, "proxy", kept=False)


def clients_notice_no_rollout_of_prometheus(cluster):
    return rolled_out(cluster, "prometheus")


def rolled_out(cluster, deployment, kept=True):
    with Load(cluster, kept=kept) as load:
        cluster.kubectl("rollout", "restart", f"deployment/{deployment}")
        cluster.wait_for_rollout(deployment)
        cluster.wait_until_none_is_ending()
    return load.summary


def clients_notice_no_change_of_the_split(cluster):
    with Load(cluster, kept=False) as load:
        for percent in ("0", "25", "100", "0", "100"):
            cluster.expect(ramp(cluster, ["set", percent]) == 0, f"ramp set {percent} fails")
            shares = cluster.shares_served()
            cluster.expect(shares == {percent}, f"the proxies serve {shares}, not {percent}")
    return load.summary


def a_walk_passes_the_gates_of_the_clusters_prometheus(cluster):
    cluster.expect(ramp(cluster, ["set", "0"]) == 0, "ramp set 0 fails")
    walk = ["run", "--steps=25,100", "--hold=30s", "--patience=90s", "--gates=/etc/ramp/gates.toml"]
    with Load(cluster, kept=False) as load:
        code = ramp(cluster, walk)
    shares = cluster.shares_served()
    cluster.expect(code == 0 and shares == {"100"}, f"ramp run ends with {code}, at {shares}")
    return load.summary


def a_new_proxy_has_the_split_that_was_set(cluster):
    cluster.expect(ramp(cluster, ["set", "25"]) == 0, "ramp set 25 fails")
    cluster.kubectl("rollout", "restart", "deployment/proxy")
    cluster.wait_for_rollout("proxy")
    shares = cluster.shares_served()
    restored(cluster)
    kept = cluster.shares_served()
    cluster.expect(shares == kept == {"25"}, f"served: {shares}; after another apply: {kept}")
    cluster.expect(ramp(cluster, ["set", "100"]) == 0, "ramp set 100 fails")


def clients_notice_no_scaling(cluster):
    # The autoscaler keeps to its bounds, with or without metrics.
    cluster.patch("hpa", "qr-service", {"spec": {"minReplicas": 1}})
    with Load(cluster) as load:
        for replicas in (1, 3, 1):
            cluster.kubectl("scale", "deployment/qr-service", f"--replicas={replicas}")
            cluster.wait_for_rollout("qr-service")
            cluster.wait_until_none_is_ending()
            cluster.expect_pods(RUST, replicas)
    restored(cluster)
    return load.summary


def clients_notice_no_deleted_pod(cluster):
    with Load(cluster) as load:
        cluster.kubectl("delete", "pod", cluster.pods(RUST)[0], "--wait=false")
        cluster.wait_until_none_is_ending()
        cluster.wait_until_ready()
    return load.summary


def clients_notice_no_pod_killed_at_once(cluster):
    with Load(cluster) as load:
        cluster.kubectl("delete", "pod", cluster.pods(RUST)[0], "--grace-period=0", "--force")
        time.sleep(5)
        cluster.wait_until_ready()
    return load.summary


def clients_notice_no_pod_that_exceeds_its_memory(cluster):
    # Nothing that clients do takes it there, so the test lets in more connections than fit.
    patch = pod_template_patch(
        "qr-service", memory="12Mi", env={"QR_MAX_CONNECTIONS": "20000", "QR_MAX_IN_FLIGHT": "20000"}
    )
    cluster.patch("deployment", "qr-service", patch)
    cluster.wait_for_rollout("qr-service")
    with Load(cluster) as load:
        victim = cluster.pods(RUST)[0]
        cluster.flood(f"http://{cluster.address_of(victim)}:42069/qrcode?text=a", connections=4000)
        cluster.wait_for_reason(victim, "OOMKilled")
        cluster.wait_until_ready()
    restored(cluster)
    return load.summary


def clients_notice_no_eviction(cluster):
    with Load(cluster, kept=False) as load:
        for part in (PROXY, RUST):
            cluster.evict(cluster.pods(part)[0])
            cluster.wait_until_none_is_ending()
            cluster.wait_until_ready()
    return load.summary


def restored(cluster):
    cluster.apply()
    cluster.wait_until_ready()
    cluster.wait_until_none_is_ending()


# --- Mistakes ----------------------------------------------------------------------------------------


def a_wrong_port_keeps_the_old_pods_serving(cluster):
    with Load(cluster) as load:
        patch = pod_template_patch("qr-service", env={"QR_ADDR": "0.0.0.0:99999"})
        cluster.patch("deployment", "qr-service", patch)
        line = cluster.wait_for_crash(RUST)
        cluster.kubectl("rollout", "undo", "deployment/qr-service")
        cluster.wait_for_rollout("qr-service")
    restored(cluster)
    return said_in_a_line(line, "QR_ADDR", load)


def a_configuration_that_is_not_there_keeps_the_old_pods_serving(cluster):
    volumes = [{"name": "configuration", "configMap": {"name": "nowhere"}}]
    with Load(cluster) as load:
        patch = {"spec": {"template": {"spec": {"volumes": volumes}}}}
        cluster.patch("deployment", "proxy", patch)
        cluster.wait_for_event("nowhere")
        cluster.kubectl("rollout", "undo", "deployment/proxy")
        cluster.wait_for_rollout("proxy")
    restored(cluster)
    return load.summary


def a_wrong_split_keeps_the_old_pods_serving(cluster):
    with Load(cluster, kept=False) as load:
        cluster.patch("configmap", "split", {"data": {"split.conf": "nonsense"}})
        cluster.kubectl("rollout", "restart", "deployment/proxy")
        line = cluster.wait_for_crash(PROXY)
        cluster.patch("configmap", "split", {"data": None})
        cluster.kubectl("rollout", "restart", "deployment/proxy")
        cluster.wait_for_rollout("proxy")
        cluster.wait_until_none_is_ending()
    return said_in_a_line(line, "split.conf is not written by ramp", load)


def said_in_a_line(log, expected, load):
    Cluster.expect(len(log.splitlines()) == 1 and expected in log, f"the log says: {log}")
    return f"{log}; {load.summary}"


# --- Figures, and the end ----------------------------------------------------------------------------


def memory_stays_within_the_limits(cluster):
    by_rust = memory_under_load(cluster, rate=400)
    cluster.expect(ramp(cluster, ["set", "0"]) == 0, "ramp set 0 fails")
    by_node = memory_under_load(cluster, rate=100)
    cluster.expect(ramp(cluster, ["set", "100"]) == 0, "ramp set 100 fails")
    rust, node = by_rust["qr-service"], by_node["legacy-node"]
    cluster.expect(rust < 32, f"qr-service has {rust:.1f} MiB")
    parts = ", ".join(f"{name} {mib:.1f}" for name, mib in sorted(by_rust.items()))
    return f"MiB with 400 requests a second on Rust: {parts}; with 100 on Node: legacy-node {node:.1f}"


def memory_under_load(cluster, rate):
    """The most that a container of each name has."""
    with Load(cluster, rate=rate):
        time.sleep(30)
        memory = cluster.memory_mib()
    figures = {}
    for (_, container), mib in memory.items():
        figures[container] = max(mib, figures.get(container, 0))
    return figures


def deleting_leaves_nothing(cluster):
    cluster.delete()
    cluster.expect_nothing_left()


FAULTS = [
    clients_notice_no_rollout_of_the_rust_service,
    clients_notice_no_rollout_of_the_legacy_app,
    clients_notice_no_rollout_of_the_shadow,
    clients_notice_no_rollout_of_the_proxy,
    clients_notice_no_rollout_of_prometheus,
    clients_notice_no_change_of_the_split,
    a_walk_passes_the_gates_of_the_clusters_prometheus,
    a_new_proxy_has_the_split_that_was_set,
    clients_notice_no_scaling,
    clients_notice_no_deleted_pod,
    clients_notice_no_pod_killed_at_once,
    clients_notice_no_pod_that_exceeds_its_memory,
    clients_notice_no_eviction,
    a_wrong_port_keeps_the_old_pods_serving,
    a_configuration_that_is_not_there_keeps_the_old_pods_serving,
    a_wrong_split_keeps_the_old_pods_serving,
    memory_stays_within_the_limits,
]
CHECKS = [
    everything_is_ready_within_a_minute,
    the_contract_holds_inside,
    *FAULTS,
    a_second_apply_changes_nothing,
]

if __name__ == "__main__":
    sys.exit(main())
