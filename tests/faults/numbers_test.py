#!/usr/bin/env python3
"""Checks that the table in README.md and the tests of this folder have the same numbers. numbers_test.py"""
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
# What a test's name looks like in a doctest file, in the Python files, and in meson.build.
NAMES = {"*.cpp": r'TEST_CASE\("([^"]*)"', "c*_*s.py": r"def case_(\w+)", "run_faults.py": r"def case_(\w+)", "verdicts.py": r"def case_(\w+)",
         "launch_faults.py": r"def test_(\w+)", "../hosts/launch_test.py": r"def test_(\w+)", "../cuda/faults_test.py": r"def case_(\w+)",
         "../cuda/devices_test.cpp": r'TEST_CASE\("([^"]*)"', "meson.build": r"'(\d{3}_\w+)'"}


def tested():
    names = []
    for files, pattern in NAMES.items():
        for path in [FOLDER / files] if "/" in files else FOLDER.glob(files):
            names += re.findall(pattern, path.read_text())
    return {int(number) for name in names for number in re.findall(r"(?:^|, )(\d{3})(?!\d)", name)}


def listed():
    numbers = set()
    for line in (FOLDER / "README.md").read_text().splitlines():
        row = re.match(r"\| ([\d–, ]+) \|", line)
        for item in row.group(1).split(",") if row else []:
            first, _, last = item.strip().partition("–")
            numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def main():
    both = tested(), listed()
    for number in sorted(both[1] - both[0]):
        print(f"{number:03} is in the table and has no test")
    for number in sorted(both[0] - both[1]):
        print(f"{number:03} has a test and is not in the table")
    print(f"{len(both[0] & both[1])} faults have tests")
    return 1 if both[0] != both[1] or not both[0] else 0


if __name__ == "__main__":
    sys.exit(main())
