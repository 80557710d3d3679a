#!/usr/bin/env python3
"""Draws docs/architecture.svg from docs/architecture.txt.

    docs/architecture.py            # make generate
    docs/architecture.py --check    # writes nothing; fails if the picture is out of date: make lint
"""

import re
import sys
from html import escape
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".txt")
PICTURE = SOURCE.with_suffix(".svg")
WIDTH, HEIGHT, STEP_X, STEP_Y = 200, 54, 350, 105
STYLE = """:root{--ink:#1f2328;--faint:#59636e;--line:#818b98;--box:#f6f8fa;--paper:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--faint:#9198a1;--line:#6e7681;--box:#161b22;--paper:#0d1117}}
text{font:14px system-ui,sans-serif;fill:var(--ink);text-anchor:middle}
.name{font-weight:600}.below,.label{fill:var(--faint);font-size:12px}
.label{paint-order:stroke;stroke:var(--paper);stroke-width:6}
rect{fill:var(--box);stroke:var(--line)}.paper{fill:var(--paper);stroke:none}
line{stroke:var(--line);stroke-width:1.5;marker-end:url(#head)}marker path{fill:var(--line)}"""


def read():
    """Returns each box's place and second line by name, and the arrows: from, to, label."""
    text = SOURCE.read_text()
    boxes = {name: (int(column), int(row), below) for column, row, name, below
             in re.findall(r"^box (\d) (\d)  (.+?) +\| (.+)$", text, re.MULTILINE)}
    arrows = re.findall(r"^arrow (.+?) -> (\S+(?: \S+)*)(?:  +(.+))?$", text, re.MULTILINE)
    return boxes, arrows


def middle(box):
    column, row, _ = box
    return STEP_X * (column - 1) + WIDTH / 2 + 10, STEP_Y * row + HEIGHT / 2 + 10


def edge(at, to):
    """Where a line from `at`, the middle of a box, to `to` crosses the box's edge."""
    across, down = to[0] - at[0], to[1] - at[1]
    part = min(WIDTH / 2 / abs(across) if across else 9, HEIGHT / 2 / abs(down) if down else 9)
    return at[0] + part * across, at[1] + part * down


def draw(boxes, arrows):
    columns, rows = (max(box[axis] for box in boxes.values()) for axis in (0, 1))
    size = STEP_X * (columns - 1) + WIDTH + 20, STEP_Y * rows + HEIGHT + 20
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" role="img"><style>{STYLE}</style>'
    yield ('<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0l8 4-8 4z"/></marker></defs><rect class="paper" width="100%" height="100%"/>')
    for start, end, label in arrows:
        one, other = middle(boxes[start]), middle(boxes[end])
        (x1, y1), (x2, y2) = edge(one, other), edge(other, one)
        yield f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"/>'
        if label:
            yield f'<text class="label" x="{(x1 + x2) / 2:.0f}" y="{(y1 + y2) / 2 + 4:.0f}">{escape(label)}</text>'
    for name, box in boxes.items():
        x, y = middle(box)
        yield f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
        yield f'<text class="name" x="{x:.0f}" y="{y - 4:.0f}">{escape(name)}</text>'
        yield f'<text class="below" x="{x:.0f}" y="{y + 15:.0f}">{escape(box[2])}</text>'
    yield "</svg>"


picture = "\n".join(draw(*read())) + "\n"
if sys.argv[1:] != ["--check"]:
    PICTURE.write_text(picture)
elif picture != PICTURE.read_text():
    sys.exit(f"docs/{PICTURE.name} is out of date; make generate draws it")
