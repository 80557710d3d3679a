#!/usr/bin/env python3
"""Runs every test, several programs at once: `make test`.

Cargo runs one test program after the other, and most of them wait most of the time: for a step of a ramp, a
timeout, a sample of Prometheus. Here two of those run at once, and beside them, with what processor time they
leave, one of those that only compute; in the end three of these. Each program's output is printed when it ends, and at
last the time of each.

A test that failed runs once more when nothing else does, and then counts: beside others it may have lost to them a
bound of time. The end of the output names what passed only alone.

One package's tests: `cargo test -p PACKAGE`.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
CARGO = [os.environ.get("CARGO", "cargo"), "test", "--workspace", "--all-features"]
# Packages and programs that compute without a bound of time: they may wait for a processor.
COMPUTE = {
    "contract/suite",
    "judge/tables",
    "loadtest/nightly_ladder",
    "qr-api",
    "qr-bench",
    "qr-c",
    "qr-cli",
    "qr-core",
    "qr-options",
    "qr-service/api",
    "qr-service/compat",
}
# Those that are no program of Cargo: what computes, and what waits for samples and timeouts.
NPM = ["npm", "--loglevel=error", "--prefix"]
STACK = ["target/debug/stack", "with"]
CLIENTS = "node --test qr-service/api/clients/clients.test.js && node --test qr-service/api/page/browser.test.js"
COMPUTING = {
    "doc tests": [*CARGO, "--doc"],
    "fuzzing": ["make", "fuzz", "SECONDS=4"],
    "bindings/node": [*NPM, "qr-service/bindings/node", "test"],
    "bindings/wasm": ["qr-service/bindings/wasm/test.sh"],
    "bindings/python": ["make", "python", "PROFILE=dev"],
    "live page": [*NPM, "dashboards/live", "test"],
}
WAITING = {
    "live page in a browser": [
        *STACK, "--split", "50", "--mirror", "25", "--", *NPM, "dashboards/live", "run", "test:browser",
    ],
    "legacy-node": [*NPM, "legacy-node", "test"],
    "legacy-node in a browser": [*STACK, "--", *NPM, "legacy-node", "run", "test:browser"],
    "clients, and the playground in a browser": [
        "env", "QR_COMPAT=goqr,quickchart,google", *STACK, "--", "sh", "-c", CLIENTS,
    ],
}
# Storms of requests with bounds for each, faults that no client may notice, and bodies of which every one has to be
# compared: a side that has no processor is one more fault. No other program that serves runs meanwhile.
ALONE = {"loadtest/nightly_overload", "loadtest/nightly_chaos", "stack/bodies"}
# Minutes, in this order; begun late, they would end late.
LONGEST = ["loadtest/nightly_chaos", "live page in a browser", "stack/minutes", "ramp/run", "stack/failures"]
LONGEST += ["relay-service/nginx", "ramp/split", "fuzzing", "doc tests", "qr-service/api", "loadtest/nightly_ladder"]


class Program:
    """A test program."""

    def __init__(self, name, command, folder):
        self.name, self.command, self.folder = name, command, folder
        self.seconds, self.code, self.failed = 0.0, None, []

    def run(self, niced, tests=()):
        """Runs it, or only `tests` of it, one after the other."""
        start = time.monotonic()
        command = ["nice", "-n", "19", *self.command] if niced else self.command
        if tests:
            command = [*command, "--test-threads", "1", "--exact", *tests]
        environment = dict(os.environ, CARGO_MANIFEST_DIR=str(self.folder))
        done = subprocess.run(
            command, check=False, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
        )
        self.seconds += time.monotonic() - start
        self.code = done.returncode
        # Cargo's harness lists them last.
        self.failed = re.findall(r"^    (\w[\w:]*)$", done.stdout.rpartition("\nfailures:\n")[2], re.MULTILINE)
        # In one piece, so that no other program's lines are between.
        sys.stdout.write(f"\n     Running {self.name} ({self.seconds:.1f} s)\n{done.stdout}")
        sys.stdout.flush()


def build():
    """Builds the workspace's test programs, and returns them and the others, the longest first."""
    command = [*CARGO, "--no-run", "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, check=False, cwd=TOP, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        sys.exit(built.returncode)
    programs = []
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            folder = Path(message["manifest_path"]).parent
            package = message["package_id"].rpartition("#")[2].rpartition("@")[0] or folder.name
            kind, target = message["target"]["kind"][0], message["target"]["name"]
            name = f"{package}/{target}" if kind == "test" else f"{package}/unit tests of {kind} {target}"
            programs.append(Program(name, [message["executable"]], folder))
    programs += [Program(name, command, TOP) for name, command in (COMPUTING | WAITING).items()]
    rank = {name: place for place, name in enumerate(LONGEST)}
    return sorted(programs, key=lambda program: rank.get(program.name, len(rank)))


def is_in(names, program):
    return program.name in names or program.name.partition("/")[0] in names


def worker(*queues, niced=False):
    """Starts a thread that runs the programs of one queue after the other until none is left."""

    def run():
        for programs in queues:
            while programs:
                try:
                    program = programs.popleft()
                except IndexError:
                    break
                program.run(niced)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def main():
    programs = build()
    compute = deque(program for program in programs if is_in(COMPUTE | COMPUTING.keys(), program))
    alone = deque(program for program in programs if is_in(ALONE, program))
    others = deque(program for program in programs if program not in compute and program not in alone)
    every = [*alone, *others, *compute]
    unknown = [name for name in [*COMPUTE, *ALONE, *LONGEST] if not any(is_in([name], it) for it in every)]
    if unknown:
        sys.exit(f"tests.py names what is no test program: {', '.join(unknown)}")
    computing = worker(compute, niced=True)
    worker(alone).join()
    for thread in [worker(others, compute), worker(others, compute), computing]:
        thread.join()
    again = [(program, program.failed) for program in every if program.code != 0]
    for program, tests in again:
        program.run(niced=False, tests=tests)

    print("\nseconds of each program:")
    for program in sorted(every, key=lambda program: -program.seconds)[:20]:
        print(f"{program.seconds:8.1f}  {program.name}")
    for program, tests in again:
        verdict = "passed only alone" if program.code == 0 else "failed, and again alone"
        print(f"{verdict}: {program.name}: {', '.join(tests) or 'all of it'}")
    return 1 if any(program.code for program in every) else 0


if __name__ == "__main__":
    sys.exit(main())
