#!/usr/bin/env python3
"""Writes target/book, from which mdBook makes the documentation site: each Markdown file of the repository.

    docs/site.py            # make site
    docs/site.py --check    # writes nothing; lists broken links and anchors: make lint

docs/README.md is the site's table of contents: a heading is a part, and a link below it is a page. A file that is not
listed comes below the README of its folder, or in the last part. The pages of docs/reference/render.py become
docs/reference. Links to code begin with SOURCE_URL, such as https://github.com/OWNER/NAME; without it, they lead into
this checkout.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePath

ROOT = Path(__file__).resolve().parent.parent
LIST = PurePath("docs/README.md")
# Only the form of outside addresses is checked, because this check runs at every change.
OUTSIDE = re.compile(r"https?://[\w-]+(\.[\w-]+)*(:\d+)?(/[^\s]*)?(#\S*)?|mailto:\S+@\S+")
LINK = re.compile(r'(?<=\]\()[^)\s]+(?=\))|(?<=src=")[^"]+|(?<=srcset=")[^"]+')


def tracked():
    """Files under version control, and new ones."""
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {PurePath(name) for name in names.split("\0") if name and (ROOT / name).exists()}


WRITTEN = {PurePath("docs/reference", file.name): file for file in sorted((ROOT / "target/reference").glob("*.md"))}
FILES = tracked() | WRITTEN.keys()
FOLDERS = {folder for file in FILES for folder in file.parents}
PAGES = {file: WRITTEN.get(file, ROOT / file).read_text() for file in sorted(FILES) if file.suffix == ".md"}


def anchors(text):
    """The anchors of the headings, by the rule of code hosts and mdBook."""
    found = []
    for heading in headings(text):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        names = itertools.chain([slug], (f"{slug}-{number}" for number in itertools.count(1)))
        found.append(next(name for name in names if name not in found))
    return found


def headings(text):
    """The headings, as Markdown without their links' addresses."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    return [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in re.findall(r"^#+ (.+)$", text, re.M)]


def in_site(file):
    """A file's path in the site, without leading dots: hosts of static pages leave out hidden folders."""
    name = "index.md" if file.name == "README.md" else file.name
    return PurePath(*(part.removeprefix(".") for part in file.parent.parts), name)


def resolve(page, link):
    """The file or folder that a page's link leads to, and its anchor; None if the link leaves the repository. Raises
    ValueError if it is broken."""
    if re.match(r"[a-z]+:", link):
        if not OUTSIDE.fullmatch(link):
            raise ValueError(f"{page}: {link} is no address")
        return None
    name, _, anchor = link.partition("#")
    target = PurePath(os.path.normpath(page.parent / name)) if name else page
    if target not in FILES and target not in FOLDERS:
        raise ValueError(f"{page}: {link}: there is no {target}")
    if target / "README.md" in PAGES:
        target /= "README.md"
    if anchor and anchor not in anchors(PAGES.get(target, "")):
        raise ValueError(f"{page}: {link}: {target} has no such heading")
    return target, anchor


def rewrite(page, link, pictures):
    """Returns the link for the site, and adds a picture that it leads to to `pictures`."""
    resolved = resolve(page, link)
    if resolved is None:
        return link
    target, anchor = resolved
    if target.suffix in (".svg", ".webp"):
        pictures.add(target)
    elif target not in PAGES:
        if source := os.environ.get("SOURCE_URL"):
            return f"{source}/blob/HEAD/{target}"
        return os.path.relpath(target, "target/site" / in_site(page).parent)
    link = os.path.relpath(in_site(target), in_site(page).parent)
    return f"{link}#{anchor}" if anchor else link


def summary():
    """The table of contents, as mdBook reads it."""
    top = PurePath("README.md")
    lines, listed, placed = [], {}, {LIST}
    for line in PAGES[LIST].splitlines():
        if line.startswith("## "):
            part = listed.setdefault(line.removeprefix("## "), {})
        for title, link in re.findall(r"\[([^]]+)\]\(([^)\s]+)\)", line) if listed else []:
            target, _ = resolve(LIST, link) or (None, None)
            if target in PAGES and target not in placed:
                placed.add(target)
                # The decisions' links are their numbers.
                part[target] = headings(PAGES[target])[0] if title.isdigit() else title

    below = {}
    for page in (page for page in PAGES if page not in placed):
        folders = page.parent.parents if page.name == "README.md" else (page.parent, *page.parent.parents)
        above = next((folder / "README.md" for folder in folders if folder / "README.md" in PAGES), top)
        if above == LIST:
            sys.exit(f"{LIST} does not list {page}")
        below.setdefault(above, []).append(page)

    def add(page, title, depth):
        lines.append(f"{'  ' * depth}- [{title}]({in_site(page)})")
        for other in below.get(page, []):
            add(other, headings(PAGES[other])[0], depth + 1)

    listed["Folders"] = {page: headings(PAGES[page])[0] for page in (LIST, *below.pop(top, []))}
    for part, entries in listed.items():
        lines.append(f"\n# {part}\n")
        for page, title in entries.items():
            add(page, title, 0)
    return "\n".join(lines) + "\n"


def main():
    pictures, mistakes, site = set(), [], {}
    for page, text in PAGES.items():
        def replace(link, page=page):
            try:
                return rewrite(page, link[0], pictures)
            except ValueError as mistake:
                mistakes.append(str(mistake))
                return link[0]
        site[in_site(page)] = LINK.sub(replace, text)
    if mistakes:
        sys.exit("\n".join(mistakes))
    site[PurePath("SUMMARY.md")] = summary()
    if sys.argv[1:] == ["--check"]:
        return
    book = ROOT / "target/book"
    shutil.rmtree(book, ignore_errors=True)
    for file, text in site.items():
        (book / file).parent.mkdir(parents=True, exist_ok=True)
        (book / file).write_text(text)
    for picture in pictures:
        (book / in_site(picture)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / picture, book / in_site(picture))


main()
