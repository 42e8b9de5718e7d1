"""Checks of jobs on hosts that share a folder, for the test of each file system. docs/guide/shared_folders.md says what holds there.

A program that uses them has the arguments FERRY SAMPLES_FOLDER.
"""
import functools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import tcp_job

FERRY, SAMPLES = map(os.path.abspath, sys.argv[1:3])
DATA = Path(__file__).resolve().parents[2] / "samples" / "data"
DIGITS = ["run", f"{SAMPLES}/digits.pb", "--data", DATA]
ENDLESS = ["--steps", 1000000000, "--print-every", 10]


class Task:
    """A process of ferry on a host. `on_host`: the command that runs another command there."""

    def __init__(self, on_host, seconds, *words, **variables):
        self.seconds = seconds
        self.process = subprocess.Popen([*on_host, FERRY, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=tcp_job.environment(**variables))

    def await_line(self, pattern):
        """All lines up to this one."""
        said = ""
        for line in self.process.stdout:
            said += line
            if re.search(pattern, line):
                return said
        raise AssertionError(said)

    def end(self):
        said = self.process.communicate(timeout=self.seconds)[0]
        return self.process.returncode, said

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def weights(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}


@functools.cache
def undisturbed(tasks, steps):
    """The weights of a run in one process."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([FERRY, *DIGITS, "--tasks", str(tasks), "--steps", str(steps), "--save", f"{folder}/model"],
                       env=tcp_job.environment(), stdin=subprocess.DEVNULL, capture_output=True, check=True)
        return weights(Path(folder, "model"))


class SharedFolder:
    """A TestCase with these checks has hosts 1 and 2, `shared`: their name of the folder, and `there`: the folder where it is stored."""
    seconds = 60  # limit for what should happen at once, and for tasks that wait for each other

    def on(self, host):
        """The words before a command that runs on this host."""
        raise NotImplementedError

    def task(self, host, *words, **variables):
        task = Task(self.on(host), self.seconds, *words, "--deadline", self.seconds, **variables)
        self.addCleanup(task.kill)
        return task

    def start_job(self, hosts, *words, ranks=(0, 1)):
        """Starts a task on each of these hosts. The tasks meet by a file in the shared folder."""
        return [self.task(host, *DIGITS, *words, RANK=str(rank), WORLD_SIZE=str(len(hosts)), FERRY_RENDEZVOUS=f"file:{self.shared}/notice",
                          FERRY_SECRET="only this test knows it") for rank, host in zip(ranks, hosts)]

    def check_ends(self, *tasks):
        for code, said in [task.end() for task in tasks]:
            self.assertEqual(code, 0, said)


class Jobs(SharedFolder):
    """Checks of the files that jobs write."""

    def test_a_job_goes_on_from_its_checkpoints(self):
        words = ["--checkpoint", self.shared / "saved", "--checkpoint-every", 20, "--resume"]
        for start, hosts in enumerate(((1, 2), (2, 1))):
            tasks = self.start_job(hosts, *ENDLESS, *words)
            tasks[0].await_line("continues after step" if start else "step ")
            before = set(self.there.glob("saved/step-*"))
            while not set(self.there.glob("saved/step-*")) - before:
                tasks[0].await_line("step ")
            for task in tasks:
                task.kill()
        steps = max(int(path.name.split("-")[1]) for path in self.there.glob("saved/step-*")) + 20
        self.check_ends(*self.start_job((1, 2), *words, "--steps", steps, "--save", self.shared / "trained"))
        self.assertEqual(weights(self.there / "trained"), undisturbed(2, steps))
        self.assertFalse((self.there / "notice").exists())

    def test_a_model_is_saved_over_another(self):
        for steps, hosts in (3, (1, 2)), (4, (1, 2)), (5, (2, 1)):
            self.check_ends(*self.start_job(hosts, "--steps", steps, "--save", self.shared / "model"))
            for host in hosts:
                self.check_ends(self.task(host, *DIGITS, "--model", self.shared / "model", "--steps", 1))
            self.assertEqual(weights(self.there / "model"), undisturbed(2, steps))
            self.assertFalse((self.there / "model" / ".saving").exists())

    def test_two_tasks_with_number_0_find_each_other(self):
        ends = [task.end() for task in self.start_job((1, 2), "--steps", 1, ranks=(0, 0))]
        self.assertTrue(any("two tasks say that they are task 0" in said for _, said in ends), ends)
        self.assertNotIn(0, [code for code, _ in ends])
        self.assertFalse((self.there / "notice").exists())


class Locks(SharedFolder):
    """Checks of the lock of a folder. `seen_by_all`: whether it keeps jobs of other hosts out of the folder, too."""
    seen_by_all = False

    def words(self):
        return ["--checkpoint", self.shared / "used", "--resume"]

    def start_first(self, host):
        """A job that uses the folder until it is killed."""
        first = self.task(host, *DIGITS, *ENDLESS, *self.words())
        first.await_line(r"^step \d")
        return first

    def try_folder(self, host):
        """Whether a second job may use the folder."""
        code, said = self.task(host, *DIGITS, "--steps", 1, *self.words()).end()
        if code != 0:
            self.assertEqual(code, 2, said)
            self.assertRegex(said, r'used": another job uses it\n +process \d+ on h\d\n')
        return code == 0

    def test_a_second_job_is_rejected_until_the_first_has_ended(self):
        first = self.start_first(1)
        self.assertFalse(self.try_folder(1))
        self.assertEqual(self.try_folder(2), not self.seen_by_all)
        first.kill()
        self.assertTrue(self.try_folder(1))
        self.assertTrue(self.try_folder(2))
