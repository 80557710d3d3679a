"""segno's part of `make bench-formats`: a line of texts as JSON, or a format and milliseconds; see formats.rs."""

import io
import json
import sys
import time

import segno

DARK, LIGHT, SIZE_PX, MARGIN = "#1a237e", "#fffde7", 1000, 4


def make(text, kind):
    """The file of a text as bytes."""
    code = segno.make(text, error="l", boost_error=False, micro=False)
    out = io.BytesIO()
    if kind == "png":
        scale = SIZE_PX // (code.symbol_size(border=MARGIN)[0])
        code.save(out, kind=kind, border=MARGIN, scale=scale, dark=DARK, light=LIGHT)
    elif kind == "eps":
        lines = io.StringIO()
        code.save(lines, kind=kind, border=MARGIN)
        return lines.getvalue().encode()
    else:
        code.save(out, kind=kind, border=MARGIN)
    return out.getvalue()


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
