"""Which cache lines do two threads of qr-service write while it answers requests, and what code does?

    python3 service-kit/shared_lines.py target/release/qr-service reuseport --path '/v1/qr?text=hello' --unix

Valgrind's lackey lists every instruction and store, without its thread. But each thread stores to its own stack all
the time, so a store between two stores to the same stack is that thread's. Prints how many lines the two serving
threads wrote, those that both did, and what the code is for that did, by the debug information (addr2line). Take a
release build: in a debug build the standard library's functions are not inlined, and do not tell who called them.
"""

import argparse
import bisect
import collections
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

LINE = 64
CONNECTIONS = 4
# Everything is slow under Valgrind.
PATIENCE = "300s"
# What code is for, by a part of its file's path. The first that fits counts.
KINDS = {
    "metrics": ("metrics.rs", "distribution.rs", "per_thread.rs", "/thread_local-", "/prometheus-client-"),
    "the places of connections": ("server/places.rs",),
    "the connection's state and buffers": ("/service-kit/src/server/",),
    "the picture and its answer": ("/qr-service/", "/fearless_simd-", "/xxhash-"),
    "tokio: the task": ("/runtime/task/", "/runtime/coop", "/src/task/", "waker"),
    "tokio: timers": ("/runtime/time/", "/src/time/"),
    "tokio: the scheduler and parking": ("/runtime/scheduler/", "/runtime/", "/tokio-", "/parking_lot"),
    "tokio and mio: events and sockets": ("/mio-", "/socket2-"),
    "hyper": ("/hyper-", "/http-", "/bytes-"),
}
EVENTS = ("/runtime/io/", "/tokio-1/src/io/", "/src/net/", "/src/io/")
# Keeps the stores, each with the address of its instruction.
FILTER = "/^I/ { at = $2 } /^ [SM]/ { print $2 \",\" at }"


def read_answer(stream):
    answer = b""
    while True:
        piece = stream.recv(4096)
        if not piece:
            sys.exit("the service closed a connection")
        answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        if length and len(body) == int(length.group(1)):
            return


def stacks(pid):
    """The threads' stacks: 2 MiB that can be written, above a guard page."""
    found, before = [], None
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            start, end, access = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            start, end = int(start, 16), int(end, 16)
            if access.startswith("rw") and before == (start, "---p") and 0x1F0000 <= end - start <= 0x201000:
                found.append((start, end))
            before = (end, access)
    return sorted(found)


def code(pid):
    """The executable parts of its memory: where, the file, and how to get from there to the file's addresses."""
    found = []
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            start, end, access, offset, file = (line.split(maxsplit=5)[0].split("-") + line.split()[1:3]
                                                + [line.split(maxsplit=5)[-1].strip()])
            if "x" in access and file.startswith("/"):
                found.append((int(start, 16), int(end, 16), int(offset, 16), file))
    return found


def connect(where):
    if where.startswith("unix:"):
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(where.removeprefix("unix:"))
        return stream
    host, port = where.rsplit(":", 1)
    return socket.create_connection((host, int(port)))


def trace(arguments, folder):
    """Runs the service; returns the trace of the requests, as a file and its part, the stacks and the code."""
    fifo, file = os.path.join(folder, "fifo"), os.path.join(folder, "stores")
    os.mkfifo(fifo)
    with open(file, "wb") as stores:
        reader = subprocess.Popen(["awk", FILTER, fifo], stdout=stores)
    where = f"unix:{folder}/socket" if arguments.unix else "127.0.0.1:0"
    settings = {"QR_ADDR": where, "QR_ADMIN_ADDR": "127.0.0.1:0", "QR_WORKER_THREADS": "2",
                "QR_API_WORKERS": "1", "QR_SERVE_MODE": arguments.mode}
    settings |= {f"QR_{name}_TIMEOUT": PATIENCE for name in ("HEADER", "REQUEST", "IDLE")}
    command = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--fair-sched=yes", f"--log-file={fifo}", arguments.program]
    service = subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.PIPE)
    try:
        where = json.loads(service.stdout.readline())["addr"]
        streams = [connect(where) for _ in range(CONNECTIONS)]
        part = []
        # Buffers of the first requests are not those of a connection that goes on.
        for rounds in (2, arguments.requests // CONNECTIONS):
            for _ in range(rounds):
                # All at once, or one thread would serve them one by one.
                for stream in streams:
                    stream.sendall(f"GET {arguments.path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
                for stream in streams:
                    read_answer(stream)
            part.append(os.path.getsize(file))
        return file, part, stacks(service.pid), code(service.pid)
    finally:
        service.terminate()
        service.wait()
        reader.wait()


def writers(file, part, regions):
    """For each line the stores of each thread, by instruction; and each thread's stores to its stack."""
    starts = [start for start, _ in regions]
    lines, own = collections.defaultdict(collections.Counter), collections.Counter()
    current, pending = None, []
    with open(file, "rb") as stores:
        stores.seek(part[0])
        stores.readline()
        while stores.tell() < part[1]:
            store = re.match(rb"(\w+),\d+,(\w+),\d+$", stores.readline().rstrip())
            if not store:
                continue
            address, by = (int(it, 16) for it in store.groups())
            thread = bisect.bisect_right(starts, address) - 1
            if thread < 0 or address >= regions[thread][1]:
                pending.append((address // LINE, by))
                continue
            own[thread] += 1
            if thread == current:
                for line, by in pending:
                    lines[line][thread, by] += 1
            current, pending = thread, []
    return lines, own


def segments(file):
    """Where the parts of a program's file belong: their offset, their size, and their address."""
    said = subprocess.run(["readelf", "-lW", file], capture_output=True, text=True, check=True).stdout
    loads = re.findall(r"^ +LOAD +(\w+) (\w+) \w+ (\w+)", said, re.MULTILINE)
    return [tuple(int(it, 16) for it in (offset, size, address)) for offset, address, size in loads]


def kinds_of(instructions, mapped):
    """What the code at each of these addresses is for."""
    found = {}
    for start, end, offset, file in mapped:
        here = [it for it in instructions if start <= it < end]
        if not here:
            continue
        addresses = []
        for it in here:
            at = it - start + offset
            addresses.append(next(at - begin + address for begin, size, address in segments(file)
                                  if begin <= at < begin + size))
        asked = "".join(f"{address:#x}\n" for address in addresses)
        said = subprocess.run(["addr2line", "-a", "-i", "-f", "-C", "-e", file], input=asked, capture_output=True,
                              text=True, check=True).stdout
        for it, calls in zip(here, re.split(r"^0x\w+\n", said, flags=re.MULTILINE)[1:]):
            calls = calls.splitlines()
            found[it] = kind_of(list(zip(calls[::2], calls[1::2])), os.path.basename(file))
    return found


def kind_of(calls, file):
    """By the innermost call that is not the standard library's; with its function."""
    if ".so" in file:
        return f"{file}: memory that is allocated, freed and copied", calls[0][0]
    for function, place in calls:
        if "/library/" in place or "/rustc/" in place or place.startswith("?"):
            continue
        if any(part in place for part in EVENTS):
            return "tokio and mio: events and sockets", function
        for kind, parts in KINDS.items():
            if any(part in place for part in parts):
                return kind, function
        return "other", f"{function} {place}"
    return "the standard library", calls[0][0] if calls else "?"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("mode", choices=["shared", "reuseport", "acceptor"])
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--path", default="/qrcode?text=hello")
    parser.add_argument("--unix", action="store_true", help="over a Unix socket")
    parser.add_argument("--functions", action="store_true", help="also the functions that store most")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp()
    try:
        file, part, regions, mapped = trace(arguments, folder)
        lines, own = writers(file, part, regions)
    finally:
        shutil.rmtree(folder)
    two = [thread for thread, _ in own.most_common(2)]
    if len(two) < 2:
        sys.exit(f"{arguments.mode}: one thread served all {arguments.requests} requests; try more of them")
    of = {line: {thread for thread, _ in by} for line, by in lines.items()}
    both = {line: by for line, by in lines.items() if of[line] >= set(two)}
    print(f"{arguments.mode}, {arguments.path}: {arguments.requests} requests on {CONNECTIONS} connections; "
          "stores to the two stacks:", ", ".join(str(own[thread]) for thread in two))
    for thread in two:
        print(f"  one thread wrote {sum(1 for by in of.values() if thread in by)} lines besides its stack")
    print(f"  both wrote {len(both)} lines, {sum(sum(by.values()) for by in both.values())} times")
    kinds = kinds_of({by for line in both.values() for _, by in line}, mapped)
    unknown = ("memory of no file", "?")
    in_lines, stores, functions = collections.defaultdict(set), collections.Counter(), collections.Counter()
    for line, by in both.items():
        for (_, instruction), count in by.items():
            kind, function = kinds.get(instruction, unknown)
            in_lines[kind].add(line)
            stores[kind] += count
            functions[kind, function] += count
    # A line that several kinds write is counted for each of them.
    for kind, count in stores.most_common():
        print(f"    {kind}: {len(in_lines[kind])} lines, {count} stores")
        most = [(function, count) for (of, function), count in functions.most_common() if of == kind]
        for function, count in most[:8] if arguments.functions else []:
            print(f"      {count} {function}")
    if "metrics" not in stores:
        print("    metrics: none")


main()
