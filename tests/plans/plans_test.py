#!/usr/bin/env python3
"""Tests passes by text: each case is a graph and options, and the text of what a pass must make of them.

    plans_test.py FERRY FOLDER            runs FOLDER/*.test; prints what differs
    plans_test.py FERRY FOLDER --update   writes what the passes make into the files

The cases of a file are separated by lines "====". A case is a comment of lines that begin with "#" (what it shows), the
options of `ferry plan` with --dump-after PASS (files that they name lie in FOLDER), a graph as .pbtxt, a line "----", and
the program's text after the pass. All cases run with --check-passes. Each pass must have at least two cases.
"""
import collections
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FERRY, FOLDER = os.path.abspath(sys.argv[1]), Path(sys.argv[2])
UPDATE = "--update" in sys.argv[3:]


class Case:
    def __init__(self, text):
        head, _, self.expected = (text + "\n").partition("\n----\n")
        lines = head.strip("\n").split("\n")
        comments = [line for line in lines if line.startswith("#")]
        rest = lines[len(comments):]
        self.comment, self.options, self.graph = "\n".join(comments), rest[0], "\n".join(rest[1:])

    @property
    def dumped(self):
        words = self.options.split()
        return words[words.index("--dump-after") + 1]

    def run(self, folder):
        graph = Path(folder) / "graph.pbtxt"
        graph.write_text(self.graph + "\n")
        done = subprocess.run([FERRY, "plan", str(graph), *self.options.split(), "--check-passes"],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300, cwd=FOLDER,
                              env=dict(os.environ, NO_COLOR="1"))
        why_no_gpu = re.compile(r"(?<=no GPU) \(.*\)")  # differs from machine to machine
        return done.stdout if done.returncode == 0 else f"exit {done.returncode}\n{why_no_gpu.sub('', done.stderr)}".replace(str(graph), "graph.pbtxt")

    def text(self):
        return f"{self.comment}\n{self.options}\n{self.graph}\n----\n{self.expected}"


def passes(folder):
    """The names of all passes, from what `ferry plan --times` prints."""
    graph = Path(folder) / "one.pbtxt"
    graph.write_text('version: 1\ngraph { op { name: "x" op: "Constant" attr { name: "value" tensor { dtype: FLOAT32 floats '
                     '{ value: 1 } } } } }\nentry { name: "run" fetch { name: "x" value: "x" } }\n')
    out = subprocess.run([FERRY, "plan", str(graph), "--times"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in out.splitlines() if line.split()[0] not in ("all", "verify")]


def main():
    passed = failed = 0
    count = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(FOLDER.glob("*.test")):
            cases = [Case(text) for text in file.read_text().split("\n====\n")]
            for number, case in enumerate(cases, 1):
                count[case.dumped] += 1
                found = case.run(folder)
                if found.rstrip("\n") == case.expected.rstrip("\n"):
                    passed += 1
                    continue
                if UPDATE:
                    case.expected = found.rstrip("\n")
                    continue
                failed += 1
                print(f"{file.name}, case {number}: {case.comment}")
                print("\n".join(difflib.unified_diff(case.expected.splitlines(), found.splitlines(), "expected", "found", "", "", 20, "")))
            if UPDATE:
                file.write_text("\n====\n".join(case.text().rstrip("\n") for case in cases) + "\n")
        for name in passes(folder):
            if count[name] < 2 and not UPDATE:
                failed += 1
                print(f"pass {name} has {count[name]} cases, two are asked for")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
