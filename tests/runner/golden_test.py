#!/usr/bin/env python3
"""Compares what `ferry` prints with golden/NAME.expected:

    golden_test.py FERRY ADD_PB [--update]

With --update it rewrites the files: look at the difference before you commit it. Version numbers and the folders in which
samples were compiled are left out; everything else must be equal to the byte.
"""
import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

FERRY, ADD = sys.argv[1:3]
UPDATE = "--update" in sys.argv
FOLDER = Path(__file__).parent / "golden"
PARALLEL = str(FOLDER / "data_parallel.pbtxt")
ENTRIES = str(FOLDER / "entries.pbtxt")
JOINED = str(FOLDER / "joined.pbtxt")
SECONDS = 60

COMMANDS = {
    "help": ["--help"],
    "run_help": ["run", "--help"],
    "add_plan": ["plan", ADD, "--tasks", "3", "--threads", "1"],
    "add_show": ["show", ADD],
    "add_explain": ["explain", ADD, "--tasks", "3"],
    "add_check": ["check", ADD, "--tasks", "3"],
    "data_parallel_plan": ["plan", PARALLEL, "--tasks", "2", "--threads", "1"],
    "data_parallel_show": ["show", PARALLEL],
    "data_parallel_explain": ["explain", PARALLEL, "--tasks", "2"],
    "data_parallel_check": ["check", PARALLEL, "--tasks", "2"],
    "entries_explain": ["explain", ENTRIES, "classes"],
    "entries_explain_fetch": ["explain", ENTRIES, "labels", "--entry", "predict"],
    "entries_explain_neither": ["explain", ENTRIES, "twice"],
    "joined_plan": ["plan", JOINED, "--tasks", "2", "--hosts", "2", "--threads", "1"],
    "joined_dot": ["plan", JOINED, "--dot", "--tasks", "2", "--hosts", "2", "--threads", "1"],
    "joined_explain": ["explain", JOINED, "--tasks", "2", "--hosts", "2"],
    "joined_check": ["check", JOINED, "--tasks", "2", "--hosts", "2", "--threads", "1"],
}


def printed(words):
    done = subprocess.run([FERRY, *words], capture_output=True, text=True, timeout=SECONDS, env=dict(os.environ, COLUMNS="80"))
    if done.returncode != 0:
        return f"exit code {done.returncode}\n{done.stderr}"
    text = re.sub(r"\S*/?samples/(\w+\.cpp)", r"samples/\1", done.stdout)
    text = re.sub(r"\b\d+\.\d+\.\d+\b", "VERSION", text)
    if "--help" in words:  # versions of CLI11 differ in their spaces
        text = "".join(re.sub(r" +", " ", line) + "\n" for line in text.splitlines() if line.strip())
    return text


def main():
    failed = 0
    for name, words in COMMANDS.items():
        file, text = FOLDER / (name + ".expected"), printed(words)
        if UPDATE:
            file.write_text(text)
        expected = file.read_text() if file.exists() else ""
        if text == expected:
            print(f"ok {name}")
            continue
        failed += 1
        print(f"FAILED {name}: golden_test.py --update writes it anew")
        print("\n".join(difflib.unified_diff(expected.splitlines(), text.splitlines(), "expected", "printed", lineterm="")))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
