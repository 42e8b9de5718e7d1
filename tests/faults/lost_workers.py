#!/usr/bin/env python3
"""Asynchronous jobs that lose workers: lost_workers.py FERRY ASYNC_JOB DYING_OPS JOBS [SEED]

ASYNC_JOB writes the graphs (async_job.cpp), DYING_OPS kills tasks in steps that are named (dying_ops.cpp). Of JOBS jobs, started by hand
over TCP or by `ferry launch --go-on`, each loses some workers in random steps: the others end well, one warning names each that is lost, and
a run that repeats the recorded turns has the same bits. Ends with 1 if a case fails.
"""
import functools
import itertools
import json
import os
import random
import re
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import subprocess  # noqa: E402

import launched  # noqa: E402
import tcp_job  # noqa: E402
from cases import run as run_cases  # noqa: E402

FERRY, ASYNC_JOB, DYING_OPS = map(os.path.abspath, sys.argv[1:4])
SECONDS = 60
STEPS = 60
FOLDER = tempfile.TemporaryDirectory(prefix="ferry-lost-")
HERE = Path(FOLDER.name)


def graph(servers, keeps):
    file = HERE / f"{servers}-{keeps}.pb"
    if not file.exists():
        subprocess.run([ASYNC_JOB, str(servers), str(keeps), "--save-graph", file], check=True, timeout=SECONDS)
    return file


def command(servers, workers, *words, keeps=0):
    jobs = f"ps=0-{servers - 1},worker={servers}-{servers + workers - 1}"
    return [FERRY, "run", graph(servers, keeps), "--ops", DYING_OPS, "--jobs", jobs, "--entry", "train", "--threads", 1, *words]


def by_hand(command, size, dies="", file=None):
    """Exit codes of all tasks; what task 0 printed, and what all have written to stderr. With `file` they meet there, not at a port."""
    at_port = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(tcp_job.free_port())}
    where = {"FERRY_RENDEZVOUS": f"file:{file}", "FERRY_SECRET": "what the tasks of a test know"} if file else at_port
    tasks = [subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=tcp_job.environment(RANK=str(rank), WORLD_SIZE=str(size), FERRY_TEST_DIES=dies, **where))
             for rank in range(size)]
    try:
        texts = [task.communicate(timeout=SECONDS) for task in tasks]
    finally:
        for task in tasks:
            task.kill()
    return [task.returncode for task in tasks], texts[0][0], "".join(errors for _, errors in texts)


def launch(words, size, dies, *options):
    return launched.run(FERRY, *options, "-n", size, "-x", f"FERRY_TEST_DIES={dies}", "--", *words)


def weights(folder):
    return sorted((path.name, path.read_bytes()) for path in folder.rglob("*.safetensors"))


def steps_of(out):
    """The lines of the steps and results, without how fast they were."""
    return [re.sub(r", [0-9.,]+ (steps/s|samples/s|s/step)$", "", re.sub(r"^\[0\] ", "", line)) for line in out.splitlines()]


def equal(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: {got}, not {wanted}")


def has(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text):
            raise AssertionError(f"{pattern!r} is not in:\n{text}")


def job(folder, dice):
    folder.mkdir()
    servers, workers = dice.randrange(1, 3), dice.randrange(2, 5)
    size = servers + workers
    lost = sorted(dice.sample(range(servers, size), dice.randrange(1, workers)))
    dies = " ".join(f"{task}@{dice.randrange(STEPS - 10)}" for task in lost)
    words = ["--steps", STEPS, "--print-every", 1]
    recorded = [*words, "--record-turns", folder / "turns", "--save", folder / "first"]
    if dice.random() < 0.4:
        recorded += ["--checkpoint", folder / "saved", "--checkpoint-every", dice.randrange(1, 20)]
    if launches := dice.random() < 0.5:
        code, out, errors = launch(command(servers, workers, *recorded), size, dies, "--go-on")
        equal(code, 0, f"{dies}: exit code, with\n{errors}")
        for task in lost:
            has(errors, rf"(?m)^warning: task {task} on \S+ was killed by signal 9 \(Killed\); the job has gone on$")
    else:
        codes, out, errors = by_hand(command(servers, workers, *recorded), size, dies, dice.choice([None, folder / "meeting"]))
        equal(codes, [-9 if task in lost else 0 for task in range(size)], f"{dies}: exit codes, with\n{errors}")
    named = re.findall(r"warning: the job continues without task (\d+) \(host ", errors)
    equal(sorted(map(int, named)), lost, f"{dies}: named as lost in\n{errors}")
    equal(errors.count("error: "), 0, f"errors in\n{errors}")
    repeat = command(servers, workers, *words, "--replay-turns", folder / "turns", "--save", folder / "again")
    if dice.random() < 0.3:
        codes, again, errors = by_hand(repeat, size)
    else:
        done = subprocess.run(list(map(str, [*repeat, "--tasks", size])), capture_output=True, text=True, timeout=SECONDS, check=False)
        codes, again, errors = [done.returncode], done.stdout, done.stderr
    equal((set(codes), errors), ({0}, ""), f"{dies}: when repeated")
    differ = [pair for pair in itertools.zip_longest(steps_of(again), steps_of(out)) if len(set(pair)) > 1]
    equal(differ, [], f"{dies}: what was printed when repeated, and before")
    equal(weights(folder / "again"), weights(folder / "first"), f"{dies}: weights when repeated")
    how = "launched" if launches else "by hand"
    return f"{how}, {servers} servers, {workers} workers, lost {dies}"


def a_server_is_lost():
    """Also beside a worker that was lost before."""
    port = tcp_job.free_port()
    words = command(2, 2, "--steps", 10 ** 12, "--print-every", 1000)
    tasks = [tcp_job.start(words, rank, 4, port, FERRY_TEST_DIES="3@5") for rank in range(4)]
    try:
        tasks[0].stdout.readline()  # it runs
        tasks[1].send_signal(signal.SIGKILL)
        codes = [task.wait(SECONDS) for task in tasks]
        errors = tasks[0].stderr.read()
    finally:
        for task in tasks:
            task.communicate()
    equal(codes, [5, -9, 5, -9], f"exit codes, with\n{errors}")
    has(errors, r"warning: the job continues without task 3 ", r"error: task 1 .*(is gone|failed first)")


def all_workers_are_lost():
    codes, _, errors = by_hand(command(1, 2, "--steps", STEPS), 3, "1@3 2@7")
    equal(codes, [5, -9, -9], f"exit codes, with\n{errors}")
    has(errors, r"error: all workers are lost: the last was task [12]\n", r"try: .*--resume")


def the_launcher_is_not_told():
    code, _, errors = launch(command(1, 2, "--steps", 10 ** 12), 3, "2@3")
    equal(code, 137, f"exit code, with\n{errors}")
    has(errors, r"error: task 2 on \S+ was killed by signal 9")



def a_variable_of_a_lost_worker():
    codes, out, errors = by_hand(command(1, 3, "--steps", STEPS, "--save", HERE / "none", keeps=1), 4, "1@20")
    equal(codes, [5, -9, 5, 5], f"exit codes, with\n{errors}")
    has(errors, r'error: task 1 is lost, and its send of "kept" to task 0 at \S+ is needed', r"try: keep lasting values on servers")
    assert not (HERE / "none").exists(), out


def a_run_that_needs_all_workers():
    codes, _, errors = by_hand(command(1, 3, "--steps", STEPS, "--eval-every", 50), 4, "2@20")
    equal(codes, [5, 5, -9, 5], f"exit codes, with\n{errors}")
    has(errors, r'error: task 2 is lost, and its RandomUniform ".*" at \S+ is needed', r"try: keep lasting values on servers")
    codes, out, errors = by_hand(command(1, 3, "--steps", STEPS, "--checkpoint", HERE / "kept", keeps=1), 4, "1@20")
    equal(codes, [5, -9, 5, 5], f"exit codes, with\n{errors}")
    has(errors, r"error: the variable 'kept' is on task 1, which is lost", r"try: keep lasting variables on servers")


def a_run_goes_on_from_its_checkpoint():
    saved = ["--checkpoint", HERE / "saved", "--checkpoint-every", 10]
    codes, _, errors = by_hand(command(1, 3, "--steps", STEPS, *saved), 4, "2@15")
    equal(codes, [0, 0, -9, 0], f"exit codes, with\n{errors}")
    codes, out, errors = by_hand(command(1, 2, "--steps", 2 * STEPS, "--print-every", 1, *saved, "--resume"), 3)
    equal(codes, [0, 0, 0], f"exit codes, with\n{errors}")
    has(errors, rf"continues after step {STEPS} of {2 * STEPS}")
    has(out, rf"(?m)^step {STEPS + 1}/{2 * STEPS}")


def statistics():
    codes, _, errors = by_hand(command(1, 3, "--steps", STEPS, "--stats", HERE / "stats.json"), 4, "2@15")
    equal(codes, [0, 0, -9, 0], f"exit codes, with\n{errors}")
    tasks = json.loads((HERE / "stats.json").read_text())["tasks"]
    equal([task["task"] for task in tasks], [0, 1, 2, 3], "tasks")
    equal([bool(task["host"]) for task in tasks], [True, True, False, True], "tasks with a host")


def main(jobs, seed="1"):
    dice = random.Random(int(seed))
    cases = [("060 " + case.__name__, case) for case in (
        a_server_is_lost, all_workers_are_lost, the_launcher_is_not_told, a_variable_of_a_lost_worker, a_run_that_needs_all_workers,
        a_run_goes_on_from_its_checkpoint, statistics)]
    cases += [(f"060 job {number}", functools.partial(job, HERE / f"job-{number}", dice)) for number in range(int(jobs))]
    return run_cases(cases)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[4:]))
