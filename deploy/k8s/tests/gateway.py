#!/usr/bin/env python3
"""Tries real gateways as the traffic of a route: `make test-all PART=gateway`.

An API server without nodes, the gateway, Prometheus, `carve serve` and both sides run in a network of their own, which
ends with this program. The first run downloads and builds gateways into target/gateway.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gateway_site import CARVE, NAMESPACE, PORTS, Failed, Site, expect
from gateways import ADDRESS, ADMIN, GATEWAYS

# Enough for all gates at the test's load, and short enough for each step to take half a minute.
ROUTE = """
path = "/qrcode"
old.url = "http://shop:3000"
new.url = "http://qr:8000"
[gates.failures]
excess = 0.05
proof = 0.5
[gates.statuses]
excess = 0.05
[gates.requests]
limit = 20
[gates.pair-latency]
off = true
[gateway]
app = "shop"
"""
STEPS = "20,50,100"
# Chance alone moves the share of a step's some 500 requests by less than this, in 9,999 of 10,000 steps.
BAND_PERCENT = 8


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gateway", dest="gateways", action="append", choices=GATEWAYS)
    parser.add_argument("--only", default="", metavar="WORD", help="only the checks with this word in their names")
    arguments = parser.parse_args()
    assets = Path(os.environ.get("KUBEBUILDER_ASSETS", "/usr/local/kubebuilder/bin"))
    if not (assets / "kube-apiserver").exists():
        raise SystemExit(
            f"gateway: {assets} has no kube-apiserver: KUBEBUILDER_ASSETS names the folder of `setup-envtest`"
        )
    gateways = [GATEWAYS[name]() for name in arguments.gateways or GATEWAYS]
    for gateway in gateways:
        gateway.install()
    if os.environ.get("GATEWAY_TEST") != "inside":
        # Its processes end with it, and neither they nor their addresses are seen outside.
        options = [
            "--net",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            *(["--map-root-user"] if os.getuid() else []),
        ]
        environment = {**os.environ, "GATEWAY_TEST": "inside"}
        raise SystemExit(subprocess.run(["unshare", *options, *sys.orig_argv], env=environment).returncode)
    subprocess.run(f"ip link set lo up; ip address add {ADDRESS}/32 dev lo", shell=True, check=True)
    failed = 0
    with tempfile.NamedTemporaryFile("w") as hosts:
        hosts.write(f"127.0.0.1 localhost envoy-gateway\n{ADDRESS} {' '.join(PORTS)}\n")
        hosts.flush()
        subprocess.run(["mount", "--bind", hosts.name, "/etc/hosts"], check=True)
    for gateway in gateways:
        with tempfile.TemporaryDirectory() as folder, Site(assets, gateway, Path(folder), ROUTE) as site:
            for check in CHECKS:
                if arguments.only in check.__name__:
                    failed += not passed(check, site)
    return 1 if failed else 0


def passed(check, site):
    began = time.monotonic()
    try:
        said, is_passed = check(site), True
    except Failed as failure:
        said, is_passed = failure, False
        print(site.log("serve"), file=sys.stderr)
    finally:
        site.begin_again()
    name = check.__name__.replace("_", " ")
    outcome = "ok" if is_passed else "FAILED"
    print(
        f"{outcome:<6} {site.gateway.name}: {name} ({time.monotonic() - began:.0f} s){f': {said}' if said else ''}",
        flush=True,
    )
    return is_passed


# --- The ramp ---------------------------------------------------------------------------------------


def a_ramp_reaches_100_percent_and_loses_no_request(site):
    with site.load() as load:
        site.ramp(STEPS)
        shares = []
        for share in (20, 50, 100):
            site.wait_for_share(share)
            time.sleep(2)
            since = time.time()
            time.sleep(5)
            shares.append((share, load.share(since, time.time())))
        site.wait_for_end("done")
        planned = site.try_carve("plan", "qrcode", "--past", "1m").stdout
    site.nothing_was_lost(load)
    expect("none is judged" in planned and " had 0.00 requests" not in planned, planned)
    expect(("no answers are compared" in planned) != site.gateway.mirrors, planned)
    for wanted, served in shares:
        expect(abs(served - wanted) <= BAND_PERCENT, f"{served:.1f}% of requests reached the new side at {wanted}%")
    return ", ".join(f"{wanted}%: {served:.1f}%" for wanted, served in shares)


def another_hand_edits_the_apps_route_meanwhile_and_nothing_is_lost(site):
    with site.load() as load:
        site.ramp(STEPS)
        for number, share in enumerate((20, 50, 100)):
            site.wait_for_share(share)
            patch = {
                "metadata": {"annotations": {"edited": str(number)}},
                "spec": {"hostnames": ["shop.example", f"{number}.example"]},
            }
            site.kubectl("patch", "httproute", "shop", "--type=merge", "-p", json.dumps(patch))
        site.wait_for_end("done")
    site.nothing_was_lost(load)
    app = site.get("httproute/shop")
    expect(
        app["metadata"]["annotations"]["edited"] == "2" and len(app["spec"]["rules"]) == 1,
        "the app's route was changed",
    )


def a_run_survives_a_minute_without_the_api_and_its_process_killed_in_each_step(site):
    with site.load() as load:
        site.ramp(STEPS)
        for share in (20, 50, 100):
            site.wait_for_share(share)
            if share == 50:
                site.without_api(60)
            site.kill_serve()
            site.start_serve()
        site.wait_for_end("done")
    site.nothing_was_lost(load)


# --- The way back -----------------------------------------------------------------------------------


def a_rollback_by_hand_takes_effect_at_once_and_leaves_no_object(site):
    with site.load() as load:
        site.carve("split", "qrcode", "100")
        site.wait(lambda: load.share(time.time() - 1, time.time()) > 99, 10, "the new side does not get all requests")
        began = time.time()
        site.carve("rollback", "qrcode")
        took = time.time() - began
        time.sleep(2)
    site.nothing_was_lost(load)
    last = load.last("new") - began
    expect(last < 2, f"the new side answered for {last:.2f} s after the rollback")
    expect("carve-qrcode" not in site.kubectl("get", "httproutes", "-o", "name"), "the object is still there")
    return f"the command took {took:.2f} s, the new side's last answer came after {last:.2f} s"


def a_new_side_that_fails_goes_back(site):
    with site.load() as load:
        site.ramp("50,100")
        site.wait_for_share(50)
        site.sides.fails = True
        began = time.time()
        site.wait_for_end("rolled_back")
        took = time.time() - began
        time.sleep(1)
        after = load.count(time.time() - 0.5, time.time())
    expect(set(after) == {"old"}, f"after the rollback: {after}")
    return f"after {took:.0f} s, {load.total()['500']} requests failed"


def wrong_answers_go_back(site):
    if not site.gateway.mirrors:
        return "has no mirror"
    with site.load() as load:
        site.sides.differs = True
        site.ramp("10,100")
        began = time.time()
        site.wait_for_end("rolled_back")
        took = time.time() - began
    site.nothing_was_lost(load)
    expect("mismatches" in json.dumps(site.status()), "it went back for another reason")
    return f"after {took:.0f} s"


# --- Mistakes ---------------------------------------------------------------------------------------


def mistakes_are_named_and_move_nothing(site):
    app, hosts, path = 'app = "shop"', 'hosts = ["other.example"]\n', 'path = "/qrcode"'
    wrong = [
        ((app, 'app = "nobody"'), "there is no HTTPRoute qr/nobody"),
        ((path, hosts + path), "other.example is no hostname of the HTTPRoute shop"),
        ((path, 'path = "/shop"'), 'path: the HTTPRoute shop has "/shop" itself'),
    ]
    for (text, other), reason in wrong:
        site.write_route(ROUTE.replace(text, other, 1))
        site.refuses(reason, "split", "qrcode", "10")
    site.write_route(ROUTE)
    check = lambda: site.carve("check", str(site.folder / "routes"), "--gateway")
    expect(("carve may not read it" in check()) == site.gateway.mirrors, "the gateway's class is read without a right")
    (site.credentials / "token").write_text(ADMIN)
    expect(("lists no features" in check()) == site.gateway.mirrors, f"Envoy Gateway's class lists features: {check()}")
    (site.credentials / "token").write_text(CARVE)
    no_routes = json.dumps([{"op": "remove", "path": "/rules/2"}, {"op": "remove", "path": "/rules/1"}])
    site.kubectl("patch", "role", "carve", "--type=json", "-p", no_routes)
    site.refuses('cannot get resource "httproutes"', "split", "qrcode", "10")
    site.apply_objects()
    site.carve("split", "qrcode", "10")
    edited = json.dumps([{"op": "replace", "path": "/spec/rules/0/backendRefs/0/weight", "value": 4000}])
    site.kubectl("patch", "httproute", "carve-qrcode", "--type=json", "-p", edited)
    site.refuses("somebody has edited", "split", "qrcode", "20")
    site.carve("rollback", "qrcode")
    foreign = site.get("httproute/shop")
    foreign["metadata"] = {"name": "carve-qrcode", "namespace": NAMESPACE}
    site.kubectl("apply", "-f", "-", given=json.dumps(foreign))
    site.refuses("is not carve's", "clear", "qrcode", "--reason", "mended")
    site.kubectl("delete", "httproute", "carve-qrcode")


CHECKS = [
    a_ramp_reaches_100_percent_and_loses_no_request,
    another_hand_edits_the_apps_route_meanwhile_and_nothing_is_lost,
    a_run_survives_a_minute_without_the_api_and_its_process_killed_in_each_step,
    a_rollback_by_hand_takes_effect_at_once_and_leaves_no_object,
    a_new_side_that_fails_goes_back,
    wrong_answers_go_back,
    mistakes_are_named_and_move_nothing,
]

if __name__ == "__main__":
    sys.exit(main())
