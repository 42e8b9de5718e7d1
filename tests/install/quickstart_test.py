#!/usr/bin/env python3
"""./quickstart prints the error of Meson and ends where the build folder cannot be set up.

    quickstart_test.py SOURCE_ROOT
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(sys.argv[1])
COMMANDS = {"dpkg-query": "echo installed", "meson": "echo 'meson.build:1:0: ERROR: Dependency \"z\" not found'; exit 1"}

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    shutil.copy(ROOT / "quickstart", folder)
    for command, text in COMMANDS.items():
        (folder / command).write_text(f"#!/bin/sh\n{text}\n")
        (folder / command).chmod(0o755)
    done = subprocess.run([folder / "quickstart"], env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    assert done.returncode == 2 and 'ERROR: Dependency "z" not found' in done.stderr, (done.returncode, done.stdout, done.stderr)
    assert "Building" not in done.stdout, done.stdout
print("passed")
