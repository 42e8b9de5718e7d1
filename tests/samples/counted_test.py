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

from samples_test import DATA, ENVIRONMENT, FASHION, FERRY, MPIRUN, SAMPLES, TEXTS, check_stats, fed, run, run_all

COUNT_SENDS = sys.argv[4]
ALL = "all" in sys.argv[5:]
QUICK = ("add", "tensor_parallel", "zero")
FOLDERS = {"fashion": FASHION, "fashion_cnn": FASHION, "charlm": TEXTS}  # of their data; others have theirs in DATA
FEW, MORE = 2, 6
APART = "unshare --mount --pid --fork --kill-child --mount-proc"


def sends(file):
    """What count_sends.cpp wrote of ferry's messages: destination -> [messages, bytes]."""
    lines = [line.split(",") for line in file.read_text().splitlines()]
    return {int(peer): [int(messages), int(size)] for name, peer, messages, size in lines if name == "ferry data"}


def counted(folder, tasks, steps, words):
    """The counters of ferry's last step, and what MPI was given to send: of each task."""
    folder.mkdir(parents=True)
    stats = folder / "stats.json"
    command = [MPIRUN, "--oversubscribe", "--bind-to", "none", "--mca", "btl", "tcp,self", "-np", str(tasks),
               "-x", f"COUNT_SENDS={folder}", *APART.split(), "env", f"LD_PRELOAD={COUNT_SENDS}",
               str(FERRY), "run", *map(str, words), "--steps", str(steps), "--stats", str(stats)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    check_stats(stats)
    return json.loads(stats.read_text())["tasks"], [sends(folder / str(task)) for task in range(tasks)]


def count(folder, tasks, words):
    stats, few = counted(folder / "few", tasks, FEW, words)
    _, more = counted(folder / "more", tasks, MORE, words)
    each = [{peer: [(b - a) / (MORE - FEW) for a, b in zip(few[task].get(peer, [0, 0]), sent)] for peer, sent in more[task].items()}
            for task in range(tasks)]
    for task, of_task in enumerate(stats):
        sent = [sum(numbers[k] for numbers in each[task].values()) for k in (0, 1)]
        received = [sum(others.get(task, [0, 0])[k] for others in each) for k in (0, 1)]
        assert sent == [of_task["sent_messages"], of_task["sent_bytes"]], f"task {task}: MPI sent {sent}; {of_task}"
        assert sent == [of_task["wire_messages"], of_task["wire_bytes"]], f"task {task}: MPI sent {sent}; {of_task}"
        assert received == [of_task["received_messages"], of_task["received_bytes"]], f"task {task}: MPI received {received}; {of_task}"


def sample(name, tasks):
    jobs = ["--jobs", f"ps=0,worker=1-{tasks - 1}"] if name == "parameter_server" else []

    def all_entries(folder):
        file, tried = SAMPLES / f"{name}.pb", 0
        for entry in re.findall(r"^entry (\w+):", run("show", file), re.M):
            words = [file, "--entry", entry, "--data", FOLDERS.get(name, DATA), "--threads", 1, *jobs]
            words += fed(folder / entry, *words, "--tasks", tasks)
            here = subprocess.run([FERRY, "run", *map(str, words), "--tasks", str(tasks)], capture_output=True, text=True, env=ENVIRONMENT)
            if here.returncode == 4 and "task" in here.stderr:
                continue  # it is made for another number of tasks
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
        there = FOLDERS.get(file.stem, DATA).exists()
        for tasks in (2, 3, 4) if ALL else (3 if file.stem == "add" else 2,):
            yield f"{file.stem} on {tasks}", sample(file.stem, tasks) if there else None


if __name__ == "__main__":
    if not apart():
        print("root, unshare and mpirun are needed")
        sys.exit(77)
    sys.exit(run_all(cases()))
