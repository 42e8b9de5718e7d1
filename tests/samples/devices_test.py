"""Every entry of every sample on devices, on 1 to 3 tasks: the output must be that of the same run on hosts, and the counters what was
planned.

usage: devices_test.py FERRY SAMPLES_FOLDER DATA_FOLDER SEEDS
       devices_test.py FERRY SAMPLES_FOLDER DATA_FOLDER gpu
On simulated devices, where as many orders are drawn for each; or on the GPUs that FERRY finds, whose sums of floats may be rounded
otherwise. Each run has three steps: the second captures work for the third to replay. Large samples run one step. The last line is "N passed, N failed, N skipped".
"""

import math
import re
import subprocess
import sys

from samples_test import ENVIRONMENT, FERRY, SAMPLES, check_stats, data_of, fed, jobs_of, refusal, run, run_all

ON_GPU = sys.argv[4] == "gpu"
DEVICES = ["gpu"] if ON_GPU else [f"sim:{seed}" for seed in range(1, 1 + int(sys.argv[4]))]
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)")
LARGE = {"fashion", "fashion_cnn", "resnet50"}  # tens of seconds: on 2 tasks alone, but for many seeds
# Of async_server, what more steps give depends on which worker is ahead; a step of charlm's entry `write` is a loop of 300 turns.
ONE_STEP = {"async_server", "charlm write"}


def alike(text, other):
    """Whether the texts are equal; on GPUs, but for numbers that differ by their rounding."""
    if not ON_GPU or text == other:
        return text == other
    pairs = list(zip(NUMBER.findall(text), NUMBER.findall(other)))
    near = all(a == b or math.isclose(float(a), float(b), rel_tol=2e-3, abs_tol=2e-4) for a, b in pairs)
    return near and NUMBER.sub("#", text) == NUMBER.sub("#", other)


def sample(name):
    def all_entries(folder):
        file, tried = SAMPLES / f"{name}.pb", 0
        entries = re.findall(r"^entry (\w+):", run("show", file), re.M)
        for entry in entries if name != "resnet50" else ["init"]:  # the rest of it takes minutes
            for tasks in (2,) if name in LARGE and len(DEVICES) == 1 else (1, 2, 3):
                steps = 1 if name in LARGE or {name, f"{name} {entry}"} & ONE_STEP else 3
                words = [file, "--entry", entry, "--data", data_of(name), "--steps", steps, "--threads", 1, "--deadline", 600, *jobs_of(name, tasks)]
                words += fed(folder / f"{entry}-{tasks}", *words, "--tasks", tasks)
                command = [FERRY, "run", *map(str, words), "--tasks", str(tasks)]
                here = subprocess.run([*command, "--device", "cpu"], capture_output=True, text=True, env=ENVIRONMENT)
                if here.returncode == 4 and (reason := refusal(name, entry, tasks)):
                    assert reason in here.stderr, here.stderr
                    continue
                assert here.returncode == 0, here.stderr
                for device in DEVICES:
                    stats = folder / "stats.json"
                    done = subprocess.run([*command, "--device", device, "--stats", stats], capture_output=True, text=True, env=ENVIRONMENT)
                    said = f"{name} --entry {entry} --tasks {tasks} --device {device}"
                    assert done.returncode == 0, f"{said}: {done.stderr}"
                    assert alike(done.stdout, here.stdout), f"{said}: {done.stdout}, not {here.stdout}"
                    check_stats(stats)
                tried += 1
        assert tried > 0
    return all_entries


def cases():
    for file in sorted(SAMPLES.glob("*.pb")):
        yield file.stem, sample(file.stem) if data_of(file.stem).exists() else None


if __name__ == "__main__":
    sys.exit(run_all(cases()))
