"""The common part of the peers in Python of `make bench ARGS=formats`: reads lines, each with texts as JSON or with a
format and milliseconds, and answers the latter with nanoseconds per call and the median size of the files; see
formats.rs."""

import json
import sys
import time

DARK, LIGHT, SIZE_PX, MARGIN = "#1a237e", "#fffde7", 1000, 4


def serve(make):
    """Calls `make(text, kind)`, which returns a file as bytes, for the milliseconds of each line."""
    texts = []
    for line in sys.stdin:
        if line.startswith("["):
            texts = json.loads(line)
            continue
        kind, least_ms = line.split()
        began, calls, sizes = time.perf_counter_ns(), 0, []
        while calls < 8 or time.perf_counter_ns() - began < int(least_ms) * 1_000_000:
            sizes.append(len(make(texts[calls % len(texts)], kind)))
            calls += 1
        took = time.perf_counter_ns() - began
        print(took / calls, sorted(sizes)[(len(sizes) - 1) // 2], flush=True)
