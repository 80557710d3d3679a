"""Runs the programs that the reference describes, and writes tables."""

import contextlib
import json
import os
import re
import subprocess
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("PROGRAMS", ROOT / "target/debug"))
# Without variables such as QR_ADDR, which --help would show as defaults.
ENVIRONMENT = {"PATH": os.environ["PATH"]}
LEGACY_NODE = ["node", str(ROOT / "legacy-node/src/server.js")]


def help_of(command):
    """What a program prints for --help."""
    words = [*command, "--help"]
    return subprocess.run(words, check=True, capture_output=True, text=True, env=ENVIRONMENT).stdout


@contextlib.contextmanager
def running(command, **variables):
    """Runs a service on free ports in an empty folder. Gives its addresses by name, such as admin_addr."""
    with tempfile.TemporaryDirectory() as folder:
        # The files that relay-home and the edge read.
        Path(folder, "share").write_text("0\n")
        line = "1767225600.000 qrcode new new 200 0.001 500 127.0.0.1:42069 GET"
        Path(folder, "access.log").write_text(line.replace(" ", "\t") + "\n")
        log = open(Path(folder, "log"), "w+")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder,
                                   env={**ENVIRONMENT, **variables})
        try:
            # Services log the addresses once they listen there.
            lines = (json.loads(line) for line in process.stdout)
            yield next((line for line in lines if line["msg"] == "listening"), None) or fail(command, log)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            log.close()


def fail(command, log):
    log.seek(0)
    raise SystemExit(f"{' '.join(command)}: {log.read().strip()}")


def get(address, path):
    """The text of a service's answer."""
    with urllib.request.urlopen(f"http://{address}/{path}", timeout=10) as answer:
        return answer.read().decode()


def table(columns, rows):
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell(text) for text in line)} |" for line in lines)


def cell(text):
    """Text for a cell of a table: on one line; escapes what would end the cell or begin a tag."""
    text = " ".join(text.split()).replace("|", "\\|")
    return re.sub(r"`[^`]*`|<", lambda found: "&lt;" if found[0] == "<" else found[0], text)


def code(text):
    """Formats one word as code; several words stay text."""
    return f"`{text}`" if text and " " not in text else text
