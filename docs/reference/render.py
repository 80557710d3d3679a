#!/usr/bin/env python3
"""Writes the reference into target/reference, from the programs and files that it describes: settings, API, metrics,
route files, gates.

    docs/reference/render.py    # make site; make lint, whose docs/site.py --check then checks their links too

It runs the programs in target/debug, with all features, and legacy-node with Node.
"""

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

folder = ROOT / "target/reference"
folder.mkdir(parents=True, exist_ok=True)
for name, page in PAGES.items():
    (folder / name).write_text(f"{page().rstrip()}\n")
