"""Short links of the legacy app, and their backup by the documented commands."""

import json
import shlex
import subprocess
import tempfile
from pathlib import Path

from check import TOP
from cluster import Failed
from load import Load

URL = "https://www.example.com/kept"
# Makes a link from inside the app's pod, because Cluster.read only sends GET.
ADD = (
    'fetch("http://127.0.0.1:3000/api/links", { method: "POST", headers: { "content-type": "application/json" },'
    f' body: JSON.stringify({{ url: "{URL}" }}) }}).then((answer) => answer.text()).then(console.log)'
)


def add_link(cluster):
    """Makes a link and returns its id."""
    answer = json.loads(cluster.kubectl("exec", "deployment/legacy-node", "--", "node", "-e", ADD))
    cluster.expect(answer.get("url") == URL, f"no link is made: {answer}")
    return answer["id"]


def has_link(cluster, link):
    pod = cluster.pods("app.kubernetes.io/name=legacy-node")[0]
    return URL == cluster.ask(pod, 3000, f"api/links/{link}")["url"]


def links_come_back_from_their_backup(cluster):
    with tempfile.TemporaryDirectory(dir=TOP / "target") as folder, Load(cluster, kept=False) as load:
        file = Path(folder, "links.db")
        kept = add_link(cluster)
        make(cluster, "BACKUP", file)
        later = add_link(cluster)
        # Without a volume, the links are lost with the pod. With one, the later link shows that the backup has replaced
        # them.
        cluster.kubectl("rollout", "restart", "deployment/legacy-node")
        cluster.wait_for_rollout("legacy-node")
        cluster.wait_until_none_terminates()
        is_kept = cluster.has("persistentvolumeclaim", "links")
        cluster.expect(is_there(cluster, kept) == is_kept, f"kept by its volume: {is_kept}; the link says otherwise")
        said = make(cluster, "RESTORE", file)
        cluster.expect(is_there(cluster, kept), "the link is not restored")
        cluster.expect(not is_there(cluster, later), "the backup has a link that came after it")
    return f"{said}; {load.summary}"


def make(cluster, action, file):
    """Runs `make links` on the cluster and returns the last line of its output."""
    command = ["make", "--silent", "-C", TOP, "links", f"KUBECTL={shlex.join(cluster.command)}", f"{action}={file}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"make links {action}: {done.stderr.strip()}")
    return done.stderr.strip().splitlines()[-1]


def is_there(cluster, link):
    try:
        return has_link(cluster, link)
    except Failed as failure:
        if ": 404 " not in str(failure):
            raise
        return False
