#!/usr/bin/env python3
"""Tests the manifests on a real cluster: `make deploy-test`.

It applies deploy/ to a cluster that does not have it yet, restarts, kills and evicts pods, and checks
that clients, which are pods inside the cluster, notice nothing. At the end it deletes everything.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bad_pods import BAD_PODS, clients_notice_no_half_minute_without_dns_and_both_ways_back_work
from busy_log import clients_notice_no_busy_log
from check import DEPLOY, EPHEMERAL, TOP, workspace_version, write_production
from cluster import Cluster, Failed
from faults import (
    FAULTS,
    clients_notice_no_change_of_the_split,
    clients_notice_no_scaling,
    clients_notice_no_scaling_by_the_autoscaler,
)
from helm import a_chart_installs_and_leaves_nothing
from links import links_come_back_from_their_backup
from load import Load
from mistakes import a_wrong_port_keeps_the_old_pods_serving, wrong_files_and_missing_ones_keep_the_old_pods_serving
from own_app import a_route_of_ones_own_passes_the_gates
from pods import NAMESPACE, PROXY, kustomization
from policies import pods_connect_as_the_policies_say_and_in_no_other_way
from ramp import ramp
from relay import RELAY_ALONE, runs_of_both_routes_at_once_pass_the_gates_of_the_clusters_prometheus
from runbooks import the_runbooks_commands_work
from upgrade import OLDER, PRIME, UPGRADES, checked_out, has_volumes, images_of
from users import the_contract_holds_as_a_random_user_of_group_0
from walks import (
    WALKS,
    a_run_without_any_ramp_is_stopped_by_the_proxies,
    clients_and_a_run_notice_no_minute_without_the_api_and_both_ways_back_work,
)

VERSION = workspace_version()
DELETED = "{ $patch: delete, apiVersion: any, kind: any, metadata: { name: any } }"
RELAY = DEPLOY / "k8s/base/proxy/relay.toml"
LASTS = 'own.lasts = "5m"\n'
IMAGES = ["qr-service", "relay-service", "legacy-node", "carve", "oha"]
READY_WITHIN_SECONDS = 60
# Memory that pictures of /qrcode may take; the container's limit is higher, for the API.
QR_SERVICE_MOST_MIB = 32


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kubectl", default="kubectl", help="the command that reaches the cluster")
    parser.add_argument("--load-image", metavar="COMMAND", help="command called with each needed image")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="DEPLOYMENT",
        help="leave out a Deployment whose image the cluster cannot pull",
    )
    parser.add_argument("--only", metavar="WORDS", help="run only faults with one of these words in their names")
    parser.add_argument("--from", dest="older", metavar="COMMIT", help="a tag or commit to upgrade from")
    parser.add_argument("--helm", metavar="COMMAND", help="install the chart too, with this helm")
    parser.add_argument("--busy", type=int, metavar="SECONDS", help="keep the proxy's log busy for this long")
    parser.add_argument("--chart", metavar="REFERENCE", help="with --helm: a released chart; helm's flags may follow")
    parser.add_argument("--verify", metavar="COMMAND", help="with --chart: gets the chart and each image, by digest")
    arguments = parser.parse_args()
    older = arguments.older and checked_out(arguments.older)
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder:
        Path(folder, "settings").mkdir()
        production = write_production(Path(folder, "settings"), registry="localhost")
        own_app = DEPLOY / "k8s/overlays/own-app"
        targets = {"deploy": DEPLOY, "own-app": own_app, "production": production, OLDER: older}
        try:
            kept = has_volumes(Cluster(arguments.kubectl.split(), DEPLOY))
        except Failed as failure:
            raise SystemExit(f"deploy-test: {failure}") from None
        kustomizations = [
            target and adapted(target, arguments.without, kept, Path(folder, name)) for name, target in targets.items()
        ]
        words = [(text or "").split() for text in (arguments.helm, arguments.chart, arguments.verify)]
        cluster = Cluster(arguments.kubectl.split(), *kustomizations, *words)
        cluster.busy_seconds = arguments.busy
        cluster.refuse_existing_namespaces()
        if arguments.load_image:
            load_images(arguments.load_image.split(), older)
        with cluster:
            return run(cluster, (arguments.only or "").split())


def load_images(command, older):
    needed = [(VERSION, IMAGES), (PRIME, images_of(DEPLOY)), (OLDER, images_of(older) if older else [])]
    for version, names in needed:
        for name in names:
            subprocess.run([*command, f"localhost/{name}:{version}"], check=True)


def adapted(target, without, kept, folder):
    """Returns a folder to apply: a kustomization in `folder` that removes Deployments and volumes. For deploy/, it also
    counts the relay's pairs at once: otherwise a step would take five minutes longer."""
    fields = {"patches": [{"target": {"kind": "Deployment", "name": name}, "patch": DELETED} for name in without]}
    if target == DEPLOY:
        folder.mkdir()
        text = RELAY.read_text()
        if LASTS not in text:
            raise SystemExit(f"deploy-test: {RELAY} has no {LASTS.strip()}")
        (folder / RELAY.name).write_text(text.replace(LASTS, ""))
        routes = {"name": "routes", "namespace": NAMESPACE, "behavior": "merge", "files": [RELAY.name]}
        fields["configMapGenerator"] = [routes]
    return kustomization(folder, target, [] if kept else [EPHEMERAL], **fields)


def run(cluster, only):
    counts = {True: 0, False: 0}
    wanted = lambda check: check not in OPTIONAL or not only or any(word in check.__name__ for word in only)
    try:
        for entry in CHECKS:
            lanes = [list(filter(wanted, lane)) for lane in lanes_of(entry)]
            with ThreadPoolExecutor() as pool:
                outcomes = [it for lane in pool.map(lambda lane: all_passed(lane, cluster), lanes) for it in lane]
            for is_passed in outcomes:
                counts[is_passed] += 1
            if not all(outcomes):
                cluster.start_afresh()
                begin(cluster)
    finally:
        counts[passed(deleting_leaves_nothing, cluster)] += 1
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


def lanes_of(entry):
    """Returns the lists of checks that run side by side: a tuple's lists, or one list with the check."""
    return entry if isinstance(entry, tuple) else ([entry],)


def all_passed(checks, cluster):
    return [passed(check, cluster) for check in checks]


def passed(check, cluster):
    name = check.__name__.replace("_", " ")
    began = time.monotonic()
    try:
        said = check(cluster)
    except Failed as failure:
        print(f"FAILED {name}: {failure}", flush=True)
        return False
    except Exception:  # a bug in the test: report it, so that the cluster is still cleaned up
        traceback.print_exc()
        print(f"FAILED {name}", flush=True)
        return False
    seconds = time.monotonic() - began
    print(f"ok {name} ({seconds:.0f} s){': ' + said if said else ''}", flush=True)
    return True


# --- Checks ------------------------------------------------------------------------------------------


def the_server_accepts_everything_in_a_dry_run(cluster):
    # A dry run needs only this object.
    namespace = (DEPLOY / "k8s/base/namespace.yaml").read_text()
    cluster.expect(cluster.run("apply", "-f", "-", given=namespace).returncode == 0, "the namespace is not made")
    counts = []
    for kustomization in (cluster.kustomization, cluster.production, cluster.own_app):
        objects, warnings = cluster.dry_run(kustomization)
        cluster.expect(objects and not warnings, f"{kustomization}: {warnings or 'no objects'}")
        counts.append(str(len(objects)))
    made = cluster.inside()
    cluster.expect(not made, f"the dry runs have made {', '.join(made)}")
    return f"{', '.join(counts)} objects of deploy/, production and own-app"


def everything_is_ready_within_a_minute(cluster):
    began = time.monotonic()
    warnings = cluster.apply()
    cluster.wait_until_ready(timeout=300)
    seconds = time.monotonic() - began
    cluster.expect(not warnings, f"apply warns: {warnings}")
    cluster.expect(seconds < READY_WITHIN_SECONDS, f"it took {seconds:.0f} s")
    return f"{seconds:.0f} s"


def everything_goes_to_the_old_side_until_somebody_begins(cluster):
    shares = cluster.shares_served()
    cluster.expect(shares == {"0"}, f"the proxies begin at {shares}")
    begin(cluster)


def begin(cluster):
    cluster.expect(ramp(cluster, ["split", "100"]) == 0, "carve split 100 fails")


def the_contract_holds_inside(cluster):
    log = cluster.check_contract(f"localhost/carve:{VERSION}")
    return log.strip().splitlines()[-1]


def prometheus_has_the_requests_of_the_route(cluster):
    # The contract's requests, counted by the container edge of each proxy.
    requests = cluster.wait_for(
        "the requests on the new side",
        lambda: cluster.measure('sum(edge_requests_total{route="qrcode",side="new"})'),
    )
    lost = cluster.measure("sum(edge_lost_total)")
    cluster.expect(lost == 0, f"{lost} requests are not counted")
    # The autoscaler adds the second proxy only now.
    edges = len(cluster.pods(PROXY))
    expression = f'count(up{{job="edge"}} == 1) == {edges}'
    cluster.wait_for(f"{edges} edges to answer Prometheus", lambda: cluster.measure(expression))
    cluster.wait_for("every part to answer Prometheus", lambda: cluster.measure("min(up)"))
    return f"{requests:.0f} requests, counted by {edges} edges"


def grafana_serves_the_provisioned_dashboard(cluster):
    if not cluster.has("deployment", "grafana"):
        return "left out"
    pod = cluster.pods("app.kubernetes.io/name=grafana")[0]
    dashboard = cluster.ask(pod, 3000, "api/dashboards/uid/old-against-new")
    cluster.expect(dashboard["meta"]["provisioned"], f"not provisioned: {dashboard['meta']}")
    health = cluster.ask(pod, 3000, "api/datasources/uid/prometheus/health")
    cluster.expect(health["status"] == "OK", f"its data source: {health}")
    return f"{len(dashboard['dashboard']['panels'])} panels; {health['message']}"


def a_second_apply_changes_nothing(cluster):
    cluster.apply()
    cluster.expect_no_difference()


def memory_stays_within_the_limits(cluster):
    cluster.expect(ramp(cluster, ["split", "100"]) == 0, "carve split 100 fails")
    on_new = memory_under_load(cluster, rate=400)
    cluster.expect(ramp(cluster, ["split", "0"]) == 0, "carve split 0 fails")
    on_old = memory_under_load(cluster, rate=100)
    cluster.expect(ramp(cluster, ["split", "100"]) == 0, "carve split 100 fails")
    new, old = on_new["qr-service"], on_old["legacy-node"]
    cluster.expect(new < QR_SERVICE_MOST_MIB, f"qr-service uses {new:.1f} MiB")
    restarts = cluster.restarts()
    cluster.expect(not restarts, f"containers restarted: {restarts}")
    parts = ", ".join(f"{name} {mib:.1f}" for name, mib in sorted(on_new.items()))
    return f"MiB at 400 requests/s on the new side: {parts}; at 100 on the old: legacy-node {old:.1f}"


def memory_under_load(cluster, rate):
    """Returns the peak memory of each container name, in MiB, over 20 s of load."""
    figures = {}
    with Load(cluster, rate=rate):
        for _ in range(4):
            time.sleep(5)
            for container in (it for pod in cluster.usage() for it in pod.get("containers", [])):
                name, mib = container["name"], container["memory"].get("workingSetBytes", 0) / 2**20
                figures[name] = max(mib, figures.get(name, 0))
    return figures


def deleting_leaves_nothing(cluster):
    cluster.delete()


# The lists of a tuple run side by side, since they touch different parts.
MIDDLE = [
    ([pods_connect_as_the_policies_say_and_in_no_other_way], [clients_notice_no_change_of_the_split]),
    *FAULTS,
    ([clients_notice_no_scaling_by_the_autoscaler], [a_run_without_any_ramp_is_stopped_by_the_proxies]),
    (BAD_PODS, RELAY_ALONE),
    clients_notice_no_half_minute_without_dns_and_both_ways_back_work,
    *WALKS,
    (
        [clients_and_a_run_notice_no_minute_without_the_api_and_both_ways_back_work],
        [a_wrong_port_keeps_the_old_pods_serving, clients_notice_no_scaling, links_come_back_from_their_backup],
    ),
    the_runbooks_commands_work,
    runs_of_both_routes_at_once_pass_the_gates_of_the_clusters_prometheus,
    wrong_files_and_missing_ones_keep_the_old_pods_serving,
    clients_notice_no_busy_log,
    ([memory_stays_within_the_limits], [a_second_apply_changes_nothing]),
]
# Each leaves another kustomization than deploy/ applied, and does not depend on the one before.
OTHERS = [
    *UPGRADES,
    the_contract_holds_as_a_random_user_of_group_0,
    a_route_of_ones_own_passes_the_gates,
]
OPTIONAL = {check for entry in MIDDLE + OTHERS for lane in lanes_of(entry) for check in lane}
CHECKS = [
    the_server_accepts_everything_in_a_dry_run,
    everything_is_ready_within_a_minute,
    everything_goes_to_the_old_side_until_somebody_begins,
    the_contract_holds_inside,
    prometheus_has_the_requests_of_the_route,
    grafana_serves_the_provisioned_dashboard,
    *MIDDLE,
    *OTHERS,
    # It deletes what the others need.
    a_chart_installs_and_leaves_nothing,
]

if __name__ == "__main__":
    sys.exit(main())
