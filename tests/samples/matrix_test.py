"""Plans and verifies every entry of every sample's graph on 1 to 8 tasks with 1 to 3 threads each, and runs some.

usage: matrix_test.py FERRY SAMPLES_FOLDER DATA_FOLDER MATRIX [all]
With `all` it runs every plan whose data is here; else those of the samples in QUICK, for each number of tasks with one number
of threads. A refusal passes only if REFUSED gives its reason. The last line is "N passed, N failed, N skipped".
"""

import subprocess
import sys

from samples_test import DATA, FASHION, SAMPLES, TEXTS, fed, run, run_all

MATRIX, ALL = sys.argv[4], "all" in sys.argv[5:]
TASKS, THREADS = 8, 3
QUICK = {"add", "jacobi", "tensor_parallel", "zero"}  # less than a second each

# For a sample: the numbers of tasks that it is made for, and what the error says on others.
REFUSED = {
    "add": (lambda tasks: tasks > 2, "is not there"),  # task 2 adds
    "jacobi": (lambda tasks: tasks > 2, "is not there"),  # three strips
    "charlm": (lambda tasks: tasks % 2 == 0, "does not fit"),  # meshes of two columns or rows
    "data_tensor": (lambda tasks: tasks % 2 == 0, "does not fit"),
    "matrix_product": (lambda tasks: tasks % 2 == 0, "does not fit"),
    "parameter_server": (lambda tasks: False, "name the job's tasks with --jobs"),
}
FOLDERS = {"fashion": FASHION, "fashion_cnn": FASHION, "charlm": TEXTS}  # with their data; others have theirs in DATA


def planned(sample):
    """(entry, tasks, threads) of each plan of the sample, without those that are refused, as REFUSED says."""
    fits, reason = REFUSED.get(sample, (lambda tasks: True, ""))
    done = subprocess.run([MATRIX, str(TASKS), str(THREADS), SAMPLES / f"{sample}.pb"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout, done.stderr
    found = []
    for line in done.stdout.splitlines():
        _, entry, tasks, threads, code, error = line.split("\t")
        if fits(int(tasks)):
            assert code == "0", line
            found.append((entry, int(tasks), int(threads)))
        else:
            assert code == "4" and reason in error, line
    return found


def runs(sample, folder):
    data = FOLDERS.get(sample, DATA)
    for entry, tasks, threads in planned(sample):
        if ALL and data.exists() or sample in QUICK and threads == 1 + tasks % THREADS:
            words = [SAMPLES / f"{sample}.pb", "--entry", entry, "--tasks", tasks, "--threads", threads, "--data", data]
            run("run", *words, *fed(folder, *words))


def cases():
    for file in sorted(SAMPLES.glob("*.pb")):
        yield file.stem, lambda folder, sample=file.stem: runs(sample, folder)


if __name__ == "__main__":
    sys.exit(run_all(cases()))
