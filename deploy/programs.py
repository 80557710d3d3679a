#!/usr/bin/env python3
"""Checks that `setup.sh` installs each program that a test, a target of the Makefile or a script starts by name, for
the purposes which that target asks for; and that each program of `setup.sh` is started somewhere.

It reads sources as text. Where it does not see that a program is started, the second check fails.
"""

import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
# Debian's base with git and make, what README.md asks for, and programs of this repository.
BASE = set("""apt-cache apt-get awk bash basename cat chmod chroot cksum cmp comm command cp cut date dirname dpkg
    dpkg-deb env find git grep gzip head hostname id install ln ls make mkdir mktemp mount mountpoint mv nproc openssl
    printf pwd readlink realpath rm rmdir sed seq setpriv sh sha256sum sleep sort stat tail tar taskset tee timeout
    touch tr umount uname uniq unshare wc which xargs
    cargo gofmt node npm rustup carve edge qr-service relay-service relay-home shadow""".split())
# A shell's own; and what setup.sh installs by other means than apt, or asks for by an option such as HELM.
SHELL = set(""". break case cd continue declare define do done echo elif else end endef esac eval exec exit export false
    fi filter for foreach if kill local mapfile or read return set shift source test then time trap true until wait
    while buildah cosign debootstrap die helm hadolint mdbook podman promtool sudo syft systemctl twine""".split())
# Programs of packages whose name setup.sh does not look for.
ALSO = {"build-essential": "gcc nm readelf strip", "default-jdk-headless": "java", "procps": "pkill",
        "poppler-utils": "pdftocairo", "prometheus": "promtool", "python3-venv": "python3"}
# Where other languages start a program.
STARTED = re.compile(r"""(?:Command::new|tool|pass|is_on_path|which|spawn(?:Sync)?|execFile(?:Sync)?)\(\s*
    (?:Path::new\()?["']([a-z][\w.+-]*)["'] | callgrind\(Path::new\("(\w+)" | "--",\ "([a-z]+)" | Configured\("(\w+)"
    | vec!\["(java)" | \{\ "(gcc)"\ \} | BROWSERS\ =\ \['(chromium) | FLAGS\ =\ \["(\w+)["]""", re.X)
# What else needs something of setup.sh.
NEEDS = [(r"\$\(CARGO\)|cargo build|PLAIN\)", "cc"), (r"-m venv", "python3:ensurepip"), (r"pkg_config::", "pkg-config"),
         (r"ip link set lo", "ip"), (r"use zxingcpp", "cmake c++"), (r"pillow\.py", "/PIL"), (r"include <png.h>", "/png.h"),
         (r"include <qrencode.h>", "/qrencode.h"), (r"jna\.jar", "/jna.jar javac"),
         (r"load_module.*lua", "/ngx_http_lua_module.so"), (r"image(create|png)\(", "/php-gd.list"),
         (r"BaconQrCode", "/autoload.php"), (r"php-fpm\*", "php-fpm"), (r"unknown-linux-musl", "musl-gcc"),
         (r"require 'rqrcode'", "/ruby-rqrcode.list /ruby-rack.list"),
         (r"ip link set lo", "ip"), (r"\(\"qemu-", "qemu-aarch64-static")]
# The target whose purposes count for files that the Makefile does not name; the first that fits.
TARGETS = [(r"nightly|/fuzz/|/gateway", "test-all"), (r"^loadtest/(src|floors)/.*chaos", "chaos"),
           (r"^loadtest/(src|floors)/", "ladder"), (r"^qr-service/bench/", "bench"),
           (r"^examples/rungs/(?!test)", "setup-languages"), (r"^deploy/release/", "release-rehearsal"),
           (r"^deploy/k8s/tests/(?!manifest_rules|start)", "deploy-test"), (r"\.sh$|^\.ci/", ""), (r"", "test")]


def commands(script):
    """Returns the words in command position of a shell script."""
    script = re.sub(r"\\\n", " ", re.sub(r"(^|\s)#.*", r"\1", script, flags=re.M))
    script = re.sub(r"'[^']*'", "''", re.sub(r"\$\(\([^()]*\)\)", "0", script))
    substitution = r"\$\(((?:[^()]|\([^()]*\))*)\)"
    inner = re.findall(substitution, script)
    script = re.sub(r"\"(?:[^\"\\]|\\.)*\"", '""', re.sub(substitution, "0", script))
    start = r"(?:^|[;|&(])[\t @]*(?:(?:then|do|else|if|while|until|exec|sudo|env|!|time) +|\w+=\S* +)*"
    found = set(re.findall(start + r"([a-z][\w.+-]*)(?=[ ;|&]|$)", script, flags=re.M))
    return found.union(*map(commands, inner)) - SHELL


def needed(name, text):
    """Returns what a file, or a target's recipe, starts and needs."""
    is_shell = re.search(r"\.sh$|^(\.ci/|examples/rungs/run$|Makefile)", name)
    started = commands(text) if is_shell else set().union(*STARTED.findall(text)) - {""}
    implied = {item for pattern, items in NEEDS if re.search(pattern, text) for item in items.split()}
    return (started | implied) - BASE - FUNCTIONS


def looked_for(found):
    """Returns the names by which setup.sh finds a package; of a file that is no program, the end of its path."""
    return {re.sub(r"^/.*?(/?[^/]+)$", lambda path: path[1].strip("/") if "/bin/" in name else path[1], name)
            for name in found.split("|")}


def provided(purposes):
    """Returns what setup.sh looks for, for these purposes and what they include."""
    purposes = list(purposes)
    for purpose in purposes:
        included = re.search(rf"^    (?:\w+ \| )*{purpose}(?: \| \w+)*\) (.*);;", SETUP, flags=re.M)
        purposes += re.findall(r"expand (\w+)", included[1]) if included else []
    pairs = [pair.split("=") for purpose, row in ROWS if purpose in purposes for pair in row.split()]
    names = {name for found, _ in pairs for name in looked_for(found)}
    return names.union(*(ALSO.get(package, "").split() for _, package in pairs))


def recipes():
    """Returns the Makefile's recipes by target, with those that they call and the definitions that they use."""
    lines = (TOP / "Makefile").read_text()
    found = dict(re.findall(r"^([a-z-]+):.*\n((?:\t.*\n)+)", lines, flags=re.M))
    defined = dict(re.findall(r"^define (\w+)\n(.*?)^endef", lines, flags=re.M | re.S))
    return {target: re.sub(r"\$\((?:call )?(\w+)[^()]*\)", lambda use: defined.get(use[1], use[0]), recipe)
            for target, recipe in found.items()}


SETUP = (TOP / "deploy/setup.sh").read_text()
ROWS = [line.partition(" ")[::2] for line in re.search(r"packages_by_purpose='\n(.*?)'", SETUP, re.S)[1].splitlines()]
NAMES = subprocess.run(["git", "ls-files"], cwd=TOP, check=True, capture_output=True, text=True).stdout.split()
OTHERS = r"(?!deploy/programs)(.*\.(rs|m?js|py|php|rb|c|conf|sh)$|\.ci/|examples/rungs/run$)"
TEXTS = {name: (TOP / name).read_text() for name in NAMES if re.match(OTHERS, name) and (TOP / name).is_file()}
FUNCTIONS = {name for text in TEXTS.values() for name in re.findall(r"^([a-z_]+)\(\)", text, flags=re.M)}
RECIPES = recipes()


def purposes_of(text):
    """Returns what a recipe asks setup.sh for: itself, by the scripts that it starts, or by other targets."""
    scripts = [TEXTS[name] for name in NAMES if name.endswith(".sh") and name in text and name != "deploy/setup.sh"]
    asked = " ".join(re.findall(r"(?:\$\(SETUP\)|deploy/setup\.sh) (.*)", "\n".join([text, *scripts])))
    called = [RECIPES[target] for target in re.findall(r"\$\(MAKE\) ([a-z-]+)", text) if target in RECIPES]
    purposes = re.findall(r"^    ([a-z |]+)\)", SETUP, flags=re.M)
    known = {purpose for several in purposes for purpose in several.split(" | ")}
    return (known & set(re.findall(r"[a-z]+", asked))).union(*map(purposes_of, called))


def places():
    """Yields each place that starts programs, what it needs, and the target whose purposes must have it."""
    for target, recipe in RECIPES.items():
        asks = "test-all" if target.startswith("all-") else target
        yield f"make {target}", needed("Makefile", recipe), asks
        for name in NAMES:
            if name.endswith(".sh") and name in recipe:
                yield f"make {target}: {name}", needed(name, TEXTS[name]), asks
    for name, text in TEXTS.items():
        target = next(target for pattern, target in TARGETS if re.search(pattern, name))
        first, _, nightly = text.partition("\nmod nightly {")
        if target:
            yield name, needed(name, first), target
            yield name, needed(name, nightly), "test-all"


def main():
    problems, started = set(), set()
    for place, items, target in places():
        started |= items
        missing = items - provided(purposes_of(RECIPES[target]))
        problems |= {f"{place} needs {item}: make {target} does not install it by setup.sh" for item in missing}
    for purpose, row in ROWS:
        for found, package in (pair.split("=") for pair in row.split()):
            names = {*looked_for(found), *ALSO.get(package, "").split()}
            if not started & names and not names <= BASE | SHELL:
                problems.add(f"setup.sh installs {package} for {purpose}, but nothing is seen to start {found}")
    print("\n".join(sorted(problems)), end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
