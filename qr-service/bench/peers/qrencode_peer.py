"""Runs libqrencode's program for `make bench ARGS=formats`; each file takes one process."""

import subprocess

from turns import DARK, LIGHT, MARGIN, SIZE_PX, serve

FLAGS = ["qrencode", "--8bit", f"--margin={MARGIN}", "--level=L", "--output=-"]
OF_KIND = {
    # The smallest form of its SVG.
    "svg": ["--type=SVG", "--rle", "--svg-path"],
    "eps": ["--type=EPS"],
    "png": ["--type=PNG", f"--foreground={DARK[1:]}", f"--background={LIGHT[1:]}"],
}
# Modules a side by text, because the program takes a PNG's size as pixels per module.
MODULES = {}


def make(text, kind):
    flags = OF_KIND[kind]
    if kind == "png":
        flags = [*flags, f"--size={SIZE_PX // (modules_of(text) + 2 * MARGIN)}"]
    return run(text, flags)


def modules_of(text):
    """The modules a side of a text's symbol. Runs the program once per text."""
    if text not in MODULES:
        MODULES[text] = len(run(text, ["--type=ASCII", "--margin=0"]).splitlines())
    return MODULES[text]


def run(text, flags):
    return subprocess.run([*FLAGS, *flags], input=text.encode(), capture_output=True, check=True).stdout


serve(make)
