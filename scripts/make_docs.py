#!/usr/bin/env python3
"""Makes the site: README.md and docs/ as pages, the installed headers as reference.

    make_docs.py DOXYGEN ROOT INCLUDE VERSION OUT

INCLUDE has the headers as ferry/…; OUT is made anew, with index.html. Files and pictures that pages link to are copied to
OUT/files. Ends with 1 where doxygen has a warning or a link leads nowhere.
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r'(\]\(|<img src=")([^)"#\s]*)(?:#([\w-]+))?')
HREF = re.compile(r'(?:href|src)="([^"#?]+)')
HEADING = re.compile(r"^(#{1,6}) (.+)$")
FENCE = re.compile(r"^\s*```")
QUOTED = re.compile(r"(?<!`)`([^`]*'[^`]*)`(?!`)")
MAIN = Path("README.md")
LIST = Path("docs/README.md")
THEME = Path("/usr/share/doxygen-awesome-css")  # for small screens and a dark mode; without it the site has doxygen's own look


def label(path, heading=""):
    """A page, or a heading by what GitHub calls it: doxygen of Debian 12 makes numbers of headings."""
    if path == MAIN and not heading:
        return "index"
    anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    return "page_" + re.sub(r"\W", "_", path.with_suffix("").as_posix()) + ("_" + anchor if heading else "")


def page(path, text, root, site, pages):
    """A page or a section of it, with labels, and links to these; other files that it links to are copied."""
    def link(found):
        target = Path(os.path.normpath((root / path).parent / found[2])) if found[2] else root / path
        if ":" in found[2] or not target.is_relative_to(root):
            return found[0]
        if target.relative_to(root) in pages:
            return f"{found[1]}@ref {label(target.relative_to(root), found[3] or '')}"
        if not target.is_file():
            return found[0]
        copy = site / "files" / target.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(target, copy)
        return found[1] + copy.relative_to(site).as_posix()

    lines, code, known = [], False, set()
    for line in text.splitlines():
        code ^= bool(FENCE.match(line))
        if not code and not line.startswith("    "):
            line = LINK.sub(link, QUOTED.sub(r"``\1``", line))  # to doxygen a quote ends code between single ones
            heading = HEADING.match(line)
            name = heading and label(path, "" if heading[1] == "#" else heading[2])
            if name and name != "index" and name not in known:
                known.add(name)
                line += f" {{#{name}}}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def children(texts):
    """The pages below each page in the tree at the side: each page is below the first section of LIST, or page, that links to it."""
    below, placed = {}, {MAIN, LIST}

    def place(parent, text, path):
        targets = (Path(os.path.normpath(path.parent / found[2])) for found in LINK.finditer(text) if found[2])
        below[parent] = [page for page in dict.fromkeys(targets) if page in texts and page not in placed]
        placed.update(below[parent])
        return below[parent]

    near = []
    for section in sections(texts[LIST]):
        near += place(section, section, LIST)
    for path in near:
        near += place(path, texts[path], path)
    return below


def sections(text):
    return text.split("\n## ")[1:]


def hidden(pages):
    """Lines that put pages below the page that ends with them."""
    links = " ".join(f"@subpage {label(page)}" for page in pages)
    return f"\n@htmlonly <div hidden>@endhtmlonly {links} @htmlonly</div>@endhtmlonly\n" if pages else ""


def broken(site):
    for file in sorted(site.glob("*.html")):
        for target in sorted(set(HREF.findall(file.read_text(encoding="utf-8")))):
            if ":" not in target and not (site / target).exists():
                yield f"{file.name}: {target} is not there"


def main(doxygen, root, include, version, out):
    root, include, out = (Path(path).resolve() for path in (root, include, out))
    work = out.with_name(out.name + ".pages")
    for folder in (out, work):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    found = [root / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/NOTEBOOK.md")]
    found += (root / "docs").rglob("*.md")
    pages = [MAIN, *sorted(path.relative_to(root) for path in found)]
    texts = {path: (root / path).read_text(encoding="utf-8") for path in pages}
    below = children(texts)
    files = []
    for number, section in enumerate(sections(texts[LIST])):
        title, _, text = section.partition("\n")
        files.append(work / f"section_{number}.md")
        files[-1].write_text(f"# {title} {{#section_{number}}}\n{page(LIST, text, root, out, pages)}{hidden(below[section])}", encoding="utf-8")
    for path, text in texts.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(page(path, text, root, out, pages) + hidden(below.get(path, [])), encoding="utf-8")
    sheets = [THEME / "doxygen-awesome.css", THEME / "doxygen-awesome-sidebar-only.css", root / "scripts" / "site.css"] if THEME.is_dir() else []
    settings = (root / "scripts" / "Doxyfile").read_text() + f"""
PROJECT_NUMBER = {version}
OUTPUT_DIRECTORY = "{out}"
INPUT = {" ".join(f'"{file}"' for file in files)} "{work}" "{include}"
USE_MDFILE_AS_MAINPAGE = "{work / MAIN}"
STRIP_FROM_PATH = "{work}" "{include}"
STRIP_FROM_INC_PATH = "{include}"
HTML_EXTRA_STYLESHEET = {" ".join(f'"{sheet}"' for sheet in sheets)}
"""
    made = subprocess.run([doxygen, "-"], input=settings, text=True, cwd=work)
    shutil.rmtree(work)
    wrong = list(broken(out))
    print("\n".join(wrong) if wrong else f"{out / 'index.html'}")
    return 1 if made.returncode or wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
