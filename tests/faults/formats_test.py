#!/usr/bin/env python3
"""Files of every version that ferry ever wrote are read, or refused by their version: formats_test.py FERRY ROOT"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FERRY, ROOT = sys.argv[1], Path(sys.argv[2])
FILES = ROOT / "tests" / "faults" / "formats"
# For each format, the file and the constant that have its newest version, and the names of its test files.
VERSIONS = {
    "graph": ("graph/file/graph_file.hpp", "kGraphVersion", ["graph_{}.pb", "graph_{}.pbtxt"]),
    "plan": ("plan/plan.hpp", "kPlanVersion", ["plan_{}.plan"]),
    "model": ("runner/files/model_files.cpp", "kModelVersion", ["model_{}"]),
    "checkpoint": ("executor/state/checkpoint_format.hpp", "kCheckpointVersion", ["checkpoint_{}"]),
}


def ferry(*words, code=0):
    """Runs the command, which must end with `code`; gives its stdout, or its stderr where that is not 0."""
    done = subprocess.run([FERRY, *map(str, words)], capture_output=True, text=True, timeout=60)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout if code == 0 else done.stderr


class Formats(unittest.TestCase):
    def test_there_is_a_file_of_every_version(self):
        wanted = {"README.md"}
        for path, name, files in VERSIONS.values():
            newest = int(re.search(rf"\b{name} = (\d+);", (ROOT / path).read_text())[1])
            wanted |= {file.format(version) for file in files for version in range(1, newest + 1)}
        self.assertEqual(wanted, {path.name for path in FILES.iterdir()})

    def test_graphs(self):
        self.assertIn("c = [11 22 33]", ferry("run", FILES / "graph_1.pb", "--tasks", 3))
        self.assertIn("next = [3 6]", ferry("run", FILES / "graph_1.pbtxt", "--steps", 3))
        for name in ("graph_2.pb", "graph_2.pbtxt"):
            self.assertIn("y = [2 2]", ferry("run", FILES / name))
            self.assertEqual(ferry("plan", FILES / name, "--all").count(" Exp "), 2)
            self.assertIn("its budget is 10 bytes", ferry("plan", FILES / name, "--budget", "memory=10", code=4))

        for name in ("graph_3.pb", "graph_3.pbtxt"):
            self.assertIn("placed by itself: ", ferry("plan", FILES / name, "--tasks", 2))
            self.assertNotIn("placed by itself: ", ferry("plan", FILES / name, "--tasks", 2, "--place", "annotated"))
            self.assertIn("PASS", ferry("check", FILES / name, "--tasks", 2, "--equal"))
            self.assertIn("y = [1 1]", ferry("run", FILES / name, "--tasks", 2))

    def test_plans(self):
        for version in (1, 2, 3, 4, 5):
            self.assertIn(f"its format is version {version}; this ferry reads version 6",
                          ferry("run", FILES / f"plan_{version}.plan", code=3))
        self.assertIn("PASS", ferry("check", FILES / "plan_6.plan"))
        self.assertIn("next = [4 8]", ferry("run", FILES / "plan_6.plan", "--model", FILES / "model_1"))

    def test_models(self):
        self.assertIn("next = [4 8]", ferry("run", FILES / "graph_1.pbtxt", "--model", FILES / "model_1"))

    def test_checkpoints(self):
        with tempfile.TemporaryDirectory(prefix="ferry-formats-") as folder:
            shutil.copytree(FILES / "checkpoint_1", folder, dirs_exist_ok=True)
            said = ferry("run", FILES / "graph_1.pbtxt", "--checkpoint", folder, "--resume", "--steps", 4)
            self.assertIn("next = [4 8]", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
