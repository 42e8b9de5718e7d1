#!/usr/bin/env python3
"""Checks who includes whom: prints each offending line as file:line and ends with 1 if there is any.

    include_rule.py ROOT [PUBLIC_HEADER…]

PUBLIC_HEADER are the installed headers, relative to ROOT: runner, samples and bench may include only those and their own
(and runner also bench/benchmark.hpp and bench/calibration/calibration.hpp), and the installed headers only each other and the standard library.
"""
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import install_headers  # noqa: E402

# What a folder may include besides itself. "graph" stands for the whole folder, "graph/types" for a component (a subfolder),
# "kernels/kernel" for the header kernels/kernel.hpp. A component with a row of its own keeps to it, other components to their
# folder's row.
MAY_INCLUDE = {
    "base": [],
    "graph": ["base"],
    "graph/types": ["base"],
    "graph/op": ["base", "graph/types"],
    "ops": ["base", "graph"],
    "kernels": ["base", "graph", "ops"],
    "plan": ["base", "graph", "plan/schedule", "plan/topology"],
    "plan/topology": ["base", "graph"],
    "plan/schedule": ["base", "graph"],
    "plan/traffic": ["base", "graph", "plan/plan", "plan/traffic", "plan/device_work"],
    "plan/text": ["base", "graph", "plan/plan", "plan/traffic"],
    "plan/file": ["base", "graph", "plan/plan", "plan/plan_generated", "plan/verify/verify"],
    "plan/verify": ["base", "graph", "ops", "plan/plan", "plan/kernel_facts", "plan/largest_values", "plan/schedule",
                    "plan/topology", "kernels/traits"],
    "plan/equal": ["base", "graph", "ops", "plan/plan", "plan/signature", "plan/kernel_facts", "plan/schedule", "plan/topology",
                   "kernels/traits"],
    "comm": ["base", "graph/types/dtype", "graph/types/shape", "plan/schedule", "plan/traffic"],
    "placement": ["base", "graph", "ops", "kernels/traits", "plan"],
    "placement/explain": ["base", "placement/planner"],
    "placement/class": ["base", "graph", "plan"],
    "placement/fuse": ["base", "graph", "placement/class", "plan"],
    "placement/program": ["base", "graph", "ops", "plan", "kernels/traits", "placement/planner"],
    "placement/layout": ["base", "graph", "ops", "placement/program"],
    "placement/microbatches": ["base", "graph", "ops", "placement/program", "placement/layout"],
    "placement/messages": ["base", "graph", "ops", "placement/program", "placement/layout", "plan"],
    "placement/lower": ["base", "graph", "ops", "placement/program", "placement/layout", "placement/messages", "placement/class",
                        "plan"],
    "executor": ["base", "graph", "ops", "plan", "kernels/kernel", "kernels/device", "comm/transport", "comm/group",
                 "comm/backends", "comm/host", "comm/failure"],
    "executor/watch": ["base", "comm/transport", "comm/host", "comm/failure"],
    "executor/job": ["base", "graph", "ops", "plan", "kernels/kernel", "kernels/device", "comm/transport", "comm/group",
                     "comm/backends", "comm/failure", "comm/host", "comm/launch_variables", "executor/watch"],
    "executor/direct": ["base", "graph", "plan", "kernels/kernel", "comm/transport", "comm/group", "comm/failure",
                        "executor/job", "executor/watch"],
    "executor/observe": ["base", "graph", "plan", "kernels/device", "comm/transport", "executor/watch"],
    "executor/fused": ["base", "plan", "kernels/kernel", "kernels/compiled_region", "kernels/shared/nest"],
    "executor/run": ["base", "graph", "ops", "plan", "kernels/kernel", "kernels/device", "comm/transport", "comm/group",
                     "executor/execution_options", "executor/fused", "executor/observe", "executor/watch"],
    "executor/state": ["base", "graph", "plan", "kernels/device", "comm/failure", "comm/transport", "executor/run"],
    "tests": ["base", "graph", "ops", "kernels", "comm", "plan", "placement", "executor", "runner", "samples", "bench"],
}
# Folders whose own files may include of their subfolders only what their row has.
LAYERED = ["plan"]
# Headers that a folder may not include although its row has them: placement and the verifier share no code.
MUST_NOT_INCLUDE = {"placement": ["plan/verify"]}
# Files that may include a header that their row does not have: one file of executor calls the planner.
ONE_FILE = {"executor/session/session_plans.cpp": ["placement/planner.hpp"]}
# These folders may include installed headers and their own.
USERS = ["runner", "samples", "bench"]
USERS_EXCEPTIONS = {"runner": ["bench/benchmark.hpp", "bench/calibration/calibration.hpp"]}
# Each subfolder of these is a backend, whose headers only it may include; but for those that backends share.
BACKENDS_IN = ["comm", "kernels"]
SHARED = ["kernels/compile", "kernels/shared"]
# Standard headers that one of our compilers lacks: only our own header that replaces one may include it.
WRAPPED = {"source_location": "base/source_location.hpp"}
# Public headers may include a library's header only here.
PUBLIC_EXCEPTIONS = {"mpi.hpp": ["mpi.h"]}

SUFFIXES = {".cpp", ".hpp", ".h", ".cc", ".cu", ".cuh", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD = re.compile(r"^[a-z_0-9]+$")


def folder(path):
    """The top folder of a path from the root; "" for a header in the root."""
    return path.split("/")[0] if "/" in path else ""


def backend(path):
    """The backend folder that a path lies in, such as comm/mpi, or None."""
    parts = path.split("/")
    found = "/".join(parts[:2]) if len(parts) > 2 and parts[0] in BACKENDS_IN else None
    return None if found in SHARED else found


def row(path):
    """The key of MAY_INCLUDE that holds for a path: its component or, if that has no row, its folder."""
    parts = path.split("/")
    rows = ["/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
    return next((name for name in rows if name in MAY_INCLUDE), folder(path))


def listed(header, allowed):
    stem = header.rsplit(".", 1)[0]
    if stem.endswith(".pb"):  # generated from x.proto
        stem = stem[:-3]
    return any(stem == name or stem.startswith(name + "/") for name in allowed)


def offence(source, header, public):
    """Why `source` may not include `header`, which is ours; None if it may."""
    if header.startswith("ferry/"):
        shown = {install_headers.installed(path): path for path in public}
        header = shown.get(header[len("ferry/"):], header[len("ferry/"):])
    own = folder(source)
    lies_in = backend(header)
    if lies_in and lies_in != backend(source):
        return f"{lies_in} is a backend: its factory function is enough"
    if source in public and header not in public:
        return f"{source} is installed, {header} is not"
    in_own = row(source) == own and folder(header) == own and own not in LAYERED
    if row(header) == row(source) or in_own or own == "":
        return None
    if own in USERS or folder(header) == "":
        if header in USERS_EXCEPTIONS.get(own, []):
            return None
        return None if header in public and own in USERS + ["tests"] else f"{own} may include installed headers only"
    if listed(header, MUST_NOT_INCLUDE.get(own, [])):
        return f"{own} may not include {', '.join(MUST_NOT_INCLUDE[own])}"
    if header not in ONE_FILE.get(source, []) and not listed(header, MAY_INCLUDE[row(source)]):
        return f"{row(source)} may include: {', '.join(MAY_INCLUDE[row(source)]) or 'nothing of ours'}"
    return None


def foreign_offence(source, header):
    """Why the installed header `source` may not include <header>, which is not ours; None if it may."""
    if STANDARD.match(header) or header in PUBLIC_EXCEPTIONS.get(source, []):
        return None
    return f"{source} is installed and may include the standard library only"


def check_file(root, source, public):
    ours = set(MAY_INCLUDE) | set(USERS) | {"ferry"}
    found = []
    for number, line in enumerate((root / source).read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        header = match[2]
        is_ours = folder(header) in ours or (folder(header) == "" and match[1] == '"')
        why = None
        if WRAPPED.get(header, source) != source:
            why = f'include "{WRAPPED[header]}" instead: clang++-14 has no <{header}>'
        elif is_ours:
            why = offence(source, header, public)
        elif source in public:
            why = foreign_offence(source, header)
        if why:
            found.append(f"{source}:{number}: {line.strip()}\n    {why}")
    return found


def sources(root):
    """The source files of the tree, in order, as paths relative to the root."""
    for top in sorted(set(MAY_INCLUDE) | set(USERS)):
        for where, _, names in sorted(os.walk(root / top)):
            for name in sorted(names):
                if Path(name).suffix in SUFFIXES:
                    yield (Path(where) / name).relative_to(root).as_posix()
    for path in sorted(root.glob("*.hpp")):
        yield path.name


def main(root, public):
    root = Path(root)
    public = {Path(header).resolve().relative_to(root.resolve()).as_posix() if Path(header).is_absolute() else header
              for header in public}
    files = list(sources(root))
    found = [line for source in files for line in check_file(root, source, public)]
    print("\n".join(found) if found else f"{len(files)} files keep the include rule")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
