#!/usr/bin/env python3
"""ONNX's own test cases, as Debian's package libonnx-testdata has them, on one task and on two:

    conformance_test.py FERRY EXPECTED_FAILURES [--update]

The file lists the cases that fail, "NAME: REASON" a line. The test fails when another case fails, when a listed case
passes, when one is listed that is not there, or when one is skipped whose inputs and outputs are tensors of ferry's
dtypes. Of those cases, SHARE must pass. With --update the file is written anew: old reasons stay, new ones are ferry's.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

FERRY, LIST = sys.argv[1:3]
UPDATE = "--update" in sys.argv
DATA = Path("/usr/share/libonnx-testdata/data")
FOLDERS = ("node", "simple", "pytorch-operator", "pytorch-converted")
SHARE = 0.97
OTHER_VALUES = (" is a sequence", " is an optional value", " is dtype string")  # why a case may be skipped


def run_cases():
    done = subprocess.run([FERRY, "conformance", "--json", *(str(DATA / folder) for folder in FOLDERS)],
                          capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)["cases"]


def read_list():
    lines = [line for line in Path(LIST).read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    expected = dict(line.split(": ", 1) for line in lines)
    if len(expected) < len(lines):
        sys.exit(f"{LIST}: a case is listed twice")
    return expected


def short(reason):
    """ferry's reason without the path of the model."""
    return re.sub(r"^\S*model.onnx: ", "", reason)[:160]


def write_list(expected, failed):
    head = "# Cases of libonnx-testdata 1.12 that fail, and why. conformance_test.py --update writes this file.\n"
    lines = [f"{name}: {expected.get(name, short(reason))}\n" for name, reason in sorted(failed.items())]
    Path(LIST).write_text(head + "".join(lines), encoding="utf-8")


def main():
    if not DATA.exists():
        print("[skip] conformance: apt-get install libonnx-testdata")
        return 77
    cases = run_cases()
    expected = read_list()
    failed = {case["name"]: case["reason"] for case in cases if case["result"] == "failed"}
    passed = {case["name"] for case in cases if case["result"] == "passed"}
    if UPDATE:
        write_list(expected, failed)
        return 0
    faults = [f"{name} fails: {reason}" for name, reason in sorted(failed.items()) if name not in expected]
    faults += [f"{name} passes: take it out of the list" for name in sorted(passed & set(expected))]
    faults += [f"{name} is listed, and is no case" for name in sorted(set(expected) - set(failed) - passed)]
    faults += [f"{case['name']} is skipped: {case['reason']}" for case in cases
               if case["result"] == "skipped" and not case["reason"].endswith(OTHER_VALUES)]
    share = len(passed) / (len(passed) + len(failed))
    if share < SHARE:
        faults.append(f"only {share:.1%} of the cases pass, not {SHARE:.0%}")
    print("\n".join(faults))
    print(f"{share:.1%} of the cases with tensors of ferry's dtypes pass")
    print(f"{len(passed)} passed, {len(faults)} failed, 0 skipped")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
