"""Every entry of every sample on simulated devices, on 1 to 3 tasks: the output must be that of the same run on hosts, and the counters
what was planned.

usage: devices_test.py FERRY SAMPLES_FOLDER DATA_FOLDER SEEDS
As many orders are drawn for each. The last line is "N passed, N failed, N skipped".
"""

import re
import subprocess
import sys

from samples_test import DATA, ENVIRONMENT, FASHION, FERRY, SAMPLES, TEXTS, check_stats, fed, run, run_all

SEEDS = range(1, 1 + int(sys.argv[4]))
LARGE = {"fashion", "fashion_cnn", "resnet50"}  # tens of seconds: on 2 tasks alone, but for many seeds
FOLDERS = {"fashion": FASHION, "fashion_cnn": FASHION, "charlm": TEXTS}  # of their data; others have theirs in DATA


def sample(name):
    def all_entries(folder):
        file, tried = SAMPLES / f"{name}.pb", 0
        entries = re.findall(r"^entry (\w+):", run("show", file), re.M)
        for entry in entries if name != "resnet50" else ["init"]:  # the rest of it takes minutes
            for tasks in (2,) if name in LARGE and len(SEEDS) == 1 else (1, 2, 3):
                jobs = ["--jobs", f"ps=0,worker=1-{tasks - 1}"] if name == "parameter_server" else []
                words = [file, "--entry", entry, "--data", FOLDERS.get(name, DATA), "--steps", 1, "--threads", 1, *jobs]
                words += fed(folder / f"{entry}-{tasks}", *words, "--tasks", tasks)
                command = [FERRY, "run", *map(str, words), "--tasks", str(tasks)]
                here = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
                if here.returncode in (2, 4):
                    continue  # it is made for another number of tasks
                assert here.returncode == 0, here.stderr
                for seed in SEEDS:
                    stats = folder / "stats.json"
                    done = subprocess.run([*command, "--device", f"sim:{seed}", "--stats", stats], capture_output=True, text=True, env=ENVIRONMENT)
                    said = f"{name} --entry {entry} --tasks {tasks} --device sim:{seed}"
                    assert done.returncode == 0, f"{said}: {done.stderr}"
                    assert done.stdout == here.stdout, f"{said}: {done.stdout}, not {here.stdout}"
                    check_stats(stats)
                tried += 1
        assert tried > 0
    return all_entries


def cases():
    for file in sorted(SAMPLES.glob("*.pb")):
        yield file.stem, sample(file.stem) if FOLDERS.get(file.stem, DATA).exists() else None


if __name__ == "__main__":
    sys.exit(run_all(cases()))
