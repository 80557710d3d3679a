#!/usr/bin/env python3
"""Compares the minimum versions in the top README's table with those that are checked, built or tested: make lint."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Name in the README, file with the version, and pattern of the version.
PLACES = [
    ("Rust", "Cargo.toml", r'^rust-version = "([\d.]+)"'),
    ("Node.js", "legacy-node/package.json", r'"node": ">=([\d.]+)"'),
    ("Node.js", "qr-service/bindings/node/package.json", r'"node": ">=([\d.]+)"'),
    ("Node", "legacy-node/Dockerfile", r"library/node:(\d+)\."),
    ("Node", "deploy/Dockerfile", r"library/node:(\d+)\."),
    ("kubectl", "deploy/k8s/check.py", r"kubectl-([\d.]+)"),
    ("Helm", "deploy/k8s/chart_values.py", r"helm-([\d.]+)"),
    ("Kubernetes", "deploy/chart/Chart.yaml", r'kubeVersion: ">=(\d+\.\d+)'),
    ("Python", "qr-service/bindings/python/pyproject.toml", r'requires-python = ">=([\d.]+)"'),
]

table = (ROOT / "README.md").read_text().partition("## What you need")[2].partition("\n## ")[0]
mistakes = []
for name, file, pattern in PLACES:
    found = re.search(pattern, (ROOT / file).read_text(), re.MULTILINE)
    if not found:
        mistakes.append(f"docs/versions.py: {file} has no version of {name}")
    elif (listed := set(re.findall(rf"\b{re.escape(name)} ([\d.]*\d)", table))) != {found[1]}:
        mistakes.append(f"README.md has {name} {', '.join(sorted(listed)) or 'not'}, but {file} has {found[1]}")
if mistakes:
    sys.exit("\n".join(mistakes))
