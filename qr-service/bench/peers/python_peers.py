"""Runs segno, zint, or libqrencode's program for `make bench ARGS=formats`: the argument tells which. Reads lines, each
with texts as JSON or with a format and milliseconds, and answers the latter with nanoseconds per call and the median
size of the files; see formats.rs."""

import io
import json
import subprocess
import sys
import time

DARK, LIGHT, SIZE_PX, MARGIN = "#1a237e", "#fffde7", 1000, 4


def segno(text, kind):
    import segno

    code = segno.make(text, error="l", boost_error=False, micro=False)
    out = io.StringIO() if kind == "eps" else io.BytesIO()
    scale = SIZE_PX // code.symbol_size(border=MARGIN)[0]
    look = {"scale": scale, "dark": DARK, "light": LIGHT} if kind == "png" else {}
    code.save(out, kind=kind, border=MARGIN, **look)
    return out.getvalue().encode() if kind == "eps" else out.getvalue()


def zint(text, kind):
    from zint import OutputOptions, Symbol, Symbology

    symbol = Symbol()
    symbol.symbology = Symbology.QRCODE
    symbol.option_1 = 1  # level L
    symbol.output_options = OutputOptions.BARCODE_MEMORY_FILE
    symbol.outfile = f"file.{kind}"
    symbol.whitespace_width = symbol.whitespace_height = MARGIN
    symbol.encode(text)
    if kind == "png":
        symbol.fgcolour, symbol.bgcolour = DARK[1:], LIGHT[1:]
        # At a scale of 1 a module has two pixels.
        symbol.scale = SIZE_PX // (symbol.width + 2 * MARGIN) / 2
    symbol.print()
    return bytes(symbol.memfile)


# Modules a side by text, because qrencode takes a PNG's size as pixels per module.
MODULES = {}
FLAGS = ["qrencode", "--8bit", f"--margin={MARGIN}", "--level=L", "--output=-"]


def qrencode(text, kind):
    """Each file takes one process, and each text one more for its modules."""
    if kind == "png" and text not in MODULES:
        MODULES[text] = len(run(text, "--type=ASCII", "--margin=0").splitlines())
    if kind == "png":
        scale = SIZE_PX // (MODULES[text] + 2 * MARGIN)
        colours = [f"--foreground={DARK[1:]}", f"--background={LIGHT[1:]}"]
        return run(text, "--type=PNG", f"--size={scale}", *colours)
    # The smallest form of its SVG.
    return run(text, *(["--type=SVG", "--rle", "--svg-path"] if kind == "svg" else ["--type=EPS"]))


def run(text, *flags):
    command = [*FLAGS, *flags]
    return subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout


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


serve({"segno": segno, "zint": zint, "qrencode": qrencode}[sys.argv[1]])
