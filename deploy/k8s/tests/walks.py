"""Runs whose pod goes away, runs with two pods of ramp, runs without the API; and both ways back in each case."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from load import RATE_ON_OLD, Load, at_once
from pods import NAMESPACE
from ramp import ramp, set_share
from relay import Pairs

RAMP = "app.kubernetes.io/name=ramp"
# The bindings by which ramp, the proxies and the homes use the API; ramp's is the first.
BINDINGS = ["ramp-change-split", "proxy-follow-split", "relay-home-follow-split"]
# The routes for tests that need two runs.
ROUTES = ("qrcode", "relay")
# The shares and stops of a route that all proxies serve while its run holds 25 %.
HELD = ({"25"}, {"not stopped"})
# How long each way back may take.
BACK_WITHIN_SECONDS = 5


def a_run_goes_on_when_its_pod_is_deleted_evicted_or_drained_and_of_two_ramps_one_has_it(cluster):
    with Load(cluster, RATE_ON_OLD, kept=False) as load, walk(cluster):
        for vanish in (deleted, killed, evicted, drained):
            before = told(cluster)
            vanish(cluster, pod_of_the_run(cluster))
            goes_on(cluster, before)
        cluster.wait_for("two pods of ramp", lambda: len(cluster.ready_pods(RAMP)) == 2)
        holder = told(cluster)["holder"]
        # Watches for longer than a process may be silent.
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            now = told(cluster)["holder"]
            cluster.expect(now == holder, f"{now} has taken the run of {holder}")
        cluster.expect(ramp(cluster, ["split", "50"]) == 1, "a share is set in the middle of a run")
        before = told(cluster)
        killed(cluster, pod_of_the_run(cluster))
        goes_on(cluster, before)
    return load.summary


def clients_and_a_run_notice_no_minute_without_the_api_and_both_ways_back_work(cluster):
    took = {}
    load, pairs = Load(cluster, RATE_ON_OLD, kept=False), Pairs(cluster)
    with at_once(load, pairs), moved_back(cluster), moved_back(cluster, "relay"):
        for_both(lambda route: begin(cluster, route))
        before = told(cluster, "relay")
        with refused(cluster, BINDINGS):
            time.sleep(60)
            for route in ROUTES:
                now_served = served(cluster, route)
                cluster.expect(now_served == HELD, f"without the API, the proxies serve {now_served} of {route}")
        # The API has just come back.
        took["set_0"] = set_0(cluster)
        goes_on(cluster, before, elsewhere=False, route="relay")
        took["stop_by_kubectl"] = stop_by_kubectl(cluster, "relay")
        for_both(lambda route: end(cluster, route))
    restarts = cluster.restarts()
    cluster.expect(not restarts, f"containers restarted: {restarts}")
    return f"{in_time(cluster, took)}; {load.summary}; {pairs.summary}"


def both_ways_back_take_seconds_whatever_has_become_of_the_run(cluster):
    """Each of two runs goes back in its own way, at the same time."""
    took = {}
    ways = dict(zip(ROUTES, (set_0, stop_by_kubectl), strict=True))
    load, pairs = Load(cluster, RATE_ON_OLD, kept=False), Pairs(cluster)
    with at_once(load, pairs), moved_back(cluster), moved_back(cluster, "relay"):
        for state in (None, deleted, killed, evicted, drained, alone):
            name = state.__name__ if state else "in a hold"
            for_both(lambda route: begin(cluster, route, until_counted=False))
            if state:
                state(cluster, pod_of_the_run(cluster))
            seconds = for_both(lambda route: ways[route](cluster, route))
            took |= {f"{ways[route].__name__} {name}": seconds[route] for route in ROUTES}
            for_both(lambda route: end(cluster, route))
            if state is alone:
                scale(cluster, 2)
        # ramp is cut off, and the proxies have not yet stopped the route by themselves.
        begin(cluster, until_counted=False)
        with refused(cluster, BINDINGS[:1]):
            took["stop_by_kubectl while ramp is cut off"] = stop_by_kubectl(cluster)
        end(cluster)
    return f"{in_time(cluster, took)}; {load.summary}; {pairs.summary}"


def for_both(do):
    """Maps both routes to what a function returns for them, called at the same time."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(ROUTES, pool.map(do, ROUTES), strict=True))


def a_run_without_any_ramp_is_stopped_by_the_proxies(cluster):
    """Uses a run of the relay, so that `/qrcode` is free for another check."""
    with Pairs(cluster) as pairs, walk(cluster, "relay"):
        cluster.kubectl("scale", "deployment/ramp", "--replicas=0")
        # After the route's lease, 30 s.
        cluster.wait_for("every proxy to stop the route", lambda: is_back(cluster, "relay"))
        cluster.kubectl("scale", "deployment/ramp", "--replicas=2")
        # Otherwise end() might find nothing to clear yet.
        cluster.wait_for("ramp to stop the route too", lambda: "relay.stop" in of_the_split(cluster))
    return pairs.summary


# --- The run ------------------------------------------------------------------------------------------


@contextmanager
def walk(cluster, route="qrcode"):
    """Holds 25 % with a run that does not end by itself. Ends the run afterwards and restores the share."""
    with moved_back(cluster, route):
        begin(cluster, route)
        yield
        end(cluster, route)


@contextmanager
def moved_back(cluster, route="qrcode"):
    """Begins at 0 %, and afterwards restores the route's usual share: 100 %, or 0 % for the relay."""
    set_share(cluster, route, "0")
    yield
    if route == "qrcode":
        set_share(cluster, route, "100")


def begin(cluster, route="qrcode", until_counted=True):
    """Begins a run, and waits until it holds its step and, with `until_counted`, has counted requests."""
    run = ["ramp", route, "--steps=25,100", "--hold=15m", "--detach"]
    cluster.expect(ramp(cluster, run) == 0, "the run is not accepted")
    wait = lambda: holds(cluster, route, until_counted) and served(cluster, route) == HELD
    cluster.wait_for(f"the run of {route} to hold 25 %", wait)


def served(cluster, route):
    return cluster.shares_served(route), cluster.stops_served(route)


def end(cluster, route="qrcode"):
    """Ends the run, if there still is one, and leaves the route at 0 % and not stopped."""
    cluster.wait_for("a pod of ramp", lambda: cluster.ready_pods(RAMP))
    # The proxies still report a cleared stop for a second, so read the ConfigMap.
    if f"{route}.stop" in of_the_split(cluster):
        # The pod that takes the run over must first see that the route is stopped.
        clear = ["clear", route, "--reason=tested"]
        cluster.wait_for("carve clear to be accepted", lambda: ramp(cluster, clear) == 0, timeout=20)
    elif cluster.shares_served(route) != {"0"}:
        set_share(cluster, route, "0")


def told(cluster, route="qrcode"):
    """Returns what the run last wrote: its holder and its state."""
    return json.loads(of_the_split(cluster)[f"{route}.run"])


def of_the_split(cluster):
    return json.loads(cluster.read("configmaps/split"))["data"]


def holds(cluster, route, until_counted):
    now = told(cluster, route)
    is_held = now["holder"] and now["state"]["phase"] == "holding" and held(now) > 2
    return is_held and (counted(now) or not until_counted)


def held(run):
    return run["state"]["held"]["secs"]


def counted(run):
    return run["state"]["trial"]["asked"]


def goes_on(cluster, before, elsewhere=True, route="qrcode"):
    """Waits until a run goes on in the middle of its step, and expects it to keep its counts."""

    def again():
        now = told(cluster, route)
        if not now["holder"] or elsewhere and now["holder"] == before["holder"]:
            return None
        is_on = now["state"]["phase"] == "holding" and now["beat"] > 2
        return is_on and held(now) > held(before) and now

    now = cluster.wait_for("the run to go on", again, timeout=60)
    cluster.expect(now["state"]["run"] == before["state"]["run"], "it is another run")
    cluster.expect(counted(now) >= counted(before), f"{counted(before)} requests became {counted(now)}")
    now_served = served(cluster, route)
    cluster.expect(now_served == HELD, f"the proxies serve {now_served}")


def pod_of_the_run(cluster):
    """Returns the pod that holds the run: the first word of the holder's name."""
    return told(cluster)["holder"].split()[0]


# --- What becomes of its pod --------------------------------------------------------------------------


def deleted(cluster, pod):
    cluster.kubectl("delete", "pod", pod, "--wait=false")


def killed(cluster, pod):
    """Kills the pod, so that its process cannot release the run."""
    cluster.kubectl("delete", "pod", pod, "--grace-period=0", "--force", "--wait=false")


def evicted(cluster, pod):
    cluster.evict(pod)


def drained(cluster, pod):
    """Drains only this pod from its node, as if the other one had another node. For a moment no pod can start there."""
    node = cluster.get("pod", pod)["spec"]["nodeName"]
    cluster.kubectl("label", "pod", pod, "drained=yes")
    options = ["--pod-selector=drained=yes", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s"]
    cluster.kubectl("drain", node, *options)
    time.sleep(5)
    cluster.kubectl("uncordon", node)


def alone(cluster, _pod):
    """Leaves one pod of ramp, which takes the run over if it did not have it."""
    scale(cluster, 1)


@contextmanager
def refused(cluster, bindings):
    """Makes the API refuse the accounts of these bindings, because a test cannot stop a cluster's API."""

    def to(suffix):
        for name, account in accounts.items():
            change = {"op": "replace", "path": "/subjects/0/name", "value": account + suffix}
            cluster.kubectl("patch", "rolebinding", name, "--type=json", "-p", json.dumps([change]))

    accounts = {name: cluster.get("rolebinding", name)["subjects"][0]["name"] for name in bindings}
    to("-nobody")
    try:
        yield
    finally:
        to("")


def scale(cluster, replicas):
    cluster.kubectl("scale", "deployment/ramp", f"--replicas={replicas}")
    cluster.wait_for(f"{replicas} pods of ramp", lambda: len(cluster.ready_pods(RAMP)) == replicas)


# --- The ways back ------------------------------------------------------------------------------------


def set_0(cluster, route="qrcode"):
    with setting_0(cluster, route) as seconds:
        return seconds


@contextmanager
def setting_0(cluster, route="qrcode"):
    """Types `split 0` until a pod accepts it, and yields the seconds until no proxy asks the new side. The command also
    sets the share, so it may end later, with the block."""
    began = time.monotonic()
    words = ["-n", NAMESPACE, "exec", "deploy/ramp", "--", "carve", "split", route, "0"]
    typed = lambda: cluster.run(*words).returncode == 0
    with ThreadPoolExecutor() as pool:
        done = pool.submit(cluster.wait_for, "a pod that takes `split 0`", typed, 30)
        yield after(cluster, began, route)
        done.result()


def stop_by_kubectl(cluster, route="qrcode"):
    began = time.monotonic()
    patch = json.dumps({"data": {f"{route}.stop": "wrong pictures"}})
    cluster.kubectl("patch", "configmap", "split", "--type=merge", "-p", patch)
    return after(cluster, began, route)


def after(cluster, began, route):
    cluster.wait_for("every proxy to be back", lambda: is_back(cluster, route), timeout=30)
    return time.monotonic() - began


def in_time(cluster, took):
    """Expects that each way back has taken less than BACK_WITHIN_SECONDS. Returns the times as text."""
    times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in took.items())
    cluster.expect(max(took.values()) < BACK_WITHIN_SECONDS, times)
    return times


def is_back(cluster, route="qrcode"):
    return cluster.stops_served(route) == {"stopped"} or cluster.shares_served(route) == {"0"}


WALKS = [
    a_run_goes_on_when_its_pod_is_deleted_evicted_or_drained_and_of_two_ramps_one_has_it,
    both_ways_back_take_seconds_whatever_has_become_of_the_run,
]
