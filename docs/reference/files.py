"""Keys of route files, from their schema, and the standard gates, from their file."""

import json
import re
import tomllib

from programs import ROOT, code, table
from schema import limits

GATES = {"gates.toml": "Standard gates", "gates-session.toml": "Gates of a route of sessions"}
CARVE = """## carve.toml

The keys of `carve.toml`, a file next to the route files: limits for clients, and how nginx passes requests without a
route to the app. This table is made from [its schema](../../proxy/routes/carve.schema.json)."""
ROUTES = """# Keys of route files

Every key that a route file may have. [Route files](../../proxy/routes/README.md) explains keys, fallbacks and sessions
with examples. This page is made from [the schema](../../proxy/routes/route.schema.json), which editors check a file
against."""
INTRODUCTION = """# Gates

The tests and gates that each step of a ramp must pass. [Gates and tests](../gates.md) explains how they judge;
[a route file](../../proxy/routes/README.md) changes them by name, leaves them out or adds its own."""


def routes_page():
    schema = json.loads((ROOT / "proxy/routes/route.schema.json").read_text())
    rows = list(keys(schema, schema["$defs"], ""))
    carve = json.loads((ROOT / "proxy/routes/carve.schema.json").read_text())
    of_carve = list(keys(carve, carve["$defs"], ""))
    head = ["key", "default", "values", "meaning"]
    return "\n\n".join([ROUTES, table(head, rows), *judges(schema["$defs"]), CARVE, table(head, of_carve)])


def keys(schema, definitions, prefix):
    """A row for each key, including those in tables."""
    for name, key in schema["properties"].items():
        inner = definition(key, definitions)
        if "properties" in inner:
            yield from keys(inner, definitions, f"{prefix}{name}.")
            continue
        constants = {one["const"]: one["description"] for one in inner.get("oneOf", ()) if "const" in one}
        explained = " ".join(f"`{constant}`: {text}" for constant, text in constants.items())
        names = next((one["enum"] for one in inner.get("anyOf", ()) if "enum" in one), ())
        values = ", ".join(f"`{value}`" for value in (*constants, *names)) + (", or a table" if names else "")
        text = f"{key['description']} {explained}"
        yield [f"`{prefix}{name}`", default_of(name, schema), values or limits(key), text]


def definition(key, definitions):
    """The definition that a key refers to, directly, for its list's items, or if it may be null."""
    for place in (key, key.get("items", {}), *key.get("anyOf", ())):
        if "$ref" in place:
            return definitions[place["$ref"].rpartition("/")[2]]
    return {}


def default_of(name, schema):
    if name in schema.get("required", ()):
        return "required"
    value = schema["properties"][name].get("default")
    return "" if value in (None, {}) else f"`{json.dumps(value)}`"


def judges(definitions):
    """A table for the settings of each judge."""
    rows = []
    for judge in definitions["JudgeSettings"]["anyOf"][1]["oneOf"]:
        kind = judge["properties"]["kind"]["const"]
        for name, key in judge["properties"].items():
            if name != "kind":
                text = key.get("description", "")
                rows.append([f"`{kind}`", f"`{name}`", default_of(name, judge), limits(key), text])
    text = "A judge with settings is a table: `judge = { kind = \"json\", ignore = [\"/id\"] }`."
    return ["## Settings of judges", text, table(["judge", "key", "default", "values", "meaning"], rows)]


def gates_page():
    parts = [INTRODUCTION]
    for name, title in GATES.items():
        file = ROOT / "proxy/evidence" / name
        content = tomllib.loads(file.read_text())
        parts += [f"## {title}", f"From [{name}](../../proxy/evidence/{name}).", *comment(file.read_text())]
        settings = ", ".join(f"`{key} = {json.dumps(value)}`" for key, value in content.items()
                             if not isinstance(value, list))
        parts += [f"For all: {settings}.", "A test compares the two sides:", tests(content["test"])]
        parts += ["A gate compares a number with a limit:", gates(content["gate"])]
    return "\n\n".join(parts)


def comment(text):
    """The comment at the file's head: paragraphs, and indented lists unchanged."""
    head = re.match(r"(?:#.*\n)+", text)[0]
    for paragraph in re.sub(r"^# ?", "", head, flags=re.MULTILINE).strip().split("\n\n"):
        yield f"```text\n{paragraph}\n```" if paragraph.startswith("  ") else paragraph


def tests(entries):
    names = ("counts", "excess", "absolute", "above", "proof")
    rows = [[f"`{entry['name']}`", entry["about"], *(code(str(entry.get(name, ""))) for name in names)]
            for entry in entries]
    return table(["test", "of", *names], rows)


def gates(entries):
    rows = []
    for entry in entries:
        query = " ".join(entry["query"].split())
        passes = " ".join(f"{entry['compare']} {entry['limit']}".split())
        rows.append([f"`{entry['name']}`", entry["about"], f"`{query}`", f"`{passes}`",
                     entry.get("otherwise", "roll back"), entry.get("judge", "with enough")])
    return table(["gate", "number", "query", "passes", "otherwise", "judged"], rows)
