"""The streaming relay: clients send and receive files while its route moves and its pods are replaced."""

from concurrent.futures import ThreadPoolExecutor

from check import workspace_version
from cluster import Failed
from faults import set_stop
from load import Client, Load, at_once
from ramp import ramp, set_share

# Starts pairs at a steady rate until SIGTERM. Either half comes first, the other one up to a second later.
PROGRAM = """
const http = require("node:http");
const { randomBytes } = require("node:crypto");
const { once } = require("node:events");
const { setTimeout: pause } = require("node:timers/promises");

const rate = Number(process.argv[1]); // a second
const outcome = { pairs: 0, failed: [] };
let isOver = false;
process.on("SIGTERM", () => { isOver = true; });

async function ask(method, path, body) {
    // A connection of its own: a proxy that stops closes kept ones.
    const request = http.request(`http://proxy${path}`, { method, agent: false, signal: AbortSignal.timeout(20_000) });
    request.end(body);
    const [answer] = await once(request, "response");
    request.on("error", () => {}); // the answer has it too
    return [answer.statusCode, Buffer.concat(await answer.toArray())];
}

async function send(path, file) {
    const [status, lines] = await ask("PUT", path, file);
    if (status !== 200 || !lines.includes("Sent successfully")) throw `sender: ${status} ${lines}`;
}

async function receive(path, file) {
    const [status, bytes] = await ask("GET", path);
    if (status !== 200 || !bytes.equals(file)) throw `receiver: ${status}, ${bytes.length} bytes`;
}

async function pair() {
    const path = `/p/${randomBytes(16).toString("hex")}`;
    const file = randomBytes(200_000);
    const halves = Math.random() < 0.5 ? [send, receive] : [receive, send];
    const first = halves[0](path, file);
    first.catch(() => {}); // reported below
    await pause(Math.random() * 1000);
    await Promise.all([first, halves[1](path, file)]);
    outcome.pairs += 1;
}

(async () => {
    const pairs = [];
    while (!isOver) {
        pairs.push(pair().catch((why) => outcome.failed.push(`${new Date().toISOString()} ${why}`)));
        await pause(1000 / rate);
    }
    await Promise.all(pairs);
    console.log(JSON.stringify(outcome));
})();
"""


class Pairs(Client):
    """Sends files to receivers; each must arrive complete."""

    kind = "pairs"
    image = f"localhost/legacy-node:{workspace_version()}"
    command = ["node"]
    memory = "256Mi"

    def __init__(self, cluster, rate=10):
        super().__init__(cluster, ["-e", PROGRAM, str(rate)])

    def summarize(self, outcome):
        pairs, failed = outcome["pairs"], outcome["failed"]
        if failed or not pairs:
            raise Failed(f"of {pairs + len(failed)} pairs, {len(failed)} failed: {failed[:5]}")
        return f"{pairs} pairs, none failed"


def runs_of_both_routes_at_once_pass_the_gates_of_the_clusters_prometheus(cluster):
    cluster.expect(ramp(cluster, ["split", "0"]) == 0, "carve split 0 fails")
    # The first step takes longer than its hold: the gates want 749 pairs of each side of the relay, which take a
    # minute.
    run = ["--steps=50,100", "--hold=10s", "--patience=3m"]
    routes = ("qrcode", "relay")
    load, pairs = Load(cluster, kept=False), Pairs(cluster, rate=25)
    with at_once(load, pairs), ThreadPoolExecutor() as pool:
        codes = list(pool.map(lambda route: ramp(cluster, ["ramp", route, *run]), routes))
    cluster.expect(codes == [0, 0], f"the runs of {', '.join(routes)} end with {codes}")
    shares = cluster.shares_served()
    cluster.expect(shares == {"100"}, f"the proxies serve {shares}")
    return f"{load.summary}; {pairs.summary}"


def clients_lose_no_pair_while_the_relay_moves(cluster):
    with Pairs(cluster) as pairs:
        for percent in ("0", "50", "100", "25"):
            set_share(cluster, "relay", percent)
        set_stop(cluster, "streams are cut", "relay")
        set_stop(cluster, None, "relay")
    sides = cluster.measure('count(sum by (side) (edge_requests_total{route="relay",side=~"old|new"}) > 0)')
    cluster.expect(sides == 2, f"{sides} sides have served")
    return pairs.summary


def clients_lose_no_pair_when_homes_and_sides_restart(cluster):
    set_share(cluster, "relay", "50")
    with Pairs(cluster) as pairs:
        for home in ("relay-home-0", "relay-home-1"):
            cluster.kubectl("delete", "pod", home)
            cluster.wait_for(f"{home} to be back", lambda home=home: home in cluster.ready_pods())
        # Both sides at once, as an upgrade does.
        sides = ("relay-service", "legacy-relay")
        cluster.kubectl("rollout", "restart", *(f"deployment/{side}" for side in sides))
        for side in sides:
            cluster.wait_for_rollout(side)
    set_share(cluster, "relay", "0")
    return pairs.summary


# These checks do not touch anything that `/qrcode` needs.
RELAY_ALONE = [clients_lose_no_pair_while_the_relay_moves, clients_lose_no_pair_when_homes_and_sides_restart]
