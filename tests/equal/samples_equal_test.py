#!/usr/bin/env python3
"""Checks that the plans of all samples and their entries compute what their graphs say, by `ferry check --equal`.

    samples_equal_test.py FERRY SAMPLES_FOLDER [all]

With `all` on one to eight tasks and with several ways to plan, else on two and four. Entries that cannot be planned
on a number of tasks are left out. The last line is "N passed, N failed, N skipped".
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys

FERRY, SAMPLES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
ALL = "all" in sys.argv[3:]
WAYS = [[], ["--device", "sim"], ["--threads", "2"], ["--hosts", "2"], ["--invariant"], ["--place", "auto"]] if ALL else [[]]
SHAPES = {"fashion": "images=8,28,28", "fashion_cnn": "images=8,28,28", "resnet50": "images=8,3,224,224"}
LARGE = ("charlm", "fashion")  # of more tasks than rows, some have none
SERVED = ("async_server", "parameter_server")


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


def cases():
    for sample in sorted(SAMPLES.glob("*.pb")):
        for entry in re.findall(r"^entry ([\w.]+):", run(FERRY, "show", sample).stdout, re.M) or [None]:
            for way in WAYS:
                many = (64,) if sample.stem in LARGE and way == [] else ()
                for tasks in (*(range(1, 9) if ALL else (2, 4)), *many):
                    words = [f"--invariant={tasks}"] if way == ["--invariant"] else ["--tasks", tasks, *way]
                    words += ["--entry", entry] if entry else []
                    words += ["--jobs", f"ps=0,worker=1-{tasks - 1}"] if sample.stem in SERVED and tasks > 1 else []
                    words += ["--shape", SHAPES[sample.stem]] if sample.stem in SHAPES and entry == "predict" else []
                    yield sample, entry, words


def tried(case):
    sample, entry, words = case
    done = run(FERRY, "check", "--equal", sample, *words)
    if "\nEQUAL: " in done.stdout and done.returncode == 0:
        return "passed", ""
    if "computes what the graph says" not in done.stderr and "not compute what the graph says" not in done.stderr and done.returncode in (2, 4):
        return "skipped", ""
    return "failed", f"{sample.stem} {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}"


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for outcome, text in pool.map(tried, cases()):
            counts[outcome] += 1
            print(text, end="")
    print(f"{counts['passed']} passed, {counts['failed']} failed, 0 skipped; {counts['skipped']} cannot be planned")
    return 1 if counts["failed"] or counts["passed"] < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
