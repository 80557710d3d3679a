#!/usr/bin/env python3
"""Sets the defaults of a chart that chart.py has written to the digests of pushed images, for a release.

It needs only Python, since it runs in the job that signs a release.
"""

import argparse
import json
import sys
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chart", type=Path, help="its folder")
    parser.add_argument("images", type=Path, help="lines of NAME DIGEST, as deploy/images.sh prints them")
    parser.add_argument("--without", nargs="*", default=[], metavar="IMAGE", help="images that were not pushed")
    arguments = parser.parse_args()
    pin(arguments.chart, arguments.images.read_text(), arguments.without)


def pin(chart, pushed, without=()):
    """Writes the registry and the digests into values.yaml."""
    schema = json.loads((chart / "values.schema.json").read_text())
    ours = schema["properties"]["image"]["properties"]["digests"]["propertyNames"]["enum"]
    images = [line.split() for line in pushed.splitlines()]
    [registry] = {name.rpartition("/")[0] for name, _ in images}
    digests = {name.rpartition("/")[2]: digest for name, digest in images}
    missing = [name for name in ours if name not in digests and name not in without]
    if missing:
        sys.exit(f"pin: no digest of {', '.join(missing)}")
    digests = json.dumps({name: digests[name] for name in ours if name in digests})
    # Only in the section `image`: thirdParty also has a registry and digests.
    before, image, after = (chart / "values.yaml").read_text().partition("\nimage:\n")
    text, end, after = after.partition("\n\n")
    for default, value in [("registry: localhost", f"registry: {registry}"), ("digests: {}", f"digests: {digests}")]:
        if text.count(f"  {default}\n") != 1:
            sys.exit(f"pin: image in values.yaml has not one line '{default}'")
        text = text.replace(f"  {default}\n", f"  {value}\n")
    (chart / "values.yaml").write_text(before + image + text + end + after)


if __name__ == "__main__":
    main()
