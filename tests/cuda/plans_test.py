"""Every entry of every sample for jobs whose tasks have a GPU each: its plan is made, is proved, and has work for GPUs.

usage: plans_test.py FERRY SAMPLES_FOLDER DATA_FOLDER [TASKS…]
FERRY: one that has kernels for GPUs. TASKS: numbers of tasks, else 1 and 4. Nothing is run. The last line is "N passed, N failed, N skipped".
"""

import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "samples"))
from samples_test import FERRY, SAMPLES, SERVED, refusal, run, run_all

TASKS = [int(word) for word in sys.argv[4:] if word.isdigit()] or [1, 4]
ON_HOSTS = {("async_server", "init")}  # variables of servers, which are annotated with cpu:0


def cluster(sample, tasks):
    """The text of a file of a cluster of so many tasks; those of samples with servers have the first task for one."""
    if sample not in SERVED:
        return f'host {{ name: "a" tasks: {tasks} gpus: 1 }}\n'
    workers = f'host {{ name: "b" tasks: {tasks - 1} gpus: 1 }}\n' if tasks > 1 else ""
    return f'host {{ name: "a" job: "ps" gpus: 1 }}\n{workers}'


def made(command, *words):
    """The end of `ferry COMMAND WORDS…`, with sizes of 8 for those that an input leaves open."""
    command = [FERRY, command, *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if open_shape := re.search(r"the shape of input '(\w+)' is open: \w+\[(.*?)\]", done.stderr):
        sizes = re.sub(r"[a-z]\w*", "8", open_shape[2])
        done = subprocess.run([*command, "--shape", f"{open_shape[1]}={sizes}"], capture_output=True, text=True)
    return done


def sample(name):
    def all_entries(folder):
        graph, file = SAMPLES / f"{name}.pb", folder / "cluster.pbtxt"
        entries, planned = re.findall(r"^entry (\w+):", run("show", graph), re.M), set()
        for tasks in TASKS:
            file.write_text(cluster(name, tasks))
            for entry in entries:
                words = [graph, "--entry", entry, "--cluster", file]
                said = f"{name} --entry {entry} on {tasks} tasks"
                checked = made("check", *words)
                if checked.returncode == 4 and (reason := refusal(name, entry, tasks)):
                    assert reason in checked.stderr, f"{said}: {checked.stderr}"
                    continue
                passes = checked.returncode == 0 and checked.stdout.startswith("PASS\n")
                assert passes, f"{said}: {checked.stdout}{checked.stderr}"
                on_gpu = "gpu:0.compute" in made("plan", "--all", *words).stdout
                expected = (name, entry) not in ON_HOSTS
                assert on_gpu == expected, f"{said}: {'some' if on_gpu else 'no'} ops run on gpu:0"
                planned.add(entry)
        assert planned == set(entries), f"{name}: no plan of {set(entries) - planned}"
    return all_entries


if __name__ == "__main__":
    sys.exit(run_all((file.stem, sample(file.stem)) for file in sorted(SAMPLES.glob("*.pb"))))
