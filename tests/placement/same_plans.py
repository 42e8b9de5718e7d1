#!/usr/bin/env python3
"""Checks that builds by two compilers make the same plans to the byte: same_plans.py BUILD OTHER

Compares the plans of the first build's sample graphs, for every entry on several numbers of tasks, as annotated and, without
annotations, with `--place auto`; and the plans of random graphs (random_plans.cpp). The graph files themselves may differ: C++ leaves open in which order a program's expression makes its
operands. Prints what differs and ends with 1, or says how much was compared.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "support"))
from annotations import write_without_annotations

RANDOM_GRAPHS = 50
TASKS = (1, 2, 3, 4, 7)
TASKS_BY_ITSELF = (2, 4)  # of placement by itself
OPTIONS = {  # options that these entries cannot be planned without
    "async_server.pb eval": ["--jobs", "ps=0,worker=1-2"],
    "async_server.pb init": ["--jobs", "ps=0,worker=1-2"],
    "async_server.pb synchronous": ["--jobs", "ps=0,worker=1-2"],
    "async_server.pb train": ["--jobs", "ps=0,worker=1-2"],
    "fashion.pb predict": ["--shape", "images=48,28,28"],
    "fashion_cnn.pb predict": ["--shape", "images=48,28,28"],
    "parameter_server.pb init": ["--jobs", "ps=0,worker=1-2"],
    "parameter_server.pb train": ["--jobs", "ps=0,worker=1-2"],
    "resnet50.pb predict": ["--shape", "images=2,3,224,224"],
}


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


def random_plans(build):
    done = output(build / "tests/placement/random_plans", RANDOM_GRAPHS)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def entries(build, graph):
    return re.findall(r"^entry (\S+):", output(build / "ferry", "show", graph).stdout, re.M)


def plan_of(build, graph, entry, tasks, *words):
    """The bytes of the plan file, or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        options = [*OPTIONS.get(f"{graph.name} {entry}", []), *words]
        done = output(build / "ferry", "plan", graph, "--entry", entry, "--tasks", tasks, *options, "--save", f"{folder}/x.plan")
        return Path(f"{folder}/x.plan").read_bytes() if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr}"


def stripped_plans(builds, graph, entry):
    """Compares the plans of placement by itself: gives how many, and what differs."""
    plans, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        stripped = write_without_annotations(graph, Path(folder))
        for tasks in TASKS_BY_ITSELF:
            one, other = (plan_of(build, stripped, entry, tasks, "--place", "auto") for build in builds)
            plans += isinstance(one, bytes)
            if one != other:
                wrong.append(f"{graph.name}, entry {entry} on {tasks} tasks with --place auto: the plans differ")
    return plans, wrong


def main():
    builds = [Path(argument).resolve() for argument in sys.argv[1:3]]
    plans, wrong = 0, []
    for one, other in zip(*map(random_plans, builds), strict=True):
        plans += 1
        if one != other:
            wrong.append(f"{one}; {other}")
    graphs = sorted((builds[0] / "samples").glob("*.pb"))
    for graph in graphs:
        for entry in entries(builds[0], graph):
            saved = 0
            for tasks in TASKS:
                one, other = (plan_of(build, graph, entry, tasks) for build in builds)
                saved += isinstance(one, bytes)
                if one != other:
                    wrong.append(f"{graph.name}, entry {entry} on {tasks} tasks: the plans differ")
            plans_by_itself, others = stripped_plans(builds, graph, entry)
            plans += saved + plans_by_itself
            wrong += others
            if not saved:
                wrong.append(f"{graph.name}, entry {entry}: no plan on any number of tasks: {one}")
    for line in wrong:
        print(line)
    print(f"{plans} plans of {len(graphs)} graph files and {RANDOM_GRAPHS} random graphs compared, {len(wrong)} differ")
    return 1 if wrong or not graphs else 0


if __name__ == "__main__":
    sys.exit(main())
