#!/usr/bin/env python3
"""Checks rules that make it easy to find one's way in the source tree: prints each offence and ends with 1 if there is any.

    tree_rule.py ROOT

No folder has more than 30 files, not counting subfolders; no two headers define a type of the same name at namespace
scope, whatever their namespaces; and only graph/ and ops/ may compare an op's address (`== &kConcat`): what other code
needs to know about an op is a field of OpDef.
"""
import collections
import re
import sys
from pathlib import Path

CORE = ["base", "graph", "ops", "kernels", "comm", "plan", "placement", "executor", "runner"]
WITH_COMPONENTS = [*CORE, "samples", "bench"]
MOST_FILES = 30
KNOW_OPS = ["graph", "ops"]
TYPE = re.compile(r"^(?:struct|class|enum class|enum)\s+(?:\[\[\w+\]\]\s+)?([A-Z]\w*)\s*(?:final)?\s*(?::(?!:)[^;{]*)?\{|"
                  r"^using\s+([A-Z]\w*)\s*=([^;]*);", re.MULTILINE)
BY_ADDRESS = re.compile(r"[=!]= ?&k[A-Z]\w*")


def crowded(root):
    for top in WITH_COMPONENTS:
        for folder in [root / top, *sorted(path for path in (root / top).rglob("*") if path.is_dir())]:
            files = [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
            if len(files) > MOST_FILES:
                yield f"{folder.relative_to(root)}: {len(files)} files, {MOST_FILES} may be: divide it into components"


def sources(root, suffixes):
    for top in CORE:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in suffixes:
                yield path, path.read_text(encoding="utf-8")


def twice(root):
    places = collections.defaultdict(list)
    for path, text in sources(root, {".hpp"}):
        for match in TYPE.finditer(text):
            places[match[1] or match[2]].append((path.relative_to(root).as_posix(), match[3]))
    for name, found in sorted(places.items()):
        same = found[0][1] is not None and all(meaning == found[0][1] for _, meaning in found)  # the same alias again
        if len({file for file, _ in found}) > 1 and not same:
            yield f"type {name} is in {' and in '.join(sorted(file for file, _ in found))}"


def by_address(root):
    for path, text in sources(root, {".hpp", ".cpp"}):
        name = path.relative_to(root)
        if name.parts[0] in KNOW_OPS:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if BY_ADDRESS.search(line.split("//")[0]):
                yield f"{name}:{number}: {line.strip()}   give OpDef a field for it"


def main(root):
    root = Path(root)
    found = [*crowded(root), *twice(root), *by_address(root)]
    print("\n".join(found) if found else "the tree is in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
