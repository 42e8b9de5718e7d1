"""Plans and verifies every entry of every sample's graph on 1 to 8 tasks with 1 to 3 threads each, and runs some.

usage: matrix_test.py FERRY SAMPLES_FOLDER DATA_FOLDER MATRIX [all]
With `all` it runs every plan whose data is here; else those of the samples in QUICK, for each number of tasks with one number
of threads. A refusal passes only if it says why. The last line is "N passed, N failed, N skipped".
"""

import subprocess
import sys

from samples_test import SAMPLES, SERVED, data_of, fed, refusal, run, run_all

MATRIX, ALL = sys.argv[4], "all" in sys.argv[5:]
TASKS, THREADS = 8, 3
QUICK = {"add", "jacobi", "tensor_parallel", "zero"}  # less than a second each

def planned(sample):
    """(entry, tasks, threads) of each plan of the sample, without those that are refused, as refusal() says."""
    done = subprocess.run([MATRIX, str(TASKS), str(THREADS), SAMPLES / f"{sample}.pb"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout, done.stderr
    found = []
    for line in done.stdout.splitlines():
        _, entry, tasks, threads, code, error = line.split("\t")
        # MATRIX names no jobs.
        if reason := "name the job's tasks" if sample in SERVED else refusal(sample, entry, int(tasks)):
            assert code == "4" and reason in error, line
        else:
            assert code == "0", line
            found.append((entry, int(tasks), int(threads)))
    return found


def runs(sample, folder):
    data = data_of(sample)
    for entry, tasks, threads in planned(sample):
        if ALL and data.exists() or sample in QUICK and threads == 1 + tasks % THREADS:
            words = [SAMPLES / f"{sample}.pb", "--entry", entry, "--tasks", tasks, "--threads", threads, "--data", data]
            run("run", *words, *fed(folder, *words))


def cases():
    for file in sorted(SAMPLES.glob("*.pb")):
        yield file.stem, lambda folder, sample=file.stem: runs(sample, folder)


if __name__ == "__main__":
    sys.exit(run_all(cases()))
