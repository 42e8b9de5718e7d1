#!/usr/bin/env python3
"""Checks the pages: prints each offence and ends with 1 if there is any. docs_rule.py ROOT

Every relative link and anchor of a page leads somewhere, and a link with the name of a page leads to that page. Every page of
docs/ is at most three links away from README.md and begins with "This page". Outside of reference, internals and samples a
page has at most 8 kB; README.md has at most 80 lines. Outside of tables, pictures and code no line has more than 120 characters.
"""
import os
import re
import sys
from pathlib import Path

MOST_LINKS = 3
MOST_BYTES = 8192
MOST_CHARACTERS = 120
MOST_LINES = 80  # of README.md
# Pages that record history; their lines stay as they are.
RECORDS = ("CHANGELOG.md", "bench/NOTEBOOK.md", "docs/internals/decisions/")
LONG_PAGES = ("docs/reference/", "docs/internals/", "docs/samples/")

LINK = re.compile(r'(?:\]\(|(?:src|href)=")([^)"\s]+)(?:\s+"[^"]*")?[)"]')
NAMED = re.compile(r"\[([\w./-]+\.md)\]\(([^)#]+)")
HEADING = re.compile(r"^#{1,6} (.+?)\s*#*$")


def prose(text):
    """Yields (number, line) of each line outside of code."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and fence in (None, mark[1]):
            fence = None if fence else mark[1]
        elif fence is None and not line.startswith("    "):
            yield number, line


def anchors(text):
    """The anchors that GitHub gives to the headings of a page."""
    found = set()
    for _, line in prose(text):
        if heading := HEADING.match(line):
            said = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            name = re.sub(r"[^\w\- ]", "", said).replace(" ", "-")
            copies = [f"{name}-{i}" for i in range(1, len(found) + 1)]
            found.add(next(one for one in [name, *copies] if one not in found))
        found.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return found


def links(text):
    """Yields (line number, target) of each link to a file of the tree."""
    for number, line in prose(text):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if not re.match(r"[a-z][a-z0-9+.-]*:|//", target):
                yield number, target


def resolve(page, target):
    """The path in the tree, and the anchor, of a link on a page."""
    path, _, anchor = target.partition("#")
    return (os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page), anchor


def dead_links(root, pages):
    heads = {page: anchors(text) for page, text in pages.items()}
    for page, text in pages.items():
        for number, target in links(text):
            path, anchor = resolve(page, target)
            if not (root / path).exists():
                yield f"{page}:{number}: {target} leads nowhere"
            elif anchor and path in heads and anchor not in heads[path]:
                yield f"{page}:{number}: {path} has no heading #{anchor}"


def misnamed_links(page, text):
    for number, line in prose(text):
        for name, target in NAMED.findall(line):
            if Path(name).name != Path(target).name:
                yield f"{page}:{number}: the link {name} leads to {target}"


def far_pages(pages):
    """Pages of docs/ that are more than MOST_LINKS away from README.md."""
    seen = near = {"README.md"} & pages.keys()
    for _ in range(MOST_LINKS):
        near = {resolve(page, target)[0] for page in near for _, target in links(pages[page])} & pages.keys() - seen
        seen = seen | near
    for page in pages:
        if page.startswith("docs/") and page not in seen:
            yield f"{page}: more than {MOST_LINKS} links away from README.md: add it to docs/README.md"


def first_words(page, text):
    lines = [line for line in text.splitlines() if line.strip()]
    if page.startswith("docs/") and not (len(lines) > 1 and lines[0].startswith("# ") and lines[1].startswith("This page ")):
        yield f'{page}: begin with a title, then "This page describes …. Use it to …."'


def looks(page, text):
    """Offences of one page against its length."""
    size = len(text.encode())
    if page.startswith("docs/") and not page.startswith(LONG_PAGES) and size > MOST_BYTES:
        yield f"{page}: {size} bytes, {MOST_BYTES} may be: divide it by topic"
    if page == "README.md" and text.count("\n") > MOST_LINES:
        yield f"{page}: {text.count(chr(10))} lines, {MOST_LINES} may be: move a part to docs/"
    for number, line in prose(text):
        if len(line) > MOST_CHARACTERS and not line.startswith(("|", "![", "<img")):
            yield f"{page}:{number}: {len(line)} characters, {MOST_CHARACTERS} may be"


def main(root):
    root = Path(root)
    files = [*root.glob("*.md"), *(path for top in ("docs", "bench", "samples", "tests") for path in (root / top).rglob("*.md"))]
    pages = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in sorted(files)}
    found = [*dead_links(root, pages), *far_pages(pages)]
    for page, text in pages.items():
        found += first_words(page, text)
        if not page.startswith(RECORDS):
            found += [*misnamed_links(page, text), *looks(page, text)]
    print("\n".join(found) if found else f"{len(pages)} pages keep to the rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
