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

# Bytes that kernels may spill, by what their names begin with after their namespaces, for each architecture.
LONG_FACTORS = "MatrixFactors<Numbers<long>, Numbers<long>, long>"
EXCEPTIONS = {
    "sm_80": {"MultiplyEach<MatrixFactors<Numbers<double>, Numbers<double>, double> >": 16, "PickInThread<int>": 4},
    "sm_90": {"JoinRows<unsigned long, Replace>": 8, "PickInThread<int>": 4},
    "sm_100": {f"MultiplyEach<{LONG_FACTORS} >": 4, f"MultiplyTiles<{LONG_FACTORS}, 64>": 8, "PickInBlock<float>": 28,
               "MapGroups<Tan, 8, Half<": 12},
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
    """The kernel's function, as C++ has it, without namespaces and parameters."""
    text = subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()
    text = re.sub(r"\(anonymous namespace\)::|\b\w+::", "", text)
    return re.sub(r"\(.*", "", re.sub(r"^void run_\w+<(.*?) ?>\(\1, .*", r"\1", text))


def over(report):
    """A line for each kernel of a report that spills too much."""
    lines = []
    for name, architecture, count in spills(report):
        if count == 0:
            continue
        kernel = readable(name)
        allowed = max((most for begin, most in EXCEPTIONS.get(architecture, {}).items() if kernel.startswith(begin)), default=0)
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
    assert over(report("_ZN5ferry3runEi", 16)) == ["run for sm_90 spills 16 bytes, 0 are allowed"]
    listed = "_ZN5ferry4cuda6detail8run_eachINS0_12_GLOBAL__N_112PickInThreadIiEEEEvT_l"
    assert not over(report("_ZN5ferry3runEi", 0) + report(listed, 4))
    assert over(report(listed, 8)) == ["PickInThread<int> for sm_90 spills 8 bytes, 4 are allowed"]
    assert over(report(listed, 4).replace("sm_90", "sm_100"))


if __name__ == "__main__":
    files = [pathlib.Path(name) for name in sys.argv[1:]]
    sys.exit(cases.run([("planted spills are found", planted), *((file.stem.removesuffix(".cuda"), no_spills(file)) for file in files)]))
