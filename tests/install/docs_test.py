#!/usr/bin/env python3
"""`ninja docs` makes the site without a warning, and no link of it leads nowhere; it has pages by section, headers and pictures.

    docs_test.py SOURCE_ROOT INCLUDE_FOLDER
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, INCLUDE = map(Path, sys.argv[1:3])
SKIPPED = 77

doxygen = shutil.which("doxygen")
if doxygen is None:
    print("skipped: there is no doxygen here")
    sys.exit(SKIPPED)
with tempfile.TemporaryDirectory() as folder:
    site = Path(folder) / "site"
    done = subprocess.run([sys.executable, ROOT / "scripts" / "make_docs.py", doxygen, ROOT, INCLUDE, "1.2.3", site],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr, done.stderr
    index = (site / "index.html").read_text()
    assert "1.2.3" in index and 'href="page_docs_getting_started_first_program.html"' in index, index
    assert 'src="files/docs/images/add.svg"' in index and (site / "files/docs/images/add.svg").exists(), index
    tree = (site / "navtreedata.js").read_text()
    top = re.findall(r'^    \[ "([^"]*)", "(?:section_|page_)', tree, re.MULTILINE)
    assert top[:3] == ["Getting started", "Tutorials", "User guide"] and top[-2:] == ["Internals", "Documentation"], top
    assert ('href="site.css"' in index) == Path("/usr/share/doxygen-awesome-css").is_dir(), index
    graph = (site / "classferry_1_1Graph.html").read_text()
    assert "A dataflow graph" in graph and "ferry/graph/graph.hpp" in graph, graph
print("passed")
