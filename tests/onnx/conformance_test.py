#!/usr/bin/env python3
"""ONNX's own test cases, as Debian's package libonnx-testdata has them, on one task and on two:

    conformance_test.py FERRY EXPECTED_FAILURES [--update]

The file lists the cases that fail, "NAME: REASON" a line. The test fails when another case fails, when a listed case
passes, when one is listed that is not there, or when one is skipped whose inputs and outputs are tensors of ferry's
dtypes. Of those cases, SHARE must pass. With --update the file is written anew: old reasons stay, new ones are ferry's.

    conformance_test.py FERRY EXPECTED_FAILURES --wheels FOLDER

By hand: runs the cases in wheels of onnx, which have the cases of older versions. Pip gets the wheel of a VERSION from 1.5.0 to
1.12.0 by

    pip download --no-deps --only-binary=:all: --python-version 3.7 --implementation cp --abi cp37m
        --platform manylinux1_x86_64 --platform manylinux2010_x86_64 --platform manylinux_2_12_x86_64 onnx==VERSION

The file older_failures.txt lists more cases that fail, "VERSION NAME: REASON" a line.
"""
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

FERRY, LIST = sys.argv[1:3]
UPDATE = "--update" in sys.argv
WHEELS = sys.argv[sys.argv.index("--wheels") + 1] if "--wheels" in sys.argv else None
OLDER = Path(__file__).parent / "older_failures.txt"
DATA = Path("/usr/share/libonnx-testdata/data")
CASES = "onnx/backend/test/data"  # in a wheel of onnx
FOLDERS = ("node", "simple", "pytorch-operator", "pytorch-converted")
SHARE = 0.97
OTHER_VALUES = (" is a sequence", " is an optional value", " is dtype string")  # why a case may be skipped


def run_cases(data=DATA):
    done = subprocess.run([FERRY, "conformance", "--json", *(str(data / folder) for folder in FOLDERS)],
                          capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)["cases"]


def read_list(file=LIST):
    lines = [line for line in Path(file).read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    expected = dict(line.split(": ", 1) for line in lines)
    if len(expected) < len(lines):
        sys.exit(f"{file}: a case is listed twice")
    return expected


def short(reason):
    """ferry's reason without the path of the model."""
    return re.sub(r"^\S*model.onnx: ", "", reason)[:160]


def write_list(expected, failed):
    head = "# Cases of libonnx-testdata 1.12 that fail, and why. conformance_test.py --update writes this file.\n"
    lines = [f"{name}: {expected.get(name, short(reason))}\n" for name, reason in sorted(failed.items())]
    Path(LIST).write_text(head + "".join(lines), encoding="utf-8")


def faults_of(cases, expected):
    """The cases that fail and are not in the list `expected`, and those that should not be skipped."""
    faults = [f"{case['name']} fails: {case['reason']}" for case in cases
              if case["result"] == "failed" and case["name"] not in expected]
    return faults + [f"{case['name']} is skipped: {case['reason']}" for case in cases
                     if case["result"] == "skipped" and not case["reason"].endswith(OTHER_VALUES)]


def share_of(cases):
    """The share of cases that pass, of those that are run."""
    results = [case["result"] for case in cases]
    return results.count("passed") / (results.count("passed") + results.count("failed"))


def run_wheels():
    older, count = read_list(OLDER), 0
    for wheel in sorted(Path(WHEELS).glob("onnx-*.whl")):
        version = wheel.name.split("-")[1]
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if name.startswith(CASES)])
            cases = run_cases(Path(folder) / CASES)
        listed = {name.split(" ")[1] for name in older if name.split(" ")[0] == version}
        faults = faults_of(cases, listed | set(read_list()))
        faults += [f"{case['name']} passes: take it out of the list" for case in cases
                   if case["result"] == "passed" and case["name"] in listed]
        print(f"onnx {version}: {share_of(cases):.1%} of {len(cases)} cases pass", *faults, sep="\n  ")
        count += len(faults)
    return 1 if count else 0


def main():
    if WHEELS:
        return run_wheels()
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
    faults = faults_of(cases, expected)
    faults += [f"{name} passes: take it out of the list" for name in sorted(passed & set(expected))]
    faults += [f"{name} is listed, and is no case" for name in sorted(set(expected) - set(failed) - passed)]
    share = share_of(cases)
    if share < SHARE:
        faults.append(f"only {share:.1%} of the cases pass, not {SHARE:.0%}")
    print("\n".join(faults))
    print(f"{share:.1%} of the cases with tensors of ferry's dtypes pass")
    print(f"{len(passed)} passed, {len(faults)} failed, 0 skipped")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
