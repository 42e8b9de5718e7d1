#!/usr/bin/env python3
"""Faults of GPUs in what a user gives the `ferry` command: faults_test.py FERRY OPS

FERRY is one whose plug-in is on the host, with two GPUs of 1 GiB and one that cannot be used, OPS a
library of ops that no GPU runs (tests/faults/throwing_ops.cpp). Each case has its number in the table of tests/faults/README.md.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from command_cases import Failed, add, expect, graph, ints, op, refused, run, run_cases, write  # noqa: E402

OPS = sys.argv[2]


def drawn(device, *sizes):
    """A graph of random numbers on a device."""
    dims = " ".join(f"dim {{ size: {size} }}" for size in sizes)
    attrs = f'attr {{ name: "dtype" dtype: FLOAT32 }} attr {{ name: "shape" shape {{ {dims} }} }} attr {{ name: "seed" int: 1 }} '
    attrs += 'attr { name: "low" float: 0 } attr { name: "high" float: 1 }'
    return graph(op("x", "RandomUniform", device=device, attrs=attrs), op("y", "Neg", ["x"], device=device), fetches=["y"])


def case_036_a_gpu_that_is_not_there_beside_those_that_are():
    seven = write("seven.pbtxt", add(a="/gpu:0", b="/gpu:1", c="/gpu:7"))
    there = ["there is no device /task:0/gpu:7", "task 0 has cpu:0 and gpu:0 to gpu:1; GPU 2 cannot be used: ", "model.cpp:1", "--soft-placement"]
    refused(4, there, seven)
    expect(run("run", seven, "--soft-placement"), 0, "/task:0/gpu:7")
    refused(4, ["there is no device /task:0/gpu:1", "task 0 has cpu:0 and gpu:0"],
            write("second.pbtxt", add(a="/gpu:0", b="/gpu:0", c="/task:0/gpu:1")), "--tasks", "2")


def case_036_more_tasks_than_gpus_share_them():
    for tasks in (1, 2, 3, 5):
        last = f"/task:{tasks - 1}/gpu:0"
        code, printed, errors = run("run", write("shared.pbtxt", add("/task:0/gpu:0", last, last)), "--tasks", str(tasks))
        if code != 0 or "[11 22 33]" not in printed:
            raise Failed(f"{tasks} tasks on two GPUs: exit code {code}: {printed}{errors}")


def case_037_an_op_that_no_gpu_runs():
    own = write("own.pbtxt", graph(op("a", "Constant", attrs=ints([1, 2])), op("t", "Throw", ["a"], device="/gpu:0"), fetches=["t"]))
    refused(4, ["there is no gpu kernel for t (Throw)", "model.cpp:1", "--soft-placement"], own, "--ops", OPS)
    moved = run("run", own, "--ops", OPS, "--soft-placement")
    expect(moved, 10, "moved t (Throw) at model.cpp:1 from /task:0/gpu:0 to the CPU: no kernel", "its code threw: enough")


def case_075_values_that_a_gpu_has_no_room_for():
    large = write("large.pbtxt", drawn("/gpu:0", 3 << 10, 100 << 10))
    refused(4, ["gpu:0 of task 0 would need", "may have 1 GiB (1073741824 bytes)", "the largest values on task 0",
                "'x' float32[3072,102400]: 1.2 GiB at", "model.cpp:1"], large)
    halves = write("halves.pbtxt", drawn("/gpu:0", 1 << 10, 150 << 10))
    expect(run("plan", halves), 0)
    refused(4, ["gpu:0 of task 0 would need", "may have 512 MiB"], halves, "--tasks", "3")  # tasks 0 and 2 share a GPU


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
