"""Kernels of GPUs keep what they work on in registers: none spills more than is listed below.

usage: spills_test.py REPORT…
REPORTs are what ptxas said of each file (kernels/cuda/nvcc.py). The last line is "N passed, N failed, N skipped".
"""

import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import cases

# Bytes that a kernel may spill, by what its name has, for each architecture.
EXCEPTIONS = {
    "JoinRows<unsigned long, ferry::cuda::(anonymous namespace)::Replace>": 8,
    "PickInThread<int>": 4,
}

COMPILED = re.compile(r"Compiling entry function '(?P<kernel>\w+)' for '(?P<architecture>\w+)'"
                      r"|Function properties for (?P<function>\w+)\n *\d+ bytes stack frame, (?P<stores>\d+) bytes spill stores")


def spills(report):
    """(name, architecture, bytes) of each kernel of a report, and of the functions that it calls."""
    architecture, found = "", []
    for said in COMPILED.finditer(report):
        if said["architecture"]:
            architecture = said["architecture"]
        else:
            found.append((said["function"], architecture, int(said["stores"])))
    return found


def readable(name):
    return subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()


def over(report):
    """A line for each kernel of a report that spills too much."""
    lines = []
    for name, architecture, count in spills(report):
        if count == 0:
            continue
        kernel = readable(name)
        allowed = max((most for part, most in EXCEPTIONS.items() if part in kernel), default=0)
        if count > allowed:
            lines.append(f"{kernel} for {architecture} spills {count} bytes, {allowed} are allowed")
    return lines


def no_spills(file):
    def test():
        report = file.read_text(encoding="utf-8")
        kernels = re.findall("Compiling entry function", report)
        assert kernels, f"{file} names no kernel"
        lines = over(report)
        assert not lines, "\n  ".join([f"{len(lines)} of {len(kernels)} kernels:", *lines])
        return f"{len(kernels)} kernels"
    return test


def planted():
    def report(name, count):
        return (f"ptxas info    : Compiling entry function '{name}' for 'sm_90'\nptxas info    : Function properties for {name}\n"
                f"    16 bytes stack frame, {count} bytes spill stores, 8 bytes spill loads\n")
    assert over(report("_Z3runi", 16)) == ["run(int) for sm_90 spills 16 bytes, 0 are allowed"]
    listed = "_Z3runN5ferry4cuda12PickInThreadIiEE"
    assert not over(report("_Z3runi", 0) + report(listed, 4))
    assert over(report(listed, 8)) == ["run(ferry::cuda::PickInThread<int>) for sm_90 spills 8 bytes, 4 are allowed"]


if __name__ == "__main__":
    files = [pathlib.Path(name) for name in sys.argv[1:]]
    sys.exit(cases.run([("planted spills are found", planted), *((file.stem.removesuffix(".cuda"), no_spills(file)) for file in files)]))
