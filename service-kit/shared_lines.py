"""Which cache lines do two threads of qr-service write while it answers requests?

    python3 service-kit/shared_lines.py target/debug/qr-service reuseport

Valgrind's lackey lists every store, without its thread. But each thread stores to its own stack all the time, so a
store between two stores to the same stack is that thread's. Prints how many lines the two serving threads wrote,
and those that both did.
"""

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
REQUEST = b"GET /qrcode?text=hello HTTP/1.1\r\nhost: x\r\n\r\n"
# Everything is slow under Valgrind.
PATIENCE = "300s"


def ask(stream):
    stream.sendall(REQUEST)
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


def trace(program, mode, requests, folder):
    """Runs the service; returns the trace of the requests, as a file and its part, and the stacks."""
    fifo, file = os.path.join(folder, "fifo"), os.path.join(folder, "stores")
    os.mkfifo(fifo)
    with open(file, "wb") as stores:
        reader = subprocess.Popen(["grep", "^ [SM]", fifo], stdout=stores)
    settings = {"QR_ADDR": "127.0.0.1:0", "QR_ADMIN_ADDR": "127.0.0.1:0", "QR_WORKER_THREADS": "2",
                "QR_API_WORKERS": "1", "QR_SERVE_MODE": mode}
    settings |= {f"QR_{name}_TIMEOUT": PATIENCE for name in ("HEADER", "REQUEST", "IDLE")}
    command = ["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={fifo}", program]
    service = subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.PIPE)
    try:
        host, port = json.loads(service.stdout.readline())["addr"].rsplit(":", 1)
        streams = [socket.create_connection((host, int(port))) for _ in range(CONNECTIONS)]
        part = []
        # Buffers of the first requests are not those of a connection that goes on.
        for rounds in (2, requests // CONNECTIONS):
            for _ in range(rounds):
                for stream in streams:
                    ask(stream)
            part.append(os.path.getsize(file))
        return file, part, stacks(service.pid)
    finally:
        service.terminate()
        service.wait()
        reader.wait()


def writers(file, part, regions):
    """For each line the stores of each thread; and each thread's stores to its stack."""
    starts = [start for start, _ in regions]
    lines, own = collections.defaultdict(collections.Counter), collections.Counter()
    current, pending = None, []
    with open(file, "rb") as stores:
        stores.seek(part[0])
        stores.readline()
        while stores.tell() < part[1]:
            store = re.match(rb" [SM] (\w+),\d+$", stores.readline().rstrip())
            if not store:
                continue
            address = int(store.group(1), 16)
            thread = bisect.bisect_right(starts, address) - 1
            if thread < 0 or address >= regions[thread][1]:
                pending.append(address // LINE)
                continue
            own[thread] += 1
            if thread == current:
                for line in pending:
                    lines[line][thread] += 1
            current, pending = thread, []
    return lines, own


def main():
    program, mode = sys.argv[1:3]
    requests = int(sys.argv[3]) if len(sys.argv) > 3 else 24
    folder = tempfile.mkdtemp()
    try:
        lines, own = writers(*trace(program, mode, requests, folder))
    finally:
        shutil.rmtree(folder)
    two = [thread for thread, _ in own.most_common(2)]
    both = {line: by for line, by in lines.items() if all(by[thread] for thread in two)}
    print(f"{mode}: {requests} requests on {CONNECTIONS} connections; stores to the two stacks:",
          ", ".join(str(own[thread]) for thread in two))
    for thread in two:
        print(f"  one thread wrote {sum(1 for by in lines.values() if by[thread])} lines besides its stack")
    print(f"  both wrote {len(both)} lines, {sum(sum(by.values()) for by in both.values())} times")


main()
