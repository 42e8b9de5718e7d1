"""Runs a test program once more in three hosts, which are network namespaces of this machine."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

NETNS = str(Path(__file__).resolve().parents[2] / "scripts" / "netns.sh")
HOSTS = 3


def missing():
    """What this machine lacks for it; "" for nothing."""
    return subprocess.run([NETNS, "missing"], capture_output=True, text=True, check=True, timeout=100).stdout.strip()


def main(inside, what="three hosts", lacking=missing):
    """Returns the exit code of inside(), which is called in the hosts, where NETNS_DIR is a folder for the test; 77, skipped, where
    lacking() says what is missing."""
    if "NETNS_DIR" in os.environ:
        return inside()
    if reason := lacking():
        print(f"[skip] {what}: {reason}")
        return 77
    arguments = [os.path.abspath(word) if os.path.exists(word) else word for word in sys.argv[1:]]
    with tempfile.TemporaryDirectory(prefix="ferry-hosts-") as folder:
        command = [NETNS, "inside", sys.executable, os.path.abspath(sys.argv[0]), *arguments]
        return subprocess.run(command, env=dict(os.environ, NETNS_DIR=folder), check=False).returncode
