#!/usr/bin/env python3
"""Writes layout.ld: which functions the linker puts beside each other in qr-service, after a new compiler or much new code.

It runs the program under callgrind, which names every function that runs: those of a request of /qrcode, those of a
start and an end, and those of other requests. ../../docs/adr/0021-layout.md says why.
"""

import http.client
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

HERE = Path(__file__).parent
HEAD = """\
/* Written by layout.py. The functions that run, beside each other: the kernel maps 16 pages around one that is
   touched. A name that no function has any more does no harm. docs/adr/0021-layout.md */
SECTIONS
{
  .text.layout :
  {
"""
TAIL = """\
  }
}
INSERT BEFORE .text;
"""
LENGTHS = (5, 53, 100, 300, 512)
QRCODE = [f"/qrcode?text={quote((text * 512)[:length])}" for text in ("https://a.b/", "0123", "é日") for length in LENGTHS]
OTHERS = ["/qrcode", "/qrcode?text=", "/nowhere", "/v1/qr?text=a", "/v1/qr.svg?text=a&level=Q&dark=036", "/v1/qr?size=x"]
OF_ADMIN = ["/livez", "/readyz", "/metrics"]
# Of other functions that a name also stands for, such as the instances of call_once; a name with more is left out.
OTHERS_BYTES = 40_000


def main():
    program = sys.argv[1]
    idle, served, all_ = (names(program, *asked) for asked in [((), ()), (QRCODE, ()), (QRCODE + OTHERS, OF_ADMIN)])
    sizes = symbols(program)
    lines = []
    for group in (served - idle, idle, all_ - idle - served):
        # In the order of the program, which has callers near those that they call.
        patterns = dict.fromkeys(pattern(name) for name in sizes if name in group and name[:2] in ("_Z", "_R"))
        lines += [each for each in patterns if others(each, sizes, all_) <= OTHERS_BYTES and each not in lines]
    text = "".join(f"    *(.text.*{line})\n" for line in lines)
    (HERE / "layout.ld").write_text(HEAD + text + TAIL)
    print(f"layout.ld: {len(lines)} names")


def names(program, targets, of_admin):
    """Runs the program, requests these targets, ends it, and returns the functions that ran."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        command = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}", program]
        command += ["--addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--worker-threads", "1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            line = next(line for line in process.stdout if '"listening"' in line)
            for key, asked in (("addr", targets), ("admin_addr", of_admin)):
                ask(re.search(f'"{key}":"([^"]*)"', line)[1], asked)
            time.sleep(1)
            process.send_signal(signal.SIGTERM)
        return set(re.findall(r"^c?fn=\(\d+\) (\S+)$", out.read_text(), re.MULTILINE))


def ask(address, targets):
    for target in targets:
        # The second header makes it one for hyper.
        for headers in ({}, {"Connection": "keep-alive, keep-alive"}):
            connection = http.client.HTTPConnection(address, timeout=60)
            connection.request("GET", target, headers=headers)
            connection.getresponse().read()
            connection.close()


def symbols(program):
    """Returns the size of each function, by name, in the order of their addresses."""
    command = ["nm", "--numeric-sort", "--print-size", program]
    fields = map(str.split, subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())
    return {field[3]: int(field[1], 16) for field in fields if len(field) == 4 and field[2] in "tT"}


def pattern(name):
    """Returns a pattern without the hashes, which change with compilers and versions, and for every SIMD level."""
    name = re.sub(r"17h[0-9a-f]{16}E$", "17h*", name).replace("$", "?")
    name = re.sub(r"Cs[0-9a-zA-Z]+_", "Cs*_", name)
    return re.sub(r"_ZN\d+_(.LT.fearless_simd..generated..)\w+..\w+?(.u20.)", r"_ZN*\1*\2", name)


def others(wanted, sizes, ran):
    return sum(size for name, size in sizes.items() if name not in ran and pattern(name) == wanted)


main()
