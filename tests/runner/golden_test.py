#!/usr/bin/env python3
"""Compares what `ferry` prints with golden/NAME.expected:

    golden_test.py FERRY ADD_PB [--update]

With --update it rewrites the files: look at the difference before you commit it. Version numbers and the folders in which
samples were compiled are left out; everything else must be equal to the byte. by_hand_1.pbtxt and by_hand_2.pbtxt are the graphs of
docs/reference/graph_format.md.
"""
import difflib
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "support"))
from npy import write_npy

FERRY, ADD = map(os.path.abspath, sys.argv[1:3])
UPDATE = "--update" in sys.argv
FOLDER = Path(__file__).resolve().parent / "golden"
PARALLEL = str(FOLDER / "data_parallel.pbtxt")
ENTRIES = str(FOLDER / "entries.pbtxt")
UNEVEN = str(FOLDER / "uneven.pbtxt")
AUTO = [str(FOLDER / "auto.pbtxt"), "--tasks", "2", "--threads", "1"]
JOINED = str(FOLDER / "joined.pbtxt")
METRICS = [str(FOLDER / "metrics.jsonl"), str(FOLDER / "metrics_killed.jsonl")]
GRAPH_FORMAT = FOLDER.parents[2] / "docs" / "reference" / "graph_format.md"
SECONDS = 60

COMMANDS = {
    "help": ["--help"],
    "run_help": ["run", "--help"],
    "add_plan": ["plan", ADD, "--tasks", "3", "--threads", "1", "--all"],
    "add_show": ["show", ADD],
    "add_explain": ["explain", ADD, "--tasks", "3"],
    "add_explain_json": ["explain", ADD, "c", "--tasks", "3", "--json"],
    "add_explain_no_match": ["explain", ADD, "q*", "--tasks", "3"],
    "add_plan_show": ["show", "add.plan"],
    "auto_explain": ["explain", *AUTO, "y"],
    "auto_explain_pattern": ["explain", *AUTO, "?", "--json"],
    "auto_annotations": ["plan", *AUTO, "--print-annotations"],
    "add_no_equal": ["run", ADD, "--tasks", "3", "--no-equal"],
    "auto_not_annotated": ["plan", *AUTO, "--print-annotations", "--place", "annotated"],
    "add_quote": ["quote", ADD, "--tasks", "3", "--threads", "1"],
    "uneven_quote": ["quote", UNEVEN, "--tasks", "2", "--threads", "1", "--price", "3600"],
    "add_check": ["check", ADD, "--tasks", "3"],
    "add_equal": ["check", "--equal", ADD, "--tasks", "3"],
    "add_equal_plan": ["check", "--equal", ADD, "add.plan"],
    "add_equal_another": ["check", "--equal", PARALLEL, "add.plan"],
    "add_equal_memory": ["check", "--equal", ADD, "add.plan", "--memory", "1"],
    "add_plan_of_another": ["run", "add.plan", "--graph", PARALLEL],
    "add_plan_of_its_graph": ["run", "add.plan", "--graph", ADD],
    "add_plan_alone": ["run", "add.plan"],
    "add_equal_no_graph": ["check", "--equal", "add.plan"],
    "data_parallel_summary": ["plan", PARALLEL, "--tasks", "2", "--threads", "1"],
    "data_parallel_plan": ["plan", PARALLEL, "--tasks", "2", "--threads", "1", "--all"],
    "data_parallel_show": ["show", PARALLEL],
    "data_parallel_explain": ["explain", PARALLEL, "--tasks", "2", "--all"],
    "data_parallel_check": ["check", PARALLEL, "--tasks", "2"],
    "data_parallel_equal": ["check", "--equal", PARALLEL, "--tasks", "2"],
    "uneven_plan": ["plan", UNEVEN, "--tasks", "2", "--threads", "1", "--all"],
    "uneven_plan_last": ["plan", UNEVEN, "--tasks", "2", "--threads", "1", "--step", "2", "--all"],
    "uneven_check": ["check", UNEVEN, "--tasks", "2"],
    "entries_explain": ["explain", ENTRIES, "classes"],
    "entries_explain_fetch": ["explain", ENTRIES, "labels", "--entry", "predict"],
    "entries_explain_neither": ["explain", ENTRIES, "twice"],
    "joined_summary": ["plan", JOINED, "--tasks", "2", "--hosts", "2", "--threads", "1"],
    "joined_plan": ["plan", JOINED, "--tasks", "2", "--hosts", "2", "--threads", "1", "--all"],
    "joined_dot": ["plan", JOINED, "--dot", "--tasks", "2", "--hosts", "2", "--threads", "1"],
    "joined_explain": ["explain", JOINED, "--tasks", "2", "--hosts", "2"],
    "joined_check": ["check", JOINED, "--tasks", "2", "--hosts", "2", "--threads", "1"],
    "add_over_messages": ["plan", ADD, "--tasks", "3", "--budget", "messages=2"],
    "add_over_memory": ["explain", ADD, "--tasks", "3", "--budget", "memory=100,messages=3,bytes=36"],
    "data_parallel_over_bytes": ["check", PARALLEL, "--tasks", "2", "--budget", "bytes=0"],
    "budget_misread": ["run", ADD, "--budget", "byte=100"],
    "budget_below_zero": ["run", ADD, "--budget", "messages=100,bytes=-1"],
    "add_diff_none": ["plan", ADD, "--tasks", "3", "--threads", "1", "--diff", "add.plan"],
    "add_diff": ["plan", ADD, "--tasks", "3", "--threads", "1", "--devices", "rules.txt", "--diff", "add.plan"],
    "add_diff_json": ["plan", ADD, "--tasks", "4", "--threads", "1", "--diff", "add.plan", "--json"],
    "by_hand_explain": ["explain", "by_hand_1.pbtxt", "--tasks", "3", "--all"],
    "by_hand_train": ["run", "by_hand_2.pbtxt", "--tasks", "2", "--feed", "x=x.npy", "--steps", "3"],
    "curves": ["report", *METRICS, "--out", "curves.svg"],
    "data_parallel_diff_of_another": ["plan", PARALLEL, "--tasks", "2", "--diff", "add.plan"],
}


def ferry(words, folder):
    return subprocess.run([FERRY, *words], capture_output=True, text=True, timeout=SECONDS, cwd=folder,
                          env=dict(os.environ, COLUMNS="80"))


def printed(words, folder):
    done = ferry(words, folder)
    text = done.stdout if done.returncode == 0 else f"exit code {done.returncode}\n{done.stderr}"
    if done.returncode == 0 and "--out" in words:
        text += (Path(folder) / words[words.index("--out") + 1]).read_text().replace(str(FOLDER), "golden")
    text = re.sub(r"\S*/?samples/(\w+\.cpp)", r"samples/\1", text)
    if done.returncode != 0:
        return text
    text = re.sub(r"\b\d+\.\d+\.\d+\b", "VERSION", text)
    if "--help" in words:  # versions of CLI11 differ in their spaces
        text = "".join(re.sub(r" +", " ", line) + "\n" for line in text.splitlines() if line.strip())
    return text


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ferry-golden-") as folder:
        ferry(["plan", ADD, "--tasks", "3", "--threads", "1", "--save", "add.plan"], folder)
        (Path(folder) / "rules.txt").write_text("add /task:0\n")
        for number, text in enumerate(re.findall(r"(?:^    .*\n)+", GRAPH_FORMAT.read_text(), re.M), 1):
            (Path(folder) / f"by_hand_{number}.pbtxt").write_text(text)
        write_npy(Path(folder) / "x.npy", "<f4", (4, 3), struct.pack("<12f", *range(12)))
        texts = {name: printed(words, folder) for name, words in COMMANDS.items()}
    for name, text in texts.items():
        file = FOLDER / (name + ".expected")
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
