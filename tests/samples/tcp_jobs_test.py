#!/usr/bin/env python3
"""Whole jobs over TCP: tcp_jobs_test.py FERRY SAMPLES_FOLDER

Samples give the same bits in one process, under mpirun and over TCP, with several numbers of tasks and threads, and with
--invariant. Prints a line for each case; ends with 1 if one fails.
"""
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import tcp_job

FERRY, SAMPLES = sys.argv[1], Path(sys.argv[2])
MPIRUN = shutil.which("mpirun")
CASES = [("conjugate_gradient", 2, []), ("conjugate_gradient", 3, []), ("conjugate_gradient", 5, ["--threads", "2"]),
         ("power_iteration", 2, ["--threads", "2"]), ("jacobi", 3, []), ("k_means", 2, ["--invariant=4"]),
         ("add", 3, ["--steps", "50"])]


def outputs(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.npy")}


def by_one_process(words, tasks):
    many = [] if any(word.startswith("--invariant") for word in words) else ["--tasks", str(tasks)]
    return subprocess.run([FERRY, "run", *words, *many], capture_output=True, text=True, env=tcp_job.environment())


def by_mpi(words, tasks):
    env = tcp_job.environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return subprocess.run([MPIRUN, "--oversubscribe", "--bind-to", "none", "-np", str(tasks), FERRY, "run", *words],
                          capture_output=True, text=True, env=env)


def by_tcp(words, tasks):
    for code, out, errors in tcp_job.run([FERRY, "run", *words], tasks):
        if code != 0:
            return subprocess.CompletedProcess(words, code, out, errors)
    return subprocess.CompletedProcess(words, 0, "", "")


def complaint(sample, tasks, options):
    found = {}
    for name, run in ("one process", by_one_process), ("tcp", by_tcp), ("mpi", by_mpi if MPIRUN else None):
        if run is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = run([str(SAMPLES / f"{sample}.pb"), "--out", folder, *options], tasks)
            if done.returncode != 0:
                return f"{name}: ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            found[name] = outputs(Path(folder))
    first = found.pop("one process")
    if not first:
        return "no output"
    differ = [name for name, other in found.items() if other != first]
    return f"{', '.join(differ)}: other bits than in one process" if differ else None


def main():
    failed = 0
    for sample, tasks, options in CASES:
        why = complaint(sample, tasks, options)
        print(f"{'FAILED' if why else 'ok'} {sample} {tasks} {' '.join(options)}{': ' + why if why else ''}")
        failed += bool(why)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
