#!/usr/bin/env python3
"""Random faults of jobs over three hosts, two tasks on each, over TCP: whether the right one is blamed, and how soon all are out.

usage: random_faults.py FERRY COUNT [SEED]
The hosts are network namespaces of this machine, as in hosts_test.py, whose needs it has; ends with 77, skipped, where one is
missing. A fault kills or stops a task, cuts a host off or a link in one direction, or makes a host lose half of what it is sent
or hear a tenth as much as the job would send. The last line is "N passed, N failed, N skipped".
"""
import contextlib
import functools
import os
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]
from cases import run as run_cases  # noqa: E402
import three_hosts  # noqa: E402
from hosts_test import ring  # noqa: E402
from three_hosts import HOSTS, NETNS  # noqa: E402

SECONDS = 100  # limit for a job that hangs
EACH = 2       # tasks on a host
TASKS = HOSTS * EACH
RING = ring(TASKS, 1000)


class Job:
    """The job, and what its tasks say as they say it."""

    def __init__(self, ferry, folder, port):
        self.folder, self.ferry = folder, os.path.realpath(ferry)
        (folder / "ring.pbtxt").write_text(RING)
        self.said = [b""] * TASKS
        self.open = {}  # descriptor -> task
        self.poll = select.poll()
        for task in range(TASKS):
            os.mkfifo(folder / f"{task}.out")
            end = os.open(folder / f"{task}.out", os.O_RDONLY | os.O_NONBLOCK)
            self.open[end] = task
            self.poll.register(end, select.POLLIN)
        tasks = 'for r in "$@"; do RANK=$r "$FERRY" run ring.pbtxt --transport tcp --steps 1000000000 --print-every 3 >$r.out 2>&1 & done; wait'
        env = dict(os.environ, FERRY=ferry, WORLD_SIZE=str(TASKS), MASTER_ADDR="10.77.0.1", MASTER_PORT=str(port), FERRY_SECRET="random faults of a test")
        self.hosts = [subprocess.Popen([NETNS, "on", str(h + 1), "sh", "-c", tasks, "sh", *(str(h * EACH + i) for i in range(EACH))],
                                       cwd=folder, env=env, stdin=subprocess.DEVNULL) for h in range(HOSTS)]

    def read_until(self, reached):
        """Reads what the tasks say until `reached()`, for SECONDS at most; returns whether it came to that."""
        deadline = time.monotonic() + SECONDS
        while not reached():
            if not (events := self.poll.poll(1000 * max(0, deadline - time.monotonic()))):
                return False
            for end, _ in events:
                task = self.open[end]
                if read := os.read(end, 1 << 16):
                    self.said[task] += read
                else:  # the task has ended
                    self.poll.unregister(end)
                    os.close(end)
                    del self.open[end]
        return True

    def steps(self):
        return self.said[0].count(b"\nstep ") + self.said[0].startswith(b"step ")

    def errors(self):
        return [line for said in self.said for line in said.decode(errors="replace").splitlines() if "error: " in line]

    def processes(self):
        """Task -> process number, as this side of the namespaces has it."""
        found = {}
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{process}/exe") != self.ferry or os.readlink(f"/proc/{process}/cwd") != str(self.folder):
                    continue
                words = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            found.update({int(word[5:]): int(process) for word in words if word.startswith(b"RANK=")})
        return found

    def end(self):
        for process in self.processes().values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for host in self.hosts:
            host.wait(timeout=SECONDS)
        for end in self.open:
            os.close(end)


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def netns(*words):
    subprocess.run([NETNS, *map(str, words)], check=True)


class Fault:
    """`patterns`: each that is said must be one of them. `lost`: tasks that do not end by themselves. `goes_on`: the job may as well go on."""

    def __init__(self, name, undo, patterns, lost=(), goes_on=False):
        self.name, self.undo, self.patterns, self.lost, self.goes_on = name, undo, patterns, set(lost), goes_on


def cut_link(here, there):
    return rf"the link from host h{here + 1} to host h{there + 1} is cut"


def strike(dice, processes):
    what = dice.choice(["kill", "stop", "cut off", "cut one way", "blackhole", "loss", "slow"])
    task, host = dice.randrange(TASKS), dice.randrange(HOSTS)
    other = (host + dice.randrange(1, HOSTS)) % HOSTS
    own = " and ".join(str(host * EACH + i) for i in range(EACH))
    cut_off = [rf"tasks {own} of host h{host + 1} cannot be heard", rf"host h{host + 1} is cut off"]
    unheard = rf"task {task}.* (of |\()host h{task // EACH + 1}(, process \d+\))? cannot be heard"
    heal = functools.partial(netns, "heal", host + 1)
    if what == "kill":
        os.kill(processes[task], signal.SIGKILL)
        return Fault(f"kill task {task}", None, [rf"task {task} \(host h{task // EACH + 1}, process \d+\) is gone", unheard], [task])
    if what == "stop":
        os.kill(processes[task], signal.SIGSTOP)
        return Fault(f"stop task {task}", None, [rf"task {task} \(host h{task // EACH + 1}, process \d+\) was stopped", unheard], [task])
    if what == "cut off":
        netns("cut", host + 1)
        return Fault(f"cut off h{host + 1}", heal, cut_off)
    if what == "cut one way":
        ip("-n", f"h{host + 1}", "route", "add", "blackhole", f"10.77.0.{other + 1}/32")
        return Fault(f"cut h{host + 1} to h{other + 1}", lambda: ip("-n", f"h{host + 1}", "route", "del", "blackhole", f"10.77.0.{other + 1}/32"),
                     [cut_link(host, other)])
    if what == "blackhole":
        netns("drop", host + 1, f"ip saddr 10.77.0.{other + 1}")
        return Fault(f"h{host + 1} drops what h{other + 1} sends", heal, [cut_link(other, host)])
    if what == "loss":
        netns("drop", host + 1, "numgen random mod 100 < 50")
        # TCP waits twice as long after each loss of a packet: at times for longer than the deadline, which blames nobody.
        lost = [*cut_off, *(cut_link(h, host) for h in range(HOSTS) if h != host), r"no progress for [\d.]+ s: task"]
        return Fault(f"h{host + 1} loses half", heal, lost, goes_on=True)
    netns("rate", host + 1, "1mbit")
    return Fault(f"slow h{host + 1}", heal, [], goes_on=True)


def one(ferry, folder, dice, number):
    """Runs a job into a fault; returns a line about it."""
    job = Job(ferry, folder, 20000 + number % 10000)
    try:
        assert job.read_until(lambda: job.steps() > 2), f"the job did not start: {job.said}"
        fault = strike(dice, job.processes())
        begin = time.monotonic()
        before = job.steps()
        try:
            return job_ends(job, fault, begin, before)
        finally:
            if fault.undo:
                fault.undo()
    finally:
        job.end()


def job_ends(job, fault, begin, before):
    told = job.read_until(lambda: job.errors() or (fault.goes_on and job.steps() > before + 2))
    assert told, f"{fault.name}: nothing said in {SECONDS} s"
    after = time.monotonic() - begin
    if fault.goes_on and not job.errors():
        return f"{fault.name}: the job goes on"
    ended = job.read_until(lambda: set(job.open.values()) <= fault.lost)
    out = time.monotonic() - begin
    wrong = [line for line in job.errors() if not any(re.search(pattern, line) for pattern in fault.patterns)]
    assert ended, f"{fault.name}: still running after {SECONDS} s: tasks {sorted(job.open.values())}; {job.errors()}"
    assert not wrong, f"{fault.name}: said {wrong}"
    return f"{fault.name}: told after {after:.2f} s, all out after {out:.2f} s"


def run_inside(ferry, count, seed=1):
    dice = random.Random(int(seed))

    def case(number):
        with tempfile.TemporaryDirectory(dir=os.environ["NETNS_DIR"]) as folder:
            return one(ferry, Path(os.path.realpath(folder)), dice, number)
    return run_cases((f"job {number}", functools.partial(case, number)) for number in range(int(count)))


if __name__ == "__main__":
    sys.exit(three_hosts.main(lambda: run_inside(*sys.argv[1:])))
