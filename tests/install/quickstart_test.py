#!/usr/bin/env python3
"""./quickstart, without the build: what it runs afterwards works, and where the build folder cannot be set up it prints the error.

    quickstart_test.py SOURCE_ROOT BUILD_FOLDER
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, BUILD = Path(sys.argv[1]), Path(sys.argv[2]).absolute()
FAILS = "echo 'meson.build:1:0: ERROR: Dependency \"z\" not found'; exit 1"


def quickstart(folder, meson):
    """Runs it in `folder`, which has what is built already; nothing is installed or built."""
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    shutil.copy(ROOT / "quickstart", folder)
    (folder / "build" / "samples").mkdir(parents=True)
    for built in "ferry", "samples/fashion.pb", "samples/add.pb", "samples/contact_sheet":
        (folder / "build" / built).symlink_to(BUILD / built)
    for command, text in {"dpkg-query": "echo installed", "meson": meson, "ninja": ""}.items():
        (folder / command).write_text(f"#!/bin/sh\n{text}\n")
        (folder / command).chmod(0o755)
    return subprocess.run([folder / "quickstart"], env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)


with tempfile.TemporaryDirectory() as name:
    done = quickstart(Path(name), FAILS)
    assert done.returncode == 2 and 'ERROR: Dependency "z" not found' in done.stderr, (done.returncode, done.stdout, done.stderr)
    assert "Building" not in done.stdout, done.stdout
if Path("/usr/share/datasets/fashion-mnist").is_dir():
    with tempfile.TemporaryDirectory() as name:
        done = quickstart(Path(name), "")
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        for printed in "accuracy = 0.", "task 1: ", "Next:":
            assert printed in done.stdout, (printed, done.stdout)
print("passed")
