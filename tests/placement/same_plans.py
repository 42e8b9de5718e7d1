#!/usr/bin/env python3
"""Two builds, of different compilers, make the same graph files and plans to the byte: same_plans.py BUILD OTHER

Compares the graph files of all samples, their plans for every entry on several numbers of tasks, and the plans of random
graphs (random_plans.cpp). Prints what differs and ends with 1, or says how much was compared.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RANDOM_GRAPHS = 50
TASKS = (1, 2, 3, 4, 7)


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


def random_plans(build):
    done = output(build / "tests/placement/random_plans", RANDOM_GRAPHS)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def entries(build, graph):
    return re.findall(r"^entry (\S+):", output(build / "ferry", "show", graph).stdout, re.M)


def plan_of(build, graph, entry, tasks):
    """The bytes of the plan file, or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        done = output(build / "ferry", "plan", graph, "--entry", entry, "--tasks", tasks, "--save", f"{folder}/x.plan")
        return Path(f"{folder}/x.plan").read_bytes() if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr}"


def main():
    builds = [Path(argument).resolve() for argument in sys.argv[1:3]]
    plans, wrong = 0, []
    for one, other in zip(*map(random_plans, builds), strict=True):
        plans += 1
        if one != other:
            wrong.append(f"{one}; {other}")
    graphs = sorted(path.name for path in (builds[0] / "samples").glob("*.pb"))
    for name in graphs:
        files = [build / "samples" / name for build in builds]
        if files[0].read_bytes() != files[1].read_bytes():
            wrong.append(f"{name}: the graph files differ")
        for entry in entries(builds[0], files[0]):
            saved = 0
            for tasks in TASKS:
                one, other = (plan_of(build, file, entry, tasks) for build, file in zip(builds, files))
                saved += isinstance(one, bytes)
                if one != other:
                    wrong.append(f"{name}, entry {entry} on {tasks} tasks: the plans differ")
            plans += saved
            if not saved:
                wrong.append(f"{name}, entry {entry}: no plan on any number of tasks: {one}")
    for line in wrong:
        print(line)
    print(f"{len(graphs)} graph files and {plans} plans compared, {len(wrong)} differ")
    return 1 if wrong or not graphs else 0


if __name__ == "__main__":
    sys.exit(main())
