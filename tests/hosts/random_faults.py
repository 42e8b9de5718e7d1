#!/usr/bin/env python3
"""Random faults of jobs over three hosts, two tasks on each, over TCP: whether the right one is blamed, and how soon all are out.

usage: random_faults.py FERRY COUNT [SEED]
The hosts are network namespaces of this machine, as in hosts_test.py, whose needs it has; ends with 77, skipped, where one is
missing. A fault kills or stops a task, cuts a host off, or cuts a link in one direction. The last line is "N passed, N failed, N skipped".
"""
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from hosts_test import DRAWN, HOSTS, NETNS  # noqa: E402

SECONDS = 100  # limit for a job that hangs
EACH = 2       # tasks on a host
TASKS = HOSTS * EACH

# Every task adds what it draws to what the one before it has sent.
RING = 'version: 1\ngraph {\n' + "".join(
    f'  op {{ name: "d{t}" op: "RandomUniform" device: "/task:{t}" {DRAWN.replace("500000", "1000")} }}\n'
    f'  op {{ name: "s{t}" op: "Add" input: "{f"s{t - 1}" if t else "d0"}" input: "d{t}" device: "/task:{t}" }}\n' for t in range(TASKS)
) + f'  op {{ name: "end" op: "Identity" input: "s{TASKS - 1}" device: "/task:0" }}\n}}\nentry {{ name: "run" fetch {{ name: "end" value: "end" }} }}\n'


class Job:
    def __init__(self, ferry, folder, port):
        self.folder = folder
        tasks = 'for r in "$@"; do RANK=$r "$FERRY" run ring.pbtxt --transport tcp --steps 1000000000 >$r.out 2>&1 & done; wait'
        env = dict(os.environ, FERRY=ferry, WORLD_SIZE=str(TASKS), MASTER_ADDR="10.77.0.1", MASTER_PORT=str(port), FERRY_SECRET="random faults of a test")
        (folder / "ring.pbtxt").write_text(RING)
        self.hosts = [subprocess.Popen([NETNS, "on", str(h + 1), "sh", "-c", tasks, "sh", *(str(h * EACH + i) for i in range(EACH))],
                                       cwd=folder, env=env, stdin=subprocess.DEVNULL) for h in range(HOSTS)]
        self.ferry = os.path.realpath(ferry)

    def processes(self):
        """Task -> process number, as this side of the namespaces has it."""
        found = {}
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{process}/exe") != self.ferry or os.readlink(f"/proc/{process}/cwd") != str(self.folder):
                    continue
                if Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX":
                    continue
                words = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            found.update({int(word[5:]): int(process) for word in words if word.startswith(b"RANK=")})
        return found

    def said(self):
        return {task: (self.folder / f"{task}.out").read_text(errors="replace") for task in range(TASKS)}

    def await_steps(self):
        """Returns once all tasks run steps: a task's CPU time grows only then."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            processes = self.processes()
            if len(processes) == TASKS and all(cpu_ticks(process) > 20 for process in processes.values()):
                return processes
            time.sleep(0.05)
        raise AssertionError(f"the job did not start: {self.said()}")


def cpu_ticks(process):
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def strike(dice, processes):
    """Makes a fault. Returns its name, patterns of which each that is said must be one, one that must be said, and how to undo it."""
    what = dice.choice(["kill", "stop", "cut off", "cut one way"])
    task, host = dice.randrange(TASKS), dice.randrange(HOSTS)
    own = " and ".join(str(host * EACH + i) for i in range(EACH))
    if what == "kill":
        os.kill(processes[task], signal.SIGKILL)
        return f"kill task {task}", [rf"task {task} \(host h{task // EACH + 1}, process \d+\) is gone",
                                     rf"task {task}.* of host h{task // EACH + 1} cannot be heard"], {task}, lambda: None
    if what == "stop":
        os.kill(processes[task], signal.SIGSTOP)
        return (f"stop task {task}", [rf"task {task} \(host h{task // EACH + 1}, process \d+\) was stopped",
                                      rf"task {task} of host h{task // EACH + 1} cannot be heard"], {task}, lambda: os.kill(processes[task], signal.SIGKILL))
    if what == "cut off":
        subprocess.run([NETNS, "cut", str(host + 1)], check=True)
        return f"cut off h{host + 1}", [rf"tasks {own} of host h{host + 1} cannot be heard", rf"host h{host + 1} is cut off"], set(), \
            lambda: subprocess.run([NETNS, "heal", str(host + 1)], check=True)
    other = (host + dice.randrange(1, HOSTS)) % HOSTS
    ip("-n", f"h{host + 1}", "route", "add", "blackhole", f"10.77.0.{other + 1}/32")
    return f"cut h{host + 1} to h{other + 1}", [rf"the link from host h{host + 1} to host h{other + 1} is cut"], set(), \
        lambda: ip("-n", f"h{host + 1}", "route", "del", "blackhole", f"10.77.0.{other + 1}/32")


def one(ferry, folder, dice, number):
    """Runs a job into a fault; returns a line about it."""
    job = Job(ferry, folder, 20000 + number % 10000)
    processes = job.await_steps()
    name, patterns, lost, undo = strike(dice, processes)
    begin = time.monotonic()
    told = None
    while set(job.processes()) - lost and time.monotonic() - begin < SECONDS:
        if told is None and any("error: " in text for text in job.said().values()):
            told = time.monotonic() - begin
        time.sleep(0.02)
    out = time.monotonic() - begin
    left = set(job.processes()) - lost
    undo()
    for process in job.processes().values():
        os.kill(process, signal.SIGKILL)
    for host in job.hosts:
        host.wait(timeout=SECONDS)
    errors = [line for text in job.said().values() for line in text.splitlines() if "error: " in line]
    wrong = [line for line in errors if not any(re.search(pattern, line) for pattern in patterns)]
    assert not left, f"{name}: still running after {SECONDS} s: {left}; {errors}"
    assert errors and not wrong, f"{name}: said {wrong or 'nothing'}"
    return f"{name}: told after {told or out:.2f} s, all out after {out:.2f} s"


def run_inside(ferry, count, seed=1):
    dice = random.Random(int(seed))
    passed = failed = 0
    for number in range(int(count)):
        with tempfile.TemporaryDirectory(dir=os.environ["NETNS_DIR"]) as folder:
            try:
                print(f"passed {one(ferry, Path(os.path.realpath(folder)), dice, number)}", flush=True)
                passed += 1
            except AssertionError as error:
                failed += 1
                print(f"FAILED {error}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


def main():
    if "NETNS_DIR" in os.environ:
        return run_inside(*sys.argv[1:])
    if reason := subprocess.run([NETNS, "missing"], capture_output=True, text=True, check=True, timeout=SECONDS).stdout.strip():
        print(f"[skip] three hosts: {reason}")
        return 77
    with tempfile.TemporaryDirectory(prefix="ferry-hosts-") as folder:
        command = [NETNS, "inside", sys.executable, __file__, os.path.abspath(sys.argv[1]), *sys.argv[2:]]
        return subprocess.run(command, env=dict(os.environ, NETNS_DIR=folder), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
