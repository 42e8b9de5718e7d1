#!/usr/bin/env python3
"""Tests `ferry worker` with commands that stand for an ssh server: worker_test.py FERRY"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import launched  # noqa: E402
import tcp_job  # noqa: E402

FERRY = sys.argv[1]
FOLDER = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with


def program(name, script):
    path = Path(FOLDER.name, name)
    path.write_text(f"#!{sys.executable}\nimport os, signal, subprocess, sys\n{script}\nwhile True: signal.pause()\n")
    path.chmod(0o755)
    return str(path)


# A task that says "up", and after SIGTERM "saved", as a run with --checkpoint does.
SCRIPT = """
def save(*_):
    os.write(1, b"saved\\n")
    os._exit(75)
signal.signal(signal.SIGTERM, save)
os.write(1, b"up\\n")"""
TASK = program("task", SCRIPT)
STUBBORN = program("stubborn", SCRIPT.replace("os._exit(75)", "pass"))
# It starts tasks as its words say, for a shell, and says when SIGTERM ends it.
SERVER = program("server", """
def end(*_):
    os.write(1, b"server ends\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
subprocess.run(["sh", "-c", sys.argv[1]], start_new_session=True)
os.write(1, b"started\\n")""")


class Worker(launched.Job):
    def __init__(self, *words, **variables):
        super().__init__([FERRY], *words, subcommand="worker", environment=tcp_job.environment(**variables))


class Workers(unittest.TestCase):
    def stopped(self, start, *options, ups=1, number=signal.SIGTERM):
        """Exit code and lines of a worker that is stopped once its server has started the tasks."""
        with Worker(*options, "--", SERVER, start) as job:
            job.await_line("^started$")
            if ups:
                job.await_line("^up$", ups)
            job.send(number)
            code, out = job.end()
            self.assertEqual(job.processes(), [])
            return code, [line for line in out.splitlines() if line not in ("up", "started")]

    def test_tasks_save_before_the_server_ends(self):
        code, lines = self.stopped(f"RANK=0 {TASK} & OMPI_COMM_WORLD_RANK=1 {TASK} &", ups=2)
        self.assertEqual((code, lines.pop()), (0, "server ends"))
        self.assertEqual(sorted(lines), ["saved", "saved", "stopped by signal 15 (Terminated), sent to 2 tasks"])

    def test_a_shell_and_a_launcher_see_the_end_of_the_task(self):
        start = f"sh -c 'RANK=0 sh -c \"{TASK}; echo shell \\$?; exit 7\"; echo launcher $?' &"
        code, lines = self.stopped(start)
        self.assertEqual((code, lines[-3:]), (0, ["shell 75", "launcher 7", "server ends"]))

    def test_the_server_alone(self):
        said = "stopped by signal 1 (Hangup), sent to 0 tasks"
        self.assertEqual(self.stopped("", ups=0, number=signal.SIGHUP), (0, [said, "server ends"]))

    def test_a_program_without_a_rank_is_no_task(self):
        said = "stopped by signal 15 (Terminated), sent to 0 tasks"
        self.assertEqual(self.stopped(f"NAME=1 {TASK} &"), (0, [said, "server ends"]))

    def test_the_task_may_be_the_command(self):
        with Worker("--", TASK, RANK="0", WORLD_SIZE="1") as job:
            job.await_line("^up$")
            job.send(signal.SIGTERM)
            code, out = job.end()
            self.assertEqual((code, out.splitlines()[-1]), (0, "saved"))

    def test_tasks_that_do_not_end_are_killed(self):
        code, lines = self.stopped(f"RANK=0 {STUBBORN} &", "--grace", 0.2)
        self.assertEqual((code, lines[-1]), (130, "server ends"))

    def test_the_server_ends_by_itself(self):
        with Worker("--", "sh", "-c", "(setsid sleep 1000 &); exit 3") as job:
            self.assertEqual(job.end(), (3, 'error: "sh" ended with exit code 3\n'))
            self.assertEqual(job.processes(), [])
        with Worker("--", "true") as job:
            self.assertEqual(job.end(), (0, ""))

    def test_as_process_1(self):
        """Orphans are its children, and leave no zombies."""
        inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if os.geteuid() != 0 or subprocess.run([*inside, "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no pid namespaces here")
        start = f"(sh -c 'sleep 0.1' &); (RANK=0 {TASK} &)"
        job = subprocess.Popen([*inside, FERRY, "worker", "--", SERVER, start], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               stdin=subprocess.DEVNULL, env=tcp_job.environment())
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.kill)
        self.assertEqual(sorted(job.stdout.readline() for _ in range(2)), ["started\n", "up\n"])
        [init] = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
        children = Path(f"/proc/{init}/task/{init}/children")
        end = time.monotonic() + launched.SECONDS
        while len(children.read_text().split()) != 2 and time.monotonic() < end:
            pass
        self.assertEqual(len(children.read_text().split()), 2)  # the server and the task
        os.kill(int(init), signal.SIGTERM)
        out = job.communicate(timeout=launched.SECONDS)[0]
        self.assertEqual(job.returncode, 0)
        self.assertRegex(out, "(?m)^saved$(.|\\n)*^server ends$")

    def test_what_is_typed_wrong(self):
        for words, says in {("--port", "22", "--", "true"): "--port is for the ssh server", ("--port", "0"): "--port 0: not a whole number",
                            ("--grace", "x"): "--grace x", ("--", "no-such-command"): 'cannot start "no-such-command"'}.items():
            done = subprocess.run([FERRY, "worker", *words], capture_output=True, text=True, timeout=launched.SECONDS, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
