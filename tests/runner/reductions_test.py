#!/usr/bin/env python3
"""Checks that random float32 reductions over split axes have the same bits over MPI and in one process, for any number of
threads.

usage: reductions_test.py FERRY RANDOM_REDUCTIONS
RANDOM_REDUCTIONS writes the graph of a seed (random_reductions.cpp). Each seed is one test.
The last line is "N passed, N failed, N skipped".
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import mpirun

FERRY, RANDOM_REDUCTIONS = sys.argv[1:3]
MPIRUN = shutil.which("mpirun")
SEEDS = range(4)
TASKS = 4
SECONDS = 100


def run(command):
    output, code = mpirun.run(list(map(str, command)), SECONDS)
    assert code == 0, f"{command} ended with {code}:\n{output}"
    return output


def fetched(graph, out, threads, over_mpi):
    """The bytes of each fetch's npy file."""
    command = [FERRY, "run", graph, "--threads", threads, "--out", out]
    run([MPIRUN, "--oversubscribe", "--bind-to", "none", "-np", TASKS, *command] if over_mpi else [*command, "--tasks", TASKS])
    files = {file.name: file.read_bytes() for file in sorted(Path(out).glob("*.npy"))}
    assert len(files) == 12, f"fetches: {', '.join(files)}"
    return files


def check(seed, folder):
    graph = folder / f"{seed}.pb"
    run([RANDOM_REDUCTIONS, seed, graph])
    plan = run([FERRY, "plan", graph, "--tasks", TASKS])
    assert "reduce" in plan, f"a plan without a reduction:\n{plan}"
    one = fetched(graph, folder / f"{seed}-one", 1, False)
    for name, threads, over_mpi in (("3 threads", 3, False), ("MPI", 1, True), ("MPI and 2 threads", 2, True)):
        other = fetched(graph, folder / f"{seed}-{threads}-{over_mpi}", threads, over_mpi)
        wrong = [file for file in one if one[file] != other[file]]
        assert not wrong, f"{', '.join(wrong)}: other bits with {name} than with 1 thread in one process"


def main():
    if not MPIRUN:
        print("[skip] random reductions: no mpirun here")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in SEEDS:
            try:
                check(seed, Path(folder))
            except AssertionError as error:
                failed += 1
                print(f"FAILED seed {seed}: {error}")
    print(f"{len(SEEDS) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


sys.exit(main())
