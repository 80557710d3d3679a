"""Settings of every program, from its --help."""

import re

from programs import LEGACY_NODE, PROGRAMS, ROOT, code, help_of, table

NAMES = ("carve", "qr-service", "relay-service", "relay-home")
INTRODUCTION = """# Settings

The flags, variables and defaults of each program. A flag wins over its variable. An invalid value makes
the program exit with 2 before it binds a port; one line names the setting and the mistake. Times are written like
`250ms`, `10s` or `1m 30s`. Every Rust program has `--help` and most have `--version`, which the tables leave out."""
# A flag or an argument, with its explanation on the same line or below.
ENTRY = re.compile(r"^ {2,6}((?:--[\w-]+|<|\[).*?)(?:  +(\S.*))?$")
NOTE = re.compile(r" *\[(env|default|possible values): ([^]]*)\]")
COLUMNS = ["flag", "variable", "default", "meaning"]


def settings_page():
    parts = [INTRODUCTION]
    for name in NAMES:
        parts += of_program([str(PROGRAMS / name)], name)
    return "\n\n".join([*parts, *of_program(LEGACY_NODE, "legacy-node"), *of_proxy()])


def of_program(command, name):
    """A heading and a table for the program and for each of its commands."""
    said = help_of(command)
    for_all = entries(said)
    parts = [f"## {name}", sentence(said)]
    commands = re.findall(r"^  ([a-z]+)  ", said.partition("\nCommands:\n")[2].partition("\n\n")[0], re.MULTILINE)
    if for_all:
        parts.append(table(COLUMNS, for_all))
    listed = {}
    for subcommand in (word for word in commands if word != "help"):
        said = help_of([*command, subcommand])
        new = [entry for entry in entries(said) if entry not in for_all]
        again = [entry for entry in new if tuple(entry) in listed]
        new = [entry for entry in new if entry not in again]
        parts += [f"### {name} {subcommand}", sentence(said), *([table(COLUMNS, new)] if new else [])]
        for first in dict.fromkeys(listed[tuple(entry)] for entry in again):
            shared = [entry[0] for entry in again if listed[tuple(entry)] == first]
            flags = "every setting" if len(shared) == list(listed.values()).count(first) else ", ".join(shared)
            parts.append(f"Also takes {flags} of [`{name} {first}`](#{name}-{first}).")
        listed |= {tuple(entry): subcommand for entry in new}
    return parts


def sentence(said):
    """The program's first paragraph, as a sentence."""
    first = said.partition("\n\n")[0]
    return re.sub(r"<", "&lt;", " ".join(first.split()).rstrip(".") + ".")


def entries(said):
    """The rows of a table: flag, variable, default, meaning."""
    found = []
    for block in re.split(r"^(?:Options|Arguments):\n", said, flags=re.MULTILINE)[1:]:
        for line in re.split(r"^\S", block, flags=re.MULTILINE)[0].splitlines():
            if start := ENTRY.match(line):
                found.append([start[1].strip(), start[2] or ""])
            elif re.match(r" +-\w", line):
                found.append(["-", ""])  # --help and --version
            elif found:
                found[-1][1] += " " + line.strip()
    # Brackets enclose optional arguments.
    usage = re.sub(r"\[.*?\]", "", re.search(r"^Usage: (.*)", said, re.MULTILINE)[1])
    return [row(flag, text, flag in usage) for flag, text in found if flag != "-"]


def row(flag, text, required):
    notes = dict(NOTE.findall(text))
    text = NOTE.sub("", text).strip()
    if values := notes.get("possible values"):
        text += f": {values.replace(', ', ' or ')}"
    default = notes.get("default", "required" if required else "").replace('""', "")
    return [f"`{flag}`", code(notes.get("env", "").rstrip("=")), default if required else code(default), text]


def of_proxy():
    """A heading and a table for the image with nginx, whose start script lists its variables."""
    listed = re.compile(r"^#   ([A-Z_]+) \[(.*?)\] (.*)$", re.MULTILINE)
    rows = [[code(variable), code(default), meaning]
            for variable, default, meaning in listed.findall((ROOT / "proxy/start.sh").read_text())]
    return ["## proxy", "nginx in its container, as `start-proxy` starts it.", table(COLUMNS[1:], rows)]
