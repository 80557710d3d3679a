#!/usr/bin/env python3
"""Writes docs/reference/ from the programs and files that it describes: settings, API, metrics, route files, gates.

    docs/reference/render.py            # make generate
    docs/reference/render.py --check    # writes nothing; names the pages that are out of date: make lint

It runs the programs in target/debug, with all features, and legacy-node with Node.
"""

import difflib
import sys

from api import api_page
from files import gates_page, routes_page
from metrics import metrics_page
from programs import ROOT
from settings import settings_page

PAGES = {
    "settings.md": settings_page,
    "api.md": api_page,
    "metrics.md": metrics_page,
    "route-files.md": routes_page,
    "gates.md": gates_page,
}
NOTE = "<!-- Written by `make generate`; change what it is made from. -->"


def main():
    stale = []
    for name, page in PAGES.items():
        file = ROOT / "docs/reference" / name
        title, _, rest = page().partition("\n")
        text = f"{title}\n\n{NOTE}\n{rest.rstrip()}\n"
        before = file.read_text() if file.exists() else ""
        if sys.argv[1:] != ["--check"]:
            file.write_text(text)
        elif text != before:
            stale.append(f"docs/reference/{name} is out of date; make generate writes it")
            stale += list(difflib.unified_diff(before.splitlines(), text.splitlines(), "is", "should be", "", n=0))[:10]
    if stale:
        sys.exit("\n".join(stale))


main()
