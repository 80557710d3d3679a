#!/usr/bin/env python3
"""Prints which modules each crate's modules use, the lowest first, and fails if modules use each other in a circle.

A module is a file or folder; the modules of a folder make one graph. A module may use its parent's own file.
Cargo itself refuses circles of crates.

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
    """A file's code without comments and tests."""
    code = re.sub(r"//.*", "", file.read_text())
    return re.split(r"#\[cfg\(test\)\]\s*(?:#\[[^\n]*\]\s*)*mod tests \{", code)[0]


def used_in(code, path, root):
    """The names after a path, including those in braces, and the modules from which the folder's root exports them."""
    names = set(re.findall(rf"\b{path}(\w+)", code))
    for group in re.findall(rf"\b{path}\{{(.*?)\}};", code, re.S):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\{[^{}]*\}", "", group)))
    for module, exported in re.findall(r"pub(?:\(\w+\))? use (?:crate::|self::)?(\w+)::(.*?);", root, re.S):
        if names & set(re.findall(r"\w+", exported)):
            names.add(module)
    return names


def graphs_of(folder, path="crate::"):
    """For each folder, its modules, each with the modules of the same folder that it uses."""
    root = "".join(text_of(folder / name) for name in ("lib.rs", "main.rs", "mod.rs") if (folder / name).exists())
    graph = {}
    for file in folder.rglob("*.rs"):
        module = file.relative_to(folder).with_suffix("").parts
        if module[0] not in ("lib", "main", "mod", "bin") and "tests" not in module:
            depth = len(module) - (module[-1] == "mod")
            above = rf"(?:{path}|(?<!super::)(?:super::){{{depth}}})(?!super::)"
            graph.setdefault(module[0], set()).update(used_in(text_of(file), above, root))
    yield path, {module: (used & graph.keys()) - {module} for module, used in graph.items()}
    for module in graph:
        if (folder / module).is_dir():
            yield from graphs_of(folder / module, f"{path}{module}::")


def main():
    packages = json.loads(subprocess.check_output(COMMAND))["packages"]
    failed = False
    for package in packages:
        if sys.argv[1:] and package["name"] not in sys.argv[1:]:
            continue
        for path, graph in graphs_of(pathlib.Path(package["manifest_path"]).parent / "src"):
            name = package["name"] + path.removeprefix("crate").removesuffix("::")
            try:
                for module in graphlib.TopologicalSorter(graph).static_order():
                    print(f"{name}: {module} -> {' '.join(sorted(graph[module]))}".rstrip("-> "))
            except graphlib.CycleError as circle:
                print(f"{name}: a circle: {' -> '.join(reversed(circle.args[1]))}", file=sys.stderr)
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
