#!/usr/bin/env python3
"""Prints which modules of each crate use which, the lowest first, and fails if they use each other in a circle.

A module is a file or folder directly below src/: what is in a folder may use its neighbours and its parent. Cargo itself
refuses circles of crates.

    docs/modules.py            every crate of the workspace
    docs/modules.py rollout    only this one
"""

import graphlib
import json
import pathlib
import re
import subprocess
import sys

COMMAND = ["cargo", "metadata", "--format-version=1", "--no-deps"]


def text_of(file):
    """The code of a file, without comments and what only tests have."""
    code = re.sub(r"//.*", "", file.read_text())
    return re.split(r"#\[cfg\(test\)\]\s*(?:#\[[^\n]*\]\s*)*mod tests \{", code)[0]


def used_in(code, root):
    """The names after `crate::`, those in braces too, each with the module that the crate's root has it from."""
    names = set(re.findall(r"\bcrate::(\w+)", code))
    for group in re.findall(r"\bcrate::\{(.*?)\};", code, re.S):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\{[^{}]*\}", "", group)))
    for module, exported in re.findall(r"pub(?:\(crate\))? use (?:crate::|self::)?(\w+)::(.*?);", root, re.S):
        if names & set(re.findall(r"\w+", exported)):
            names.add(module)
    return names


def graph_of(src):
    """Each module of a crate with those that it uses."""
    root = "".join(text_of(src / name) for name in ("lib.rs", "main.rs") if (src / name).exists())
    graph = {}
    for file in src.rglob("*.rs"):
        module = file.relative_to(src).with_suffix("").parts[0]
        if module not in ("lib", "main", "bin"):
            graph.setdefault(module, set()).update(used_in(text_of(file), root))
    return {module: (used & graph.keys()) - {module} for module, used in graph.items()}


def main():
    packages = json.loads(subprocess.check_output(COMMAND))["packages"]
    failed = False
    for package in packages:
        if sys.argv[1:] and package["name"] not in sys.argv[1:]:
            continue
        graph = graph_of(pathlib.Path(package["manifest_path"]).parent / "src")
        try:
            for module in graphlib.TopologicalSorter(graph).static_order():
                print(f"{package['name']}: {module} -> {' '.join(sorted(graph[module]))}".rstrip("-> "))
        except graphlib.CycleError as circle:
            print(f"{package['name']}: a circle: {' -> '.join(reversed(circle.args[1]))}", file=sys.stderr)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
