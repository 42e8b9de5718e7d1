#!/usr/bin/env python3
"""Counts test cases in the log that `meson test` left: tally.py testlog.json

A doctest executable counts by its cases, a script by its closing line "N passed, N failed, N skipped" or else as one.
Lines "[skip] NAME: REASON" are skipped cases. Prints every skip with its reason and every failure with the end of its
output, then "N passed, N failed, N skipped".
"""
import json
import re
import sys

DOCTEST = re.compile(r"^\[doctest\] test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed", re.MULTILINE)
PLAIN = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n\nOK$", re.MULTILINE)
SKIP = re.compile(r"^\[skip\] (.*)$", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SHOWN_LINES = 60


def counts(test):
    """(passed, failed, skipped) of one entry of the log."""
    text = COLOUR.sub("", test.get("stdout", "") + "\n" + test.get("stderr", ""))
    if test["result"] == "SKIP":
        return 0, 0, 1
    if test["result"] == "EXPECTEDFAIL":
        return 1, 0, 0
    skips = len(SKIP.findall(text))
    if test["result"] == "OK":
        return counted(text, skips) or ((0, 0, skips) if skips else (1, 0, 0))
    passed, failed, skipped = counted(text, skips) or (0, 0, skips)
    return passed, max(failed, 1), skipped  # a crash or a time-out counts as one failure


def counted(text, skips):
    """What the test's own summary says, or None if it has none."""
    if found := DOCTEST.findall(text):
        return sum(int(c[1]) for c in found) - skips, sum(int(c[2]) for c in found), skips
    if found := PLAIN.findall(text):
        return tuple(int(n or 0) for n in found[-1])
    if found := UNITTEST.findall(text):
        return sum(map(int, found)), 0, skips
    return None


def report(test):
    name = test["name"].split(" / ")[-1]
    text = COLOUR.sub("", test.get("stdout", "") + "\n" + test.get("stderr", "")).strip()
    for skip in SKIP.findall(text):
        print(f"skipped: {name}: {skip}")
    if test["result"] == "SKIP" and not SKIP.search(text):
        print(f"skipped: {name}: {text.splitlines()[-1] if text else 'no reason given'}")
    if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL"):
        print(f"FAILED: {name} ({test['result']}, {test['duration']:.1f} s)")
        print("\n".join("    " + line for line in text.splitlines()[-SHOWN_LINES:]))


def main(path):
    total = [0, 0, 0]
    with open(path, encoding="utf-8") as log:
        tests = [json.loads(line) for line in log]
    for test in tests:
        report(test)
        passed, failed, skipped = counts(test)
        total = [a + b for a, b in zip(total, (passed, failed, skipped))]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
