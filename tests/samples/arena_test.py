#!/usr/bin/env python3
"""Checks that the arena of every sample is at most 1.05 times what is alive in it at once, on one, two and four tasks.

    arena_test.py FERRY SAMPLES_FOLDER ARENA_PROGRAM

The last line is "N passed, N failed, N skipped".
"""
import pathlib
import re
import subprocess
import sys
import tempfile

FERRY, SAMPLES, ARENA = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
MOST = 1.05


def served(tasks):
    return ["--jobs", f"ps=0,worker=1-{tasks - 1}"]


JOBS = {"async_server": served, "parameter_server": served}


def output(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def plans(folder):
    """Makes the plans of all entries, without those that cannot be planned on that many tasks."""
    for sample in sorted(SAMPLES.glob("*.pb")):
        entries = re.findall(r"^entry ([\w.]+):", output(FERRY, "show", sample).stdout, re.M)
        for entry in entries or [None]:
            for tasks in (1, 2, 4):
                options = JOBS.get(sample.stem, lambda _: [])(tasks) + (["--entry", entry] if entry else [])
                plan = folder / f"{sample.stem}.{entry or 'all'}.{tasks}.plan"
                output(FERRY, "plan", sample, "--tasks", tasks, "--threads", "1", *options, "--save", plan)
                if plan.exists():
                    yield plan


def main():
    with tempfile.TemporaryDirectory() as name:
        files = list(plans(pathlib.Path(name)))
        found = output(ARENA, *files)
    lines = found.stdout.splitlines()
    missing = {sample.stem for sample in SAMPLES.glob("*.pb")} - {pathlib.Path(file).name.split(".")[0] for file in files}
    for sample in missing:
        print(f"{sample}: was not planned")
    failed = len(missing) + (len(lines) != len(files))
    for line in lines:
        file, arena, live, ratio = line.rsplit(" ", 3)
        if float(ratio) > MOST:
            failed += 1
            print(f"{pathlib.Path(file).name}: an arena of {arena} bytes, of which at most {live} live: {ratio}")
    print(found.stderr, end="")
    print(f"{len(lines) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
