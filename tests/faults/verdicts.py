#!/usr/bin/env python3
"""What a job says, and how it ends, when one of its tasks no longer goes on; and that a task which computes is left alone.

usage: verdicts.py FERRY TASK_ENDS
Ends with 77, skipped, where there is no mpirun. The last line is "N passed, N failed, N skipped".
"""
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import launched  # noqa: E402
import mpirun  # noqa: E402
from cases import run as run_cases  # noqa: E402

SECONDS = 100  # limit for a job that hangs; none takes as long otherwise


def graph(size, products, shown):
    """A sum over tasks 1 and 2 of products of random matrices; task 0 prints the largest."""
    text = f"""version: 1
graph {{
  op {{ name: "a" op: "RandomUniform" device: "/task:1"
       attr {{ name: "dtype" dtype: FLOAT32 }} attr {{ name: "shape" shape {{ dim {{ size: {size} }} dim {{ size: {size} }} }} }}
       attr {{ name: "low" float: 0 }} attr {{ name: "high" float: 0.001 }} attr {{ name: "seed" int: 0 }} }}
"""
    for i in range(products):
        text += f'  op {{ name: "p{i}" op: "MatMul" input: "{"a" if i == 0 else f"p{i - 1}"}" input: "a" device: "/task:1" }}\n'
    text += f"""  op {{ name: "c" op: "Neg" input: "p{products - 1}" device: "/task:2" }}
  op {{ name: "most" op: "Max" input: "c" device: "/task:2" attr {{ name: "axes" ints {{ value: 0 value: 1 }} }} }}
  op {{ name: "shown" op: "{shown}" input: "most" device: "/task:0" {'attr { name: "label" string: "here" }' if shown == "Print" else ""} }}
}}
entry {{ name: "run" fetch {{ name: "shown" value: "shown" }} }}
"""
    return text


class MpirunCrashed(Exception):
    pass


class Job:
    """A job of three tasks under mpirun."""

    def __init__(self, *words, stdin=subprocess.DEVNULL):
        self.process = subprocess.Popen(
            ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", "3", *map(str, words)], env=mpirun.environment(),
            start_new_session=True, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.said = ""

    def read_until(self, pattern):
        for line in self.process.stdout:
            self.said += line
            if re.search(pattern, line):
                return
        raise AssertionError(f"the job ended without saying {pattern!r}:\n{self.said}")

    def ranks(self):
        """The process numbers of the tasks, in their order."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(")", 1)[1].split()
                environment = (stat.parent / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            numbers = [int(word.split(b"=")[1]) for word in environment if word.startswith(b"OMPI_COMM_WORLD_RANK=")]
            if int(fields[1]) == self.process.pid and numbers:
                found.append((numbers[0], int(stat.parent.name)))
        return [pid for _, pid in sorted(found)]

    def end(self, ranks):
        """The exit code; checks that no task is left."""
        try:
            self.said += self.process.communicate(timeout=SECONDS)[0]
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise AssertionError(f"the job did not end:\n{self.said}") from None
        if mpirun.crashed(self.process.returncode):
            raise MpirunCrashed
        for pid in ranks:  # mpirun may end before the ranks that it has killed
            launched.await_end(pid)
        return self.process.returncode


class Cases:
    def __init__(self, ferry, task_ends, folder):
        self.ferry, self.task_ends, self.folder = ferry, task_ends, folder

    def file(self, *arguments):
        path = self.folder / "graph.pbtxt"
        path.write_text(graph(*arguments))
        return path

    def stricken(self, number):
        """Sends the signal to task 1 in the middle of a run; returns the exit code, the tasks and what was said."""
        job = Job(self.ferry, "run", self.file(50, 2, "Print"), "--steps", 10**9, "--flight-recorder", self.folder / "last.json")
        job.read_until("here: ")
        ranks = job.ranks()
        assert len(ranks) == 3, ranks
        os.kill(ranks[1], number)
        return job.end(ranks), ranks, job.said

    def case_060_killed(self):
        code, ranks, said = self.stricken(signal.SIGKILL)
        assert code in (5, 137), (code, said)  # 137 is mpirun's own
        # mpirun ends the other tasks, too, perhaps before they have said why; launch_faults.py has it for certain.
        told = re.findall(rf"error: task 1 \(host \S+, process {ranks[1]}\) is gone: it was killed", said)
        assert len(told) <= 1 and "signal 9" in said, said

    def case_061_stopped(self):
        code, ranks, said = self.stricken(signal.SIGSTOP)
        assert code == 6, (code, said)
        once(said, rf"error: task 1 \(host \S+, process {ranks[1]}\) was stopped \(SIGSTOP or Ctrl-Z\)")
        assert re.search(r"task \d .* waits in receive_wait of .* from task \d", said), said
        states = {task["who"].split()[1]: (task["state"], len(task["events"])) for task in json.loads((self.folder / "last.json").read_text())["tasks"]}
        assert states["1"] == ("is stopped", 0) and states["0"][1] > 0 and states["2"][1] > 0, states

    def case_062_busy(self):
        """A task computes for longer than the deadline: that is no fault."""
        job = Job(self.ferry, "run", self.file(3000, 2, "Identity"), "--deadline", "0.5", "--threads", 1)
        assert job.end([]) == 0, job.said

    def case_outside(self):
        """A task does not come to the session: the others name it at the deadline, and what it does instead."""
        job = Job(self.task_ends, "idle", "--deadline", "3")
        assert job.end([]) == 6, job.said
        once(job.said, "exchange: task 1 of 3 did not come before the deadline")
        where = r", asleep in (pause|poll)" if Path("/proc/self/syscall").exists() else ""
        assert re.search(r"task 1 \(host \S+, process \d+\) is in the program's own code, outside of the session, and computes nothing, for [\d.]+ s" + where,
                         job.said), job.said

    def case_next_request(self):
        """Task 0 waits for requests, longer than the deadline: that is no fault. Then it is killed, and named."""
        job = Job(self.task_ends, "request", "--deadline", "0.5", stdin=subprocess.PIPE)
        for _ in range(2):  # the first call, and a later one
            time.sleep(1.2)
            job.process.stdin.write("\n")
            job.process.stdin.flush()
            job.read_until(re.escape("[11 22 33]"))
        ranks = job.ranks()
        os.kill(ranks[0], signal.SIGKILL)
        code = job.end(ranks)
        assert code in (5, 137), (code, job.said)
        assert "signal 9" in job.said and "deadline" not in job.said, job.said


def once(said, pattern):
    found = re.findall(pattern, said)
    assert len(found) == 1, f"said {len(found)} times, not once: {pattern}\n{said}"


def run(case):
    for attempt in range(3):
        try:
            return case()
        except MpirunCrashed:
            assert attempt < 2, "mpirun crashed, three times"
    return None


def main():
    if shutil.which("mpirun") is None:
        print("[skip] verdicts: no mpirun here")
        return 77
    with tempfile.TemporaryDirectory(prefix="ferry-verdicts-") as folder:
        cases = Cases(*map(os.path.abspath, sys.argv[1:]), Path(folder))
        return run_cases((case.__name__, functools.partial(run, case)) for case in (
            cases.case_060_killed, cases.case_061_stopped, cases.case_062_busy, cases.case_outside, cases.case_next_request))


if __name__ == "__main__":
    sys.exit(main())
