"""Metrics of every program, from its answer to /metrics."""

import contextlib
import http.server
import re
import threading
import time

from programs import LEGACY_NODE, PROGRAMS, ROOT, get, running, table

FREE = "127.0.0.1:0"
# Programs that serve without other parts, and their settings.
SERVICES = {
    "qr-service": {"QR_ADDR": FREE, "QR_ADMIN_ADDR": FREE},
    "relay-service": {"RELAY_ADDR": FREE, "RELAY_ADMIN_ADDR": FREE},
    "relay-home": {"HOME_ADDR": FREE, "HOME_ADMIN_ADDR": FREE, "HOME_SHARE_FILE": "share"},
    "shadow": {"SHADOW_ADDR": FREE, "SHADOW_ADMIN_ADDR": FREE, "SHADOW_ROUTES": str(ROOT / "proxy/routes")},
    "edge": {"EDGE_LOG": "access.log", "EDGE_ADMIN_ADDR": FREE},
    "legacy-node": {"ADDR": FREE, "ADMIN_ADDR": FREE, "RELAY_ADDR": FREE, "DATA_DIR": "data"},
}
INTRODUCTION = """# Metrics

The metrics that each program serves at `/metrics` of its admin listener; ramp's are in `ramp.prom`, which nginx serves
at `/ramp/metrics`. The [dashboards' README](../../dashboards/README.md#metrics) explains labels and how the metrics are
compared. Names that begin with `process_` and `nodejs_` are the usual ones of Prometheus' clients, and this page leaves
them out."""
# In Prometheus' text only the samples of a counter or info have its ending, as OpenMetrics requires.
ENDINGS = {"counter": "_total", "info": "_info"}
REGISTERED = re.compile(r'(?:let help = "([^"]+)";\s+)?\b(?:\w+\.)?(?:set|set_if|set_for|register)\(\s*"(ramp_\w+)",\s*(?:"([^"]+)"|help)')


def metrics_page():
    labels, listed = listed_by_dashboards()
    parts = [INTRODUCTION]
    with nginx_status() as address:
        SERVICES["edge"]["EDGE_STATUS_URL"] = address
        for name, variables in SERVICES.items():
            command = LEGACY_NODE if name == "legacy-node" else command_of(name)
            with running(command, **variables) as addresses:
                metrics = all_of(name, addresses["admin_addr"], listed.get(name, set()))
            parts += section(name, metrics, labels)
    return "\n\n".join([*parts, *section("ramp", of_ramp(), labels)])


# Appears with the first pair of its class: the gate `classes` asks whether it exists.
LATER = {"shadow_classes_total"}


def command_of(name):
    """The command that starts a service."""
    return [str(PROGRAMS / "carve"), name] if name in ("shadow", "edge") else [str(PROGRAMS / name)]


@contextlib.contextmanager
def nginx_status():
    """The status page of an nginx that has served one request; without it, the edge has no count of requests."""
    class Status(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = b"Active connections: 1 \nserver accepts handled requests\n 1 1 1 \n"
            text += b"Reading: 0 Writing: 1 Waiting: 0 \n"
            self.send_response(200)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Status) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def all_of(name, address, listed):
    """The metrics of a program. Waits for all that the dashboards' README lists, because some appear with the first
    request."""
    for _ in range(100):
        metrics = list(exposed(get(address, "metrics")))
        missing = listed - LATER - {metric for metric, _, _ in metrics}
        if not missing:
            return metrics
        time.sleep(0.1)
    raise SystemExit(f"{name} does not serve {', '.join(sorted(missing))}, which dashboards/README.md lists")


def section(name, metrics, labels):
    rows = [[f"`{metric}`", kind, labels.get(metric, ""), text.rstrip(".")] for metric, kind, text in metrics]
    return [f"## {name}", table(["metric", "type", "labels", "meaning"], rows)]


def exposed(text):
    """Name, type and help of each metric in Prometheus' text."""
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
    for name, kind in re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE):
        if not name.startswith(("process_", "nodejs_")):
            yield name.removesuffix(ENDINGS.get(kind, "")) + ENDINGS.get(kind, ""), kind, helps[name]


def of_ramp():
    """The metrics that ramp registers, from its source: ramp writes them only while a share moves."""
    source = (ROOT / "proxy/rollout/src/metrics.rs").read_text()
    found = [(name, "gauge", above or beside) for above, name, beside in REGISTERED.findall(source)]
    if not found or len(found) != source.count('("ramp_'):
        raise SystemExit("proxy/rollout/src/metrics.rs: a metric is registered in a way that is not known here")
    return found


def listed_by_dashboards():
    """The labels of each metric, and the metrics of each program. A test compares the table with the whole stack."""
    text = (ROOT / "dashboards/README.md").read_text()
    labels = {name: found for name, found in re.findall(r"`(\w+)\{([\w,]+)\}`", text)}
    listed = {}
    for names, of_row, programs in re.findall(r"^\| (`.*?) \| (.*?) ?\| (.*) \|$", text, re.MULTILINE):
        for name in re.findall(r"`(\w+)`", names):
            labels[name] = of_row
            for program in programs.split(", "):
                listed.setdefault(program, set()).add(name)
    return labels, listed
