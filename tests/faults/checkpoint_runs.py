#!/usr/bin/env python3
"""Runs that save checkpoints and are killed, told to stop, and resumed: checkpoint_runs.py JOB FERRY DISK_FAULTS TRAINING_JOB [CASE…]

JOB is checkpoint_job.cpp, DISK_FAULTS a library to preload (disk_faults.cpp), TRAINING_JOB tests/support/training_job.cpp. A
case compares the variables with those of a run that was not disturbed, so it does not matter at which moment a signal comes.
Runs the cases whose names begin with one of CASE, all if none is given. Prints a line for each; ends with 1 if one fails.
"""
import fcntl
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from training_data import write_training_data

JOB, FERRY, DISK_FAULTS, TRAINING_JOB = sys.argv[1:5]
MPIRUN = shutil.which("mpirun")
SECONDS = 120  # limit for a command that hangs; none takes as long otherwise
FOLDER = Path(tempfile.mkdtemp(prefix="ferry-checkpoints-"))
LONG = 1000000000000  # steps of a run that never ends by itself


class Failed(Exception):
    pass


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "SLURM_"))}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", LD_PRELOAD="", FERRY_TEST_SYNC="",
               ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")  # other libraries are preloaded before ASan's
    return dict(env, **more)


def command(tasks, *words):
    """The command of the job; `tasks` is a number of tasks in one process, or "mpi N" for N processes."""
    if isinstance(tasks, int):
        return [JOB, "--threads", "1", "--tasks", str(tasks), *words]
    return [MPIRUN, "--oversubscribe", "-np", tasks.split()[1], "-x", "LD_PRELOAD", "-x", "FERRY_TEST_SYNC", JOB, "--threads", "1",
            *words]


def run(words, env=None, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS,
                          env=environment(**(env or {})), **more)
    return done.returncode, done.stderr


def expect(result, code, *parts):
    got, errors = result
    if got != code:
        raise Failed(f"exit code {got}, not {code}; it said:\n{errors[-3000:]}")
    for part in parts:
        if part not in errors:
            raise Failed(f"{part!r} is not in:\n{errors[-3000:]}")


def fresh(name):
    path = FOLDER / name
    shutil.rmtree(path, ignore_errors=True)
    return str(path)


def saved(tasks, steps, *words):
    """Runs the job to its end, and returns the bytes of all variables."""
    model = fresh("model")
    expect(run(command(tasks, "--steps", str(steps), "--save", model, *words)), 0)
    return Path(model, "variables.safetensors").read_bytes()


def same(a, b):
    if a != b:
        raise Failed("the variables differ from those of a run that was not disturbed")


def start(tasks, *words):
    return subprocess.Popen(command(tasks, *words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            env=environment())


def after_lines(job, count):
    """Waits until the job has printed `count` lines; False if it ended before."""
    return all(job.stderr.readline() for _ in range(count))


def ranks(job):
    """The processes that mpirun has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            exe = os.readlink(stat.parent / "exe")
        except OSError:
            continue
        if int(fields[1]) == job.pid and exe == os.path.realpath(JOB):
            found.append(int(stat.parent.name))
    return sorted(found)


def end_of(job):
    try:
        errors = job.communicate(timeout=SECONDS)[1]
    finally:
        job.kill()
    return job.returncode, errors


def stopped_step(errors):
    found = re.search(r"stopped after step (\d+)", errors)
    if found is None:
        raise Failed(f"it does not say where it stopped:\n{errors[-2000:]}")
    return int(found.group(1))


def told_to_stop(tasks, tell):
    folder = fresh("stop")
    job = start(tasks, "--steps", str(LONG), "--checkpoint", folder)
    after_lines(job, 50)
    tell(job)
    result = end_of(job)
    expect(result, 75, "its checkpoint is in")
    step = stopped_step(result[1])
    if sorted(os.listdir(folder)) != ["lock", f"step-{step:010}"]:
        raise Failed(f"the folder has {os.listdir(folder)}")
    same(saved(tasks, step + 5, "--checkpoint", folder, "--resume"), saved(tasks, step + 5))


def case_081_sigterm_saves_and_stops():
    told_to_stop(2, lambda job: job.send_signal(signal.SIGTERM))


def case_081_sigterm_to_one_of_two_processes():
    if MPIRUN is None:
        return "no mpirun here"
    told_to_stop("mpi 2", lambda job: os.kill(ranks(job)[1], signal.SIGTERM))


def case_081_sigterm_many_times():
    told_to_stop(3, lambda job: [job.send_signal(signal.SIGTERM) for _ in range(20)])


F_SETPIPE_SZ = 1031


def unread_bytes(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def case_081_sigterm_when_nobody_reads():
    """mpirun stops reading from its ranks once it was told to end them: that must not keep a run that prints from saving."""
    folder = fresh("unread")
    job = start(2, "--steps", str(LONG), "--checkpoint", folder)
    fcntl.fcntl(job.stderr, F_SETPIPE_SZ, 8192)
    while job.poll() is None and unread_bytes(job.stderr) < 4000:  # the first of the pipe's two pages is nearly full
        pass
    job.send_signal(signal.SIGTERM)
    try:
        code = job.wait(timeout=SECONDS)
    finally:
        job.kill()
    names = [name for name in os.listdir(folder) if name.startswith("step-")]
    if code != 75 or len(names) != 1:
        raise Failed(f"exit code {code}, and the folder has {names}")


def case_080_interrupt_of_a_run_that_saves():
    folder = fresh("interrupt")
    job = start(2, "--steps", str(LONG), "--checkpoint", folder)
    after_lines(job, 50)
    job.send_signal(signal.SIGINT)
    expect(end_of(job), 130, "interrupted")
    if os.listdir(folder) != ["lock"]:
        raise Failed(f"the folder has {os.listdir(folder)}")


def case_082_sigterm_during_checkpoints():
    folder = fresh("during")
    job = start(2, "--steps", str(LONG), "--checkpoint", folder, "--checkpoint-every", "1")
    after_lines(job, 20)
    job.send_signal(signal.SIGTERM)
    result = end_of(job)
    expect(result, 75)
    step = stopped_step(result[1])
    same(saved(2, step + 5, "--checkpoint", folder, "--resume"), saved(2, step + 5))


def killed_at_random(tasks, kills, steps, kill, *words):
    """Kills the job `kills` times, at moments that depend on the machine; the result must not depend on them."""
    dice = random.Random(7)
    folder = fresh("killed")
    for _ in range(kills):
        job = start(tasks, "--steps", str(steps), "--checkpoint", folder, "--checkpoint-every", str(steps // 40), "--resume", *words)
        if after_lines(job, dice.randrange(1, steps // kills)):
            kill(job)
        end_of(job)
    same(saved(tasks, steps, "--checkpoint", folder, "--resume", *words), saved(tasks, steps, *words))


def case_060_killed_at_random_steps():
    killed_at_random(2, 10, 40000, lambda job: job.kill())


def case_060_one_of_two_processes_killed_at_random_steps():
    if MPIRUN is None:
        return "no mpirun here"
    killed_at_random("mpi 2", 3, 8000, lambda job: os.kill(ranks(job)[1], signal.SIGKILL))


def evaluations(said):
    return {line for line in said.splitlines() if line.startswith("eval after step ")}


def case_060_metrics_of_a_killed_run():
    """Each step up to the newest checkpoint has its line, and after the next run each step has one."""
    metrics = FOLDER / "metrics.jsonl"
    for _ in range(5):
        folder = fresh("killed")
        job = start(1, "--steps", str(LONG), "--checkpoint", folder, "--checkpoint-every", "20", "--metrics", str(metrics))
        after_lines(job, 100)
        job.kill()
        job.communicate(timeout=SECONDS)
        newest = max(int(name[5:]) for name in os.listdir(folder) if re.fullmatch(r"step-\d+", name))
        lines = [json.loads(line)["step"] for line in metrics.read_text().split("\n")[:-1]]
        if len(lines) < newest:
            raise Failed(f"a checkpoint of step {newest}, and {len(lines)} lines")
        expect(run(command(1, "--steps", str(newest + 5), "--checkpoint", folder, "--resume", "--metrics", str(metrics))), 0)
        lines = [json.loads(line)["step"] for line in metrics.read_text().splitlines()]
        if lines != list(range(1, newest + 6)):
            raise Failed(f"after a checkpoint of step {newest}: {lines}")


def case_060_killed_between_evaluations():
    """Training in epochs on a data file: no evaluation is left out, and each gives what it gives in an undisturbed run."""
    data = Path(fresh("data"))
    data.mkdir()
    write_training_data(data)
    words = [TRAINING_JOB, "--threads", "1", "--tasks", "2", "--data", str(data)]
    epochs = ["--epochs", "3", "--eval-every", "20"]
    models = fresh("undisturbed"), fresh("resumed")
    whole = subprocess.run([*words, *epochs, "--save", models[0]], capture_output=True, text=True, timeout=SECONDS, env=environment())
    wanted = evaluations(whole.stdout)
    if len(wanted) != 10:
        raise Failed(f"other evaluations: {whole.stdout}{whole.stderr}")
    words += ["--checkpoint", fresh("epochs"), "--checkpoint-every", "5", "--resume"]
    expect(run([*words, "--steps", "20"]), 0)  # as if it were killed before the first evaluation
    words += epochs
    said = ""
    for step in (31, 40, 59, 60, 100, 121, 160, 180):
        job = subprocess.Popen([*words, "--print-every", "1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env=environment())
        for line in job.stdout:
            said += line
            if line.startswith(f"step {step}/"):
                job.kill()
        job.wait()
    last = subprocess.run([*words, "--save", models[1]], capture_output=True, text=True, timeout=SECONDS, env=environment())
    expect((last.returncode, last.stderr), 0)
    if evaluations(said + last.stdout) != wanted:
        raise Failed(f"it evaluated {sorted(evaluations(said + last.stdout))}, undisturbed {sorted(wanted)}")
    same(*(Path(model, "variables.safetensors").read_bytes() for model in models))


def case_090_killed_between_the_saves_of_two_tasks():
    if MPIRUN is None:
        return "no mpirun here"
    wanted = saved("mpi 2", 9)
    # The probe for a writable folder takes two syncs, each checkpoint two for the shard and two for the list of its parts.
    for at in (3, 7, 9):
        folder = fresh("between")
        words = ["--checkpoint", folder, "--checkpoint-every", "2", "--checkpoint-keep", "9", "--resume"]
        code, errors = run(command("mpi 2", "--steps", "9", *words), env={"LD_PRELOAD": DISK_FAULTS, "FERRY_TEST_SYNC": f"kill {at} 1"})
        if code == 0:
            raise Failed("the process was not killed")
        complete = [name for name in os.listdir(folder) if name.startswith("step-")]
        if complete != ([] if at == 3 else ["step-0000000002"]):
            raise Failed(f"killed at its sync {at}: the folder has {complete}; it said:\n{errors[-2000:]}")
        same(saved("mpi 2", 9, *words), wanted)


def case_093_two_processes_resumed_as_one_three_and_four():
    if MPIRUN is None:
        return "no mpirun here"
    wanted = saved(1, 9, "--invariant=4")
    for tasks in (1, "mpi 3", "mpi 4"):
        words = ["--invariant=4", "--checkpoint", fresh("resharded"), "--checkpoint-every", "2"]
        expect(run(command("mpi 2", "--steps", "5", *words)), 0)
        same(saved(tasks, 9, *words, "--resume"), wanted)


def case_084_full_log():
    with open("/dev/full", "w") as full:
        code = subprocess.run(command(2, "--steps", "50", "--checkpoint", fresh("full")), stdout=subprocess.DEVNULL, stderr=full,
                              timeout=SECONDS, env=environment()).returncode
    if code != 0:
        raise Failed(f"exit code {code}")


def case_087_disk_full():
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))  # room for the lock, not for a shard
    folder = fresh("no_room")
    expect(run(command(2, "--steps", "9", "--checkpoint", folder, "--checkpoint-every", "2"), preexec_fn=limit), 7, "cannot be written")
    if os.listdir(folder) != ["lock"]:
        raise Failed(f"the folder has {os.listdir(folder)}")


def case_088_read_only_folder():
    expect(run(command(2, "--steps", str(LONG), "--checkpoint", "/sys")), 2, '"/sys"', "cannot be")


def case_095_two_jobs_in_one_folder():
    folder = fresh("shared")
    job = start(1, "--steps", str(LONG), "--checkpoint", folder)
    after_lines(job, 1)
    try:
        expect(run(command(1, "--steps", "5", "--checkpoint", folder)), 2, "another job uses it", f"process {job.pid} on ")
    finally:
        job.kill()
        job.communicate()
    expect(run(command(1, "--steps", "5", "--checkpoint", folder)), 0)


def case_095_two_runs_that_save_one_model():
    model = fresh("model_of_two")
    job = start(1, "--steps", str(LONG), "--save", model)
    after_lines(job, 1)
    try:
        expect(run(command(1, "--steps", str(LONG), "--save", model)), 2, "another job uses it", f"process {job.pid} on ")
    finally:
        job.kill()
        job.communicate()
    expect(run(command(1, "--steps", "5", "--save", model, "--out", "/sys/none")), 2, '"/sys/none"')  # before the first step
    expect(run(command(1, "--steps", "5", "--save", model)), 0)
    if sorted(os.listdir(model)) != ["manifest.json", "variables.safetensors"]:
        raise Failed(f"the folder has {os.listdir(model)}")


def case_096_failed_sync():
    wanted = saved(2, 9)
    for at in (4, 9):
        folder = fresh("sync")
        words = ["--checkpoint", folder, "--checkpoint-every", "2"]
        expect(run(command(2, "--steps", "9", *words), env={"LD_PRELOAD": DISK_FAULTS, "FERRY_TEST_SYNC": f"fail {at}"}), 7, "sync")
        same(saved(2, 9, *words, "--resume"), wanted)


def case_resumed_when_nothing_is_left():
    folder = fresh("done")
    wanted = saved(2, 9, "--checkpoint", folder)
    same(saved(2, 9, "--checkpoint", folder, "--resume"), wanted)


def case_options():
    for every in ("5m", "0", "-1s", "s", "1e3"):
        expect(run(command(1, "--checkpoint", fresh("options"), "--checkpoint-every=" + every)), 2, "--checkpoint-every", "30s")
    expect(run(command(1, "--resume")), 2, "--checkpoint")
    folder = fresh("options")
    expect(run(command(1, "--steps", "3", "--checkpoint", folder)), 0)
    expect(run(command(1, "--steps", "3", "--checkpoint", folder)), 2, "has checkpoints already, the newest of step 3", "--resume")
    expect(run(command(1, "--steps", "5", "--checkpoint", folder, "--resume", "--seed", "2")), 2, "saved with the seed 0, this run has 2")
    expect(run(command(1, "--steps", "5", "--checkpoint", fresh("none"), "--resume")), 0, "there is no checkpoint in")
    expect(run(command(1, "--steps", "5", "--checkpoint", folder, "--resume")), 0, "continues after step 3 of 5")


def case_show():
    folder = fresh("shown")
    expect(run(command(2, "--steps", "9", "--checkpoint", folder, "--checkpoint-every", "4")), 0)
    os.truncate(os.path.join(folder, "step-0000000008", "task-00001.safetensors"), 20)
    shown = subprocess.run([FERRY, "show", folder], capture_output=True, text=True, timeout=SECONDS).stdout
    for part in (r"^3 checkpoints, 2 sound$", r"^step-0000000004  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  step 4  2 tasks  112 B  sound$",
                 r"^step-0000000008 .*cannot be loaded: .*task-00001.safetensors.*cut short", r"^step-0000000009 .* sound$"):
        if not re.search(part, shown, re.MULTILINE):
            raise Failed(f"{part!r} is not in:\n{shown}")


def main():
    failed = 0
    chosen = sys.argv[5:]
    for name, case in sorted(globals().items()):
        if not name.startswith("case_") or (chosen and not any(name[5:].startswith(c) for c in chosen)):
            continue
        try:
            skipped = case()
            print(f"[skip] {name[5:]}: {skipped}" if skipped else f"ok {name[5:]}", flush=True)
        except (Failed, subprocess.TimeoutExpired) as why:
            failed += 1
            print(f"FAILED {name[5:]}: {why}", flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
