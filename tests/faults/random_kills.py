#!/usr/bin/env python3
"""Random kills of jobs that `ferry launch` starts: whether the result is that of a job nobody killed, and whether anything is left.

usage: random_kills.py FERRY CHECKPOINT_JOB RESTARTS KILLS [SEED]
CHECKPOINT_JOB is checkpoint_job.cpp. RESTARTS jobs run to their end with --restarts while tasks of theirs are killed, up to three
times each; then in KILLS jobs the launcher, the agent or a task is killed once. Afterwards no process, listening or named socket,
shared segment or temporary file may be there that was not before. The last line is "N passed, N failed, 0 skipped".
"""
import contextlib
import fcntl
import functools
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import launched  # noqa: E402
from cases import run as run_cases  # noqa: E402

FERRY, CHECKPOINT_JOB = map(os.path.abspath, sys.argv[1:3])
STEPS = 30
RESTARTS = []  # of each job that came to its end
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
AGAIN = r"the job starts again in \S+ s: restart"
# A task says which process it is; exec keeps the number.
TASK = ("sh", "-c", 'echo process $$; exec "$@"', "sh", CHECKPOINT_JOB)


def result(out):
    return (out / "total.npy").read_bytes()


def undisturbed(tasks, folder):
    code, _, err = launched.run(FERRY, "-n", tasks, "--", CHECKPOINT_JOB, "--steps", STEPS, "--out", folder)
    assert code == 0, err
    return result(folder)


def kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def said(job, pattern, times):
    """As await_line, but nothing once the job has come to its end."""
    try:
        return job.await_line(pattern, times)
    except AssertionError as error:
        if not str(error).startswith("the job ended"):
            raise
        return None


def restarts_of(job):
    return len(re.findall(AGAIN, job.said.decode()))


def restarted(dice, expected, folder):
    """Kills tasks of a job at random; returns a line about it."""
    tasks = dice.choice(list(expected))
    out = folder / "out"
    with launched.Job(FERRY, "-n", tasks, "--restarts", 9, "--restart-wait", 0.001, "--", *TASK, "--steps", STEPS, "--out", out, "--checkpoint", folder / "saved",
                      "--checkpoint-every", dice.randrange(1, 4), "--resume") as job:
        for _ in range(dice.randrange(1, 4)):
            task, steps, starts = dice.randrange(tasks), dice.randrange(0, 12), restarts_of(job)
            if not (process := said(job, rf"^\[{task}\] process (\d+)$", starts + 1)):
                break
            if steps and not said(job, r"^\[0\] total: ", job.said.count(b"total: ") + steps):
                break
            kill(int(process[1]))
            if not said(job, AGAIN, starts + 1):
                break
        code, text = job.end()
        job.await_all_gone()
    starts = restarts_of(job)
    assert code == 0, f"{tasks} tasks: ended with {code}:\n{text}"
    assert result(out) == expected[tasks], f"{tasks} tasks: another result after {starts} restarts"
    RESTARTS.append(starts)
    return f"{tasks} tasks, {starts} restarts: the same result"


def jobs_were_restarted():
    """A kill may come too late for one job, but hardly for all of them."""
    assert sum(RESTARTS) > 0, f"none of {len(RESTARTS)} jobs was restarted"
    return f"{len(RESTARTS)} jobs, {sum(RESTARTS)} restarts"


def left_over():
    """What can stay of a job: named sockets, listening ports, segments in shared memory."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as names:
        found = {words[7] for line in names if len(words := line.split()) > 7}
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{table}", encoding="utf-8") as lines:
            listening = "07" if table.startswith("udp") else "0A"
            found |= {f"{table} {words[1]}" for line in lines if (words := line.split())[3] == listening}
    found |= {f"/dev/shm/{name}" for name in os.listdir("/dev/shm")}
    with open("/proc/sysvipc/shm", encoding="utf-8") as lines:
        found |= {f"segment {line.split()[1]}" for line in list(lines)[1:]}
    return found


def killed(dice, folder):
    """Kills one process of a job at random; returns a line about it."""
    tasks = dice.randrange(2, 5)
    before = left_over()
    os.environ["TMPDIR"] = str(folder)
    with launched.Job(FERRY, "-n", tasks, "--", *TASK, "--steps", 1000000000) as job:
        # Before, while or after they join the job.
        when = dice.choice(["at once", "as it starts", "as it runs"])
        if when != "at once":
            job.await_line(r"^\[\d\] process \d+$", dice.randrange(1, tasks + 1))
        if when == "as it runs":
            job.await_line(r"^\[0\] total: ", dice.randrange(1, 20))
        else:
            job.read_for(dice.random() / 10)  # the kill comes at any moment
        others = [process for process in job.processes() if process != job.launcher.pid]
        victim = dice.choice(["launcher", "another"]) if others else "launcher"
        kill(dice.choice(others) if victim == "another" else job.launcher.pid)
        begin = time.monotonic()
        job.await_all_gone()
        gone = time.monotonic() - begin
        job.end()
    left = {name for name in left_over() - before if "ferry" in name or "FERRY_TEST_APART" in os.environ}
    assert not left, f"{victim} killed {when}: left over: {sorted(left)}"
    assert not (files := os.listdir(folder)), f"{victim} killed {when}: left over: {files}"
    return f"{victim} of {tasks} tasks killed {when}: all gone after {gone:.2f} s"


def apart():
    """Runs this in a network, shared memory and /dev/shm of its own, if the system lets it: nobody else's things are there then."""
    if "FERRY_TEST_APART" in os.environ:
        with socket.socket() as any_socket:  # loopback begins down
            request = struct.pack("16sH14x", b"lo", IFF_UP)
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, request)
        return
    unshare = ["unshare", "--map-root-user", "--net", "--ipc", "--mount"]
    mounted = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'
    if shutil.which("unshare") and subprocess.run([*unshare, "sh", "-c", mounted, "sh", "true"], capture_output=True, check=False).returncode == 0:
        os.environ["FERRY_TEST_APART"] = "1"
        os.execvp("unshare", [*unshare, "sh", "-c", mounted, "sh", sys.executable, *sys.argv])


def main(restarts, kills, seed="1"):
    apart()
    dice = random.Random(int(seed))
    with tempfile.TemporaryDirectory(prefix="ferry-kills-") as folder:
        folder = Path(folder)
        expected = {tasks: undisturbed(tasks, folder / f"of-{tasks}") for tasks in (2, 3, 4)}

        def case(number):
            own = folder / f"{number}"
            own.mkdir()
            return restarted(dice, expected, own) if number < int(restarts) else killed(dice, own)
        cases = [(f"job {number}", functools.partial(case, number)) for number in range(int(restarts) + int(kills))]
        cases.insert(int(restarts), ("restarts", jobs_were_restarted))
        return run_cases(cases)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[3:]))
