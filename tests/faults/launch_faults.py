#!/usr/bin/env python3
"""Faults of jobs that `ferry launch` starts: launch_faults.py FERRY TASK_ENDS CHECKPOINT_JOB

TASK_ENDS is task_ends.cpp, CHECKPOINT_JOB checkpoint_job.cpp, which prints a line in each step.
"""
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import launched  # noqa: E402
from npy import npy  # noqa: E402

FERRY, TASK_ENDS, CHECKPOINT_JOB = (os.path.abspath(path) for path in sys.argv[1:4])
STEPS = ("--steps", 1000000000)
# A task that does not end by itself, and has a child in its group and one in a session of its own.
STUBBORN = 'trap "" TERM HUP; (setsid sleep 1000 &); sleep 1000 & echo up; while :; do wait; done'


class Faults(unittest.TestCase):
    def job(self, *words):
        return launched.Job(FERRY, *words)

    def test_047_mistakes_in_a_hostfile(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "hosts"
            for text, says in {"h1\nh2 slot=2": ':2: unknown word "slot=2"; slots=N?', "h1 # first\nh1 max_slots=1": ":2: h1 has 2 slots, from",
                               "": ": it names no host"}.items():
                file.write_text(text)
                code, out, err = launched.run(FERRY, "--hostfile", file, "true")
                self.assertEqual((code, out), (3, ""))
                self.assertIn(f"{file}{says}", err)

    def test_what_all_tasks_find_is_said_once(self):
        for words, wanted, says in (["missing.pb"], 3, "missing.pb"), (["missing.pb", "--stepz", "1"], 2, "--stepz"):
            code, out, err = launched.run(FERRY, "-n", 3, "--", FERRY, "run", *words)
            self.assertEqual(code, wanted)
            self.assertEqual(len(re.findall(r"(?m)^\[\d\] error: .*" + says, out + err)), 1, out + err)

    def test_feeds_of_tasks_that_differ(self):
        """Each task has its own command line, its own folder, or a feed that the others lack."""
        with tempfile.TemporaryDirectory() as folder:
            for rank, value in enumerate((1, 2)):
                Path(folder, str(rank)).mkdir()
                for name in (f"part{rank}.npy", f"same{rank}.npy", f"{rank}/x.npy"):
                    Path(folder, name).write_bytes(npy("<f4", (2,), struct.pack("<2f", 0, 0 if "same" in name else value)))
            graph = Path(folder, "graph.pbtxt")
            graph.write_text('''version: 1
graph { op { name: "x" op: "Input" attr { name: "dtype" dtype: FLOAT32 } attr { name: "shape" shape { dim { size: 2 } } } }
        op { name: "y" op: "Neg" input: "x" device: "/task:1" } }
entry { name: "run" fetch { name: "y" value: "y" } }
''')
            plan = Path(folder, "graph.plan")
            subprocess.run([FERRY, "plan", graph, "--tasks", "2", "--threads", "1", "--save", plan], check=True, stdout=subprocess.DEVNULL)
            for file in graph, plan:
                for command, wanted, says in (
                        ('--feed x=part$RANK.npy', 2, "error: --feed x: the bytes on task 1 are not those on task 0"),
                        ('--feed x=same$RANK.npy', 0, "y = "),
                        ('--feed x=same0.npy', 0, "y = ")):
                    code, out, err = launched.run(FERRY, "-n", 2, "--", "sh", "-c", f'cd {folder} && exec {FERRY} run {file} --threads 1 {command}')
                    self.assertEqual(code, wanted, out + err)
                    self.assertEqual(len(re.findall(says, out + err)), 1, out + err)
            for command, wanted, says in (
                    (f'cd $RANK && exec {FERRY} run {graph} --feed x=x.npy', 2, "the bytes on task 1 are not those on task 0"),
                    (f'[ $RANK = 0 ] || set -- --feed x=part1.npy; exec {FERRY} run {graph} "$@"', 0, r"y = \[-0 -2\]"),
                    (f'[ $RANK = 1 ] || set -- --feed x=part0.npy; exec {FERRY} run {graph} "$@"', 0, r"y = \[-0 -1\]")):
                code, out, err = launched.run(FERRY, "-n", 2, "--", "sh", "-c", f"cd {folder} && {command}")
                self.assertEqual(code, wanted, out + err)
                self.assertRegex(out + err, says)

    def test_060_a_task_is_killed(self):
        with self.job("-n", 3, "--", "sh", "-c", 'echo process $$; exec "$@"', "sh", CHECKPOINT_JOB, *STEPS) as job:
            task = int(job.await_line(r"^\[1\] process (\d+)$")[1])
            job.await_line(r"^\[0\] total: ")
            os.kill(task, signal.SIGKILL)
            code, out = job.end()
            self.assertEqual(code, 137)
            self.assertRegex(out, r"\[[02]\] error: task 1 .* is gone: it was killed")
            self.assertRegex(out, r"(?m)^error: task 1 on \S+ was killed by signal 9 \(Killed\)$")
            self.assertEqual(job.processes(), [])

    def test_060_the_job_goes_on_from_its_checkpoint(self):
        with tempfile.TemporaryDirectory() as folder, \
                self.job("-n", 2, "--restarts", 1, "--restart-wait", 0.001, "--", "sh", "-c", 'echo process $$; exec "$@"', "sh", CHECKPOINT_JOB, *STEPS,
                         "--checkpoint", folder, "--checkpoint-every", 1, "--resume") as job:
            task = int(job.await_line(r"^\[1\] process (\d+)$")[1])
            job.await_line(r"^\[0\] total: ", 10)
            os.kill(task, signal.SIGKILL)
            job.await_line(r"the job starts again in 0.001 s: restart 1 of 1")
            job.await_line(r"^\[0\] .*continues after step [1-9]\d* of ")
            before = job.said.count(b"total: ")
            job.await_line(r"^\[0\] total: ", before + 1)
            job.send(signal.SIGTERM)
            self.assertEqual(job.end()[0], 75)

    def test_060_what_the_tasks_did_last(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "last.json"
            with self.job("-n", 3, "--", "sh", "-c", 'echo process $$; exec "$@"', "sh", CHECKPOINT_JOB, *STEPS,
                          "--flight-recorder", file) as job:
                task = int(job.await_line(r"^\[0\] process (\d+)$")[1])
                job.await_line(r"^\[0\] total: ", 3)
                self.assertFalse(file.exists())
                os.kill(task, signal.SIGKILL)
                job.end()
            flight = json.loads(file.read_text())
            self.assertRegex(flight["error"], rf"task 0 \(host \S+, process {task}\) is gone")
            self.assertEqual([task["state"] for task in flight["tasks"]], ["is gone", "", ""])
            self.assertEqual(flight["tasks"][0]["events"], [])
            for other in flight["tasks"][1:]:
                whats = [event["what"] for event in other["events"]]
                self.assertTrue(any(what.startswith("step ") for what in whats))
                self.assertTrue(any(" from task " in what or " with tasks " in what for what in whats))
                self.assertEqual(whats[-1].split()[0].rsplit("_")[-1], "wait")
            shown = subprocess.run([FERRY, "show", file, "--last", "2"], capture_output=True, text=True, check=True).stdout
            self.assertRegex(shown, rf"(?s)^flight of 3 tasks, .*\nerror: task 0 .*\ntask 0 \(host \S+, process {task}\) is gone\n")
            self.assertEqual(len(re.findall(r"(?m)^ +-\d+\.\d+ s  ", shown)), 4)

    def test_063_a_task_leaves_early(self):
        for how, says in {"exit": "ended before the job was done", "return": "task 1 has finished"}.items():
            code, _, err = launched.run(FERRY, "-n", 3, "--", TASK_ENDS, how)
            self.assertEqual(code, 5)
            self.assertIn(says, err)

    def test_060_what_a_failed_job_wrote_reaches_a_slow_reader(self):
        lines, each = 1000, 1000
        script = f'test $RANK = 0 || exec sleep 1000; yes {"x" * each} | head -n {lines}; exit 3'
        with self.job("-n", 2, "--", "sh", "-c", script) as job:
            while read := os.read(job.launcher.stdout.fileno(), 16 << 10):
                job.said += read
                select.select([], [], [], 0.1)  # as a terminal far away
            self.assertEqual(job.end()[0], 3)
            self.assertEqual(job.said.count(b"[0] " + b"x" * each + b"\n"), lines)

    def test_068_the_launcher_is_killed(self):
        with self.job("-n", 3, "--", "sh", "-c", STUBBORN) as job:
            job.await_line(r"^\[\d\] up$", 3)
            job.await_processes(11)
            job.send(signal.SIGKILL)
            job.await_all_gone()

    def test_068_the_agent_is_killed(self):
        with self.job("-n", 3, "--", "sh", "-c", STUBBORN) as job:
            job.await_line(r"^\[\d\] up$", 3)
            [agent] = job.children(job.launcher.pid)
            os.kill(agent, signal.SIGKILL)
            code, out = job.end()
            self.assertEqual(code, 5)
            self.assertIn("the agent that runs its tasks was killed by signal 9", out)
            self.assertEqual(job.processes(), [])

    def test_080_ctrl_c(self):
        with self.job("-n", 2, "--restarts", 3, "--", *launched.UP) as job:
            job.await_line(r"^\[\d\] up$", 2)
            job.send(signal.SIGINT)
            code, out = job.end()
            self.assertEqual(code, 130)
            self.assertRegex(out, r"stopped by signal 2 \(Interrupt\): task \d on \S+ was killed by signal 2")
            self.assertEqual(job.processes(), [])

    def test_080_ctrl_c_twice(self):
        with self.job("-n", 2, "--", "sh", "-c", 'trap "echo told" INT; ' + STUBBORN.replace("wait", "sleep 1000 & wait")) as job:
            job.await_line(r"^\[\d\] up$", 2)
            job.send(signal.SIGINT)
            job.await_line(r"^\[\d\] told$", 2)
            job.send(signal.SIGINT)
            job.expect_killed()

    def test_081_sigterm_is_said_once(self):
        for _ in range(5):
            with self.job("-n", 3, "--", CHECKPOINT_JOB, *STEPS) as job:
                job.await_line(r"^\[0\] total: ")
                job.send(signal.SIGTERM)
                code, out = job.end()
                self.assertEqual((code, re.findall(r"\] error: (.*)", out)), (130, ["interrupted by signal 15"]), out)

    def test_081_sigterm_saves(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.job("-n", 2, "--restarts", 3, "--", CHECKPOINT_JOB, *STEPS, "--checkpoint", folder) as job:
                job.await_line(r"^\[0\] total: ")
                job.send(signal.SIGTERM)
                self.assertEqual(job.end()[0], 75)
                self.assertEqual(job.processes(), [])
            self.assertEqual(len(list(Path(folder).glob("step-*"))), 1)

    def test_081_the_agent_gets_the_signal_too(self):
        """As SLURM does, which signals all processes of a step."""
        with tempfile.TemporaryDirectory() as folder:
            with self.job("-n", 2, "--", CHECKPOINT_JOB, *STEPS, "--checkpoint", folder) as job:
                job.await_line(r"^\[0\] total: ")
                [agent] = job.children(job.launcher.pid)
                for process in (agent, *job.children(agent)):
                    os.kill(process, signal.SIGTERM)
                self.assertEqual(job.end()[0], 75)
            self.assertEqual(len(list(Path(folder).glob("step-*"))), 1)

    def test_081_signals_for_a_script_that_waits_for_its_run(self):
        """Its shell dies of the signal. The program that it has started is still the task, and saves."""
        script = '"$@"; echo too far'
        for first in None, signal.SIGUSR1:
            with tempfile.TemporaryDirectory() as folder, \
                    self.job("-n", 2, "--", "sh", "-c", script, "sh", CHECKPOINT_JOB, *STEPS, "--checkpoint", folder) as job:
                job.await_line(r"^\[0\] total: ")
                if first:
                    job.send(first)
                    while not list(Path(folder).glob("step-*")):
                        job.read_for(0.01)
                saved = len(list(Path(folder).glob("step-*")))
                job.send(signal.SIGTERM)
                code, out = job.end()
                self.assertEqual(code, 75, out[-2000:])
                self.assertNotIn("too far", out)
                self.assertRegex(out, r"(?m)^stopped by signal 15 \(Terminated\): task \d on \S+ ended with exit code 75: .*; exit code 75$")
                self.assertEqual(len(list(Path(folder).glob("step-*"))), saved + 1)
                self.assertEqual(job.processes(), [])

    def test_081_a_script_whose_program_does_not_end_in_the_grace(self):
        script = "(trap '' TERM; echo up; while :; do sleep 1000 & wait; done)"
        with self.job("-n", 2, "--grace", 0.5, "--", "sh", "-c", f"{script}; true") as job:
            job.await_line(r"^\[\d\] up$", 2)
            job.send(signal.SIGTERM)
            job.expect_killed()

    def test_081_sigterm_before_the_job_has_formed(self):
        """A task that waits for another one has nothing to save, and ends at once."""
        script = "echo process $$; [ $RANK = 0 ] || { trap 'exit 75' TERM; sleep 1000 & wait; }; exec \"$@\""
        with tempfile.TemporaryDirectory() as folder, \
                self.job("-n", 2, "--grace", 50, "--", "sh", "-c", script, "sh", CHECKPOINT_JOB, *STEPS, "--checkpoint", folder) as job:
            job.await_line(r"^\[1\] process \d+$")
            task = job.await_line(r"^\[0\] process (\d+)$")[1]
            while not int(re.search(r"SigCgt:\s*(\w+)", Path("/proc", task, "status").read_text())[1], 16) >> signal.SIGTERM - 1 & 1:
                job.read_for(0.01)
            begin = time.monotonic()
            job.send(signal.SIGTERM)
            code, out = job.end()
            self.assertEqual(code, 75, out)
            self.assertIn("[0] error: stopped before the first step, as asked for", out)
            self.assertLess(time.monotonic() - begin, 20)

    def test_081_sigusr1_saves_and_sighup_stops(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.job("-n", 2, "--", CHECKPOINT_JOB, *STEPS, "--checkpoint", folder) as job:
                job.await_line(r"^\[0\] total: ")
                job.send(signal.SIGUSR1)
                while not list(Path(folder).glob("step-*")):
                    job.await_line(r"^\[0\] total: ", job.said.count(b"total: ") + 1)
                job.send(signal.SIGHUP)
                self.assertEqual(job.end()[0], 75)
            self.assertGreaterEqual(len(list(Path(folder).glob("step-*"))), 2)


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
    unittest.main(argv=sys.argv[:1])
