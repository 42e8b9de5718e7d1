#!/usr/bin/env python3
"""Puts ferry's public headers under include/ferry.

    install_headers.py ROOT HEADER…                for `meson install`: copies
    install_headers.py --link FOLDER ROOT HEADER…  links in FOLDER, for programs of the tree that include as users do

Users do not see components: ops/math/reduce.hpp is installed as <ferry/ops/reduce.hpp>. In the tree, headers include each other
from the root ("graph/graph.hpp"). Installed they say <ferry/graph/graph.hpp>, so that ferry adds a single name to a user's
include path, and a user's own folder `graph` is never taken for ferry's.
"""
import os
import re
import shutil
import sys
from pathlib import Path, PurePath

QUOTED = re.compile(r'^(\s*#\s*include\s*)"([^"]+)"', re.MULTILINE)
# The exceptions: components that users do see.
SHOWN = ["ops/onnx"]
# Folders whose headers users see in another one, where they were before.
SHOWN_IN = {"plan": "placement"}


def installed(header):
    """Where a header, named from the root, lies in include/ferry."""
    parts = PurePath(header).parts
    folder = next((part for part in SHOWN if header.startswith(part + "/")), parts[0] if len(parts) > 1 else "")
    return (PurePath(SHOWN_IN.get(folder, folder)) / parts[-1]).as_posix()


def installed_paths(headers):
    """{path from the root: path in include/ferry}. Ends the program if two headers would have the same path."""
    paths = {header: installed(header) for header in headers}
    if len(set(paths.values())) != len(paths):
        raise SystemExit("two public headers have one name: " + ", ".join(sorted(paths)))
    return paths


def from_root(root, headers):
    return sorted({Path(os.path.normpath(header)).relative_to(root).as_posix() for header in headers})


def install(root, headers):
    target = Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"]) / "include" / "ferry"
    paths = installed_paths(from_root(root, headers))
    for header, path in paths.items():
        out = target / path
        out.parent.mkdir(parents=True, exist_ok=True)
        text = (Path(root) / header).read_text()
        out.write_text(QUOTED.sub(lambda found: f"{found[1]}<ferry/{paths.get(found[2], found[2])}>", text))
        out.chmod(0o644)


def link(folder, root, headers):
    target = Path(folder) / "ferry"
    if target.is_symlink():
        target.unlink()
    shutil.rmtree(target, ignore_errors=True)
    for header, path in installed_paths(from_root(root, headers)).items():
        out = target / path
        out.parent.mkdir(parents=True, exist_ok=True)
        out.symlink_to(Path(root) / header)


if __name__ == "__main__":
    if sys.argv[1] == "--link":
        link(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        install(sys.argv[1], sys.argv[2:])
