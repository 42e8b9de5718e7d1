#!/usr/bin/env python3
"""Installs ferry's public headers under include/ferry, for `meson install`.

In the tree, headers include each other from the root ("graph/graph.hpp"). Installed they say <ferry/graph/graph.hpp>,
so that a user's include path gets one name of ours and no folder of a user's own can stand in for one of ferry's.
"""
import os
import re
import sys
from pathlib import Path

QUOTED = re.compile(r'^(\s*#\s*include\s*)"([^"]+)"', re.MULTILINE)


def main(root, headers):
    root = Path(root)
    target = Path(os.environ["MESON_INSTALL_DESTDIR_PREFIX"]) / "include" / "ferry"
    for header in map(Path, headers):
        out = target / header.relative_to(root)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(QUOTED.sub(r"\1<ferry/\2>", header.read_text()))
        out.chmod(0o644)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
