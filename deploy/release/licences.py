#!/usr/bin/env python3
"""Writes the licences of all crates that are linked into programs: licences.py FOLDER CRATE...

The licences allow passing the programs on if these texts go with them. FOLDER/CRATE.txt has each text once, with the
crates that share it.
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def main():
    folder, crates = Path(sys.argv[1]), sys.argv[2:]
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version=1"]
    command += ["--filter-platform=x86_64-unknown-linux-musl"]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    ours = {packages[key]["name"]: key for key in metadata["workspace_members"]}
    for crate in crates:
        if crate not in ours:
            sys.exit(f"licences: the workspace has no crate {crate}")
        linked = [packages[key] for key in reachable(nodes, ours[crate])]
        (folder / f"{crate}.txt").write_text(notices(linked))


def notices(packages):
    """Returns each licence text of third-party packages, below the names of the packages that have it."""
    sharing = defaultdict(list)
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        if package["source"]:
            for text in texts(package):
                sharing[text].append(f"{package['name']} {package['version']}")
    line = "=" * 80
    return "".join(f"{line}\n{', '.join(names)}\n{line}\n\n{text}\n\n" for text, names in sharing.items())


def reachable(nodes, root):
    """Returns the ids of the crates that `root` links, directly or not. Counts all features, so it may return a few too
    many."""
    found, waiting = set(), [root]
    while waiting:
        key = waiting.pop()
        if key in found:
            continue
        found.add(key)
        for dependency in nodes[key]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    return found


def texts(package):
    """Returns the texts of a crate's licences; if it has none, the licence and authors in its metadata."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.upper().startswith(NAMES))
    found = [file.read_text(errors="replace").strip() for file in files]
    return found or [f"{package['license']}; by {', '.join(package['authors']) or 'its authors'}: {package['repository']}"]


main()
