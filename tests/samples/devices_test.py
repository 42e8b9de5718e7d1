"""Every entry of every sample on simulated devices, on 1 to 3 tasks: the output must be that of the same run on hosts, and the counters
what was planned.

usage: devices_test.py FERRY SAMPLES_FOLDER DATA_FOLDER SEEDS
As many orders are drawn for each. The last line is "N passed, N failed, N skipped".
"""

import re
import subprocess
import sys

from samples_test import ENVIRONMENT, FERRY, SAMPLES, check_stats, data_of, fed, jobs_of, refusal, run, run_all

SEEDS = range(1, 1 + int(sys.argv[4]))
LARGE = {"fashion", "fashion_cnn", "resnet50"}  # tens of seconds: on 2 tasks alone, but for many seeds


def sample(name):
    def all_entries(folder):
        file, tried = SAMPLES / f"{name}.pb", 0
        entries = re.findall(r"^entry (\w+):", run("show", file), re.M)
        for entry in entries if name != "resnet50" else ["init"]:  # the rest of it takes minutes
            for tasks in (2,) if name in LARGE and len(SEEDS) == 1 else (1, 2, 3):
                words = [file, "--entry", entry, "--data", data_of(name), "--steps", 1, "--threads", 1, *jobs_of(name, tasks)]
                words += fed(folder / f"{entry}-{tasks}", *words, "--tasks", tasks)
                command = [FERRY, "run", *map(str, words), "--tasks", str(tasks)]
                here = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
                if here.returncode == 4 and (reason := refusal(name, entry, tasks)):
                    assert reason in here.stderr, here.stderr
                    continue
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
        yield file.stem, sample(file.stem) if data_of(file.stem).exists() else None


if __name__ == "__main__":
    sys.exit(run_all(cases()))
