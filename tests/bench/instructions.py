#!/usr/bin/env python3
"""Counts the instructions of what ferry does most often, and compares them with bench/baseline.json:

    instructions.py [--renew] PROGRAM BASELINE COMPILER

A count may grow by 5 %. Valgrind counts the same on every machine, but not for every compiler: the baseline has a list for
each. --renew replaces this compiler's list (ninja -C build renew-baseline). Skipped (77) without valgrind or without a list.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys

# The program's cases, and how many ops each runs per repetition.
CASES = {"walk": 20 * 1000, "hop": 500, "take": 500}
FEW, MANY = 2, 12
MAY_GROW = 1.05


def instructions(program, case, times):
    """The number of instructions that the program executes for `times` repetitions, its start included."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, case, str(times)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)}:\n{done.stderr}")
    return int(found.group(1))


def counted(program):
    """Instructions for each op, by case: the difference of two runs, which leaves out the program's start."""
    counts = {}
    for case, ops in CASES.items():
        more = instructions(program, case, MANY) - instructions(program, case, FEW)
        counts[case] = round(more / (MANY - FEW) / ops, 2)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("program")
    parser.add_argument("baseline")
    parser.add_argument("compiler")
    options = parser.parse_args()
    with open(options.baseline, encoding="utf-8") as file:
        baseline = json.load(file)
    if not shutil.which("valgrind"):
        print("[skip] instructions: no valgrind here")
        return 77
    if not options.renew and options.compiler not in baseline:
        print(f"[skip] instructions: no counts for {options.compiler} in {options.baseline}")
        return 77
    counts = counted(options.program)
    if options.renew:
        baseline[options.compiler] = counts
        with open(options.baseline, "w", encoding="utf-8") as file:
            file.write(json.dumps(baseline, indent=2, sort_keys=True) + "\n")
    grown = 0
    for case, count in counts.items():
        before = baseline[options.compiler][case]
        fits = count <= before * MAY_GROW
        grown += not fits
        print(f"{case}: {count} instructions an op, {before} before{'' if fits else ': more than 5 % above'}")
    print(f"{len(counts) - grown} passed, {grown} failed")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
