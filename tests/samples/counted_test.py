"""What a sample's tasks send, counted from outside: by MPI's profiling interface, of tasks that share no memory since each is in a
pid namespace of its own, as containers are.

usage: counted_test.py FERRY SAMPLES_FOLDER DATA_FOLDER COUNT_SENDS_LIBRARY [all]
Each entry of the samples in QUICK on 2 tasks; with `all`, of every sample on 2 to 4. Messages and bytes of a step must be those that
--stats has and the plan said. Needs root, namespaces and mpirun; ends with 77, skipped, where one of them is missing. The last line is
"N passed, N failed, N skipped".
"""

import json
import re
import shutil
import subprocess
import sys

from samples_test import ENVIRONMENT, FERRY, MPIRUN, SAMPLES, check_stats, data_of, fed, jobs_of, refusal, run, run_all
from sends import check_sends, sends

COUNT_SENDS = sys.argv[4]
ALL = "all" in sys.argv[5:]
QUICK = ("add", "tensor_parallel", "zero")
FEW, MORE = 2, 6
APART = "unshare --mount --pid --fork --kill-child --mount-proc"


def counted(folder, tasks, steps, words):
    """The counters of ferry's last step, and what MPI was given to send: of each task."""
    folder.mkdir(parents=True)
    stats = folder / "stats.json"
    sanitizer = ENVIRONMENT.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    command = [MPIRUN, "--oversubscribe", "--bind-to", "none", "--mca", "btl", "tcp,self", "-np", str(tasks),
               "-x", f"COUNT_SENDS={folder}", *APART.split(), "env", f"LD_PRELOAD={COUNT_SENDS}", f"ASAN_OPTIONS={sanitizer}",
               str(FERRY), "run", *map(str, words), "--steps", str(steps), "--stats", str(stats)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    check_stats(stats)
    return json.loads(stats.read_text())["tasks"], [sends((folder / str(task)).read_text()) for task in range(tasks)]


def count(folder, tasks, words):
    stats, few = counted(folder / "few", tasks, FEW, words)
    _, more = counted(folder / "more", tasks, MORE, words)
    check_sends(stats, few, more, MORE - FEW)


def sample(name, tasks):
    def all_entries(folder):
        file, tried = SAMPLES / f"{name}.pb", 0
        for entry in re.findall(r"^entry (\w+):", run("show", file), re.M):
            words = [file, "--entry", entry, "--data", data_of(name), "--threads", 1, *jobs_of(name, tasks)]
            words += fed(folder / entry, *words, "--tasks", tasks)
            here = subprocess.run([FERRY, "run", *map(str, words), "--tasks", str(tasks)], capture_output=True, text=True, env=ENVIRONMENT)
            if here.returncode == 4 and (reason := refusal(name, entry, tasks)):
                assert reason in here.stderr, here.stderr
                continue
            assert here.returncode == 0, here.stderr
            count(folder / f"{entry}-{tasks}", tasks, words)
            tried += 1
        print(f"{name} on {tasks} tasks: {tried} entries counted")
    return all_entries


def apart():
    """Each task of a job can be in a pid namespace of its own here."""
    if MPIRUN is None or not shutil.which("unshare"):
        return False
    return subprocess.run([*APART.split(), "true"], capture_output=True).returncode == 0


def cases():
    for file in sorted(SAMPLES.glob("*.pb")):
        if not ALL and file.stem not in QUICK:
            continue
        if file.stem == "async_server":  # its server may take more or fewer turns in a step than the plan's one of each worker
            continue
        there = data_of(file.stem).exists()
        for tasks in (2, 3, 4) if ALL else (3 if file.stem == "add" else 2,):
            yield f"{file.stem} on {tasks}", sample(file.stem, tasks) if there else None


if __name__ == "__main__":
    if not apart():
        print("root, unshare and mpirun are needed")
        sys.exit(77)
    sys.exit(run_all(cases()))
