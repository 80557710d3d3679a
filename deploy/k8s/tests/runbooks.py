"""Types the runbooks' commands for a cluster in the middle of a run and after it."""

import re
import shlex
import subprocess

from check import TOP
from cluster import Failed
from load import RATE_ON_OLD, Load
from pods import PROXY
from ramp import ramp
from walks import walk

FOLDER = TOP / "docs/runbooks"
KUBECTL = re.compile(r"`(kubectl -n qr [^`]+)`|^ +(kubectl -n qr .+)$", re.MULTILINE)
# The runbooks' README has a table that says how to type these on a cluster.
CARVE = re.compile(
    r"make (status|split|ramp|pause|abort|clear) ROUTE=[\w-]+(?: ARGS=('[^']+'|[\w-]+))?(?: REASON=('[^']+'|\w+))?"
)
# Words that work only on one machine: targets, parts, files, ports, and settings for `make up`.
ONE_MACHINE = re.compile(
    r"make (?!logs|up|down)[a-z]+(?= [A-Z]|`|$)|(?<=PART=)[\w-]+"
    r"|run/[\w./-]*\w|df -h|localhost:\d+|target/plain/carve|[A-Z_]+(?==\S+ make up)",
    re.MULTILINE,
)
# Words of commands that depend on earlier commands or end the run, in order. All other commands come first.
ORDER = ["abort", "--mirror", "rollback", "clear", "--detach", "--dry-run", "0", "env", "restart", "delete"]
# Exit codes of `carve ramp --dry-run` that are verdicts: the run would move on, go back, or wait.
VERDICTS = (0, 3, 4)


def the_runbooks_commands_work(cluster):
    texts = {file.name: file.read_text() for file in sorted(FOLDER.glob("*.md"))}
    missing = without_a_form(texts)
    cluster.expect(not missing, f"the runbooks' README has no form for a cluster of: {', '.join(missing)}")
    # Some commands are there twice, with their options in another order.
    different = {frozenset(words): words for words in commands_in("\n".join(texts.values()))}
    commands = sorted(different.values(), key=rank)
    failed = []
    mirror = cluster.ask(cluster.pods(PROXY)[0], 8081, "split/qrcode")["mirror_percent"]
    with Load(cluster, RATE_ON_OLD, kept=False) as load, walk(cluster):
        for words in commands:
            problem = typed(cluster, words)
            if problem:
                failed.append(f"{shlex.join(words)}: {problem}")
            elif "env" in words:
                name = words[-1].partition("=")[0]
                cluster.kubectl(*words[2:-1], f"{name}-")
    cluster.expect(not failed, "; ".join(failed))
    cluster.wait_until_ready()
    cluster.expect(ramp(cluster, ["split", f"--mirror={mirror:g}"]) == 0, "carve split --mirror fails")
    return f"{len(commands)} commands; {load.summary}"


def without_a_form(texts):
    """Returns the words for one machine that the runbooks use but the left column of the README's table lacks."""
    used = {word for name, text in texts.items() if name != "README.md" for word in ONE_MACHINE.findall(text)}
    rows = texts["README.md"].partition("| on one machine |")[2].splitlines()
    in_table = "\n".join(row.partition(" | ")[0] for row in rows)
    has = lambda word: re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-]| ARGS)", in_table)
    return sorted(word for word in used if not has(word))


def commands_in(text):
    """Yields kubectl's words of each command."""
    for found in KUBECTL.findall(text):
        yield tuple(shlex.split("".join(found).replace("NAME", "qrcode"))[1:])
    for command, arguments, reason in CARVE.findall(text):
        words = shlex.split(arguments and shlex.split(arguments)[0])
        # A new run cannot begin in the middle of another, and the table has `split` with a share.
        if command in ("ramp", "split") and (not words or "--steps" in words):
            continue
        words += ["--reason", *shlex.split(reason)] if reason else []
        yield (*"-n qr exec deploy/ramp -- carve".split(), command, "qrcode", *words)


def rank(words):
    found = [ORDER.index(word) + 1 for word in words if word in ORDER]
    return max(found, default=0), words


def typed(cluster, words):
    """Types a command until it is accepted. Returns its error if it never is, else None."""
    if "port-forward" in words:
        return forwarded(cluster, words)
    if "-f" in words or "--follow" in words:
        return "it does not end"
    accepted = VERDICTS if "--dry-run" in words else (0,)
    said = []

    def done():
        outcome = cluster.run(*words)
        said[:] = [outcome.stderr.strip() or f"exit code {outcome.returncode}"]
        return outcome.returncode in accepted

    try:
        # A pod of ramp that takes a run over, or is new, may need some seconds.
        cluster.wait_for("it to be accepted", done, timeout=20)
    except Failed:
        return said[0]
    return None


def forwarded(cluster, words):
    """Forwards the port to any local one, until that is open."""
    command = [*cluster.command, *words[:-1], f":{words[-1]}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        process.terminate()
        return None if line.startswith("Forwarding from") else process.stderr.read().strip()
