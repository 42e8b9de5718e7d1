#!/usr/bin/env python3
"""Runs jobs whose folder is shared by sshfs: sshfs_test.py FERRY SAMPLES_FOLDER

Each of two hosts has a mount of its own, of a folder that the ssh server of the first one shows; docs/guide/shared_folders.md says what holds
there. Needs what hosts_test.py does, and sshfs; ends with 77, skipped, where one is missing.
"""
import itertools
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]
import tcp_job  # noqa: E402
import three_hosts  # noqa: E402
from three_hosts import NETNS  # noqa: E402

FERRY, SAMPLES = map(os.path.abspath, sys.argv[1:3])
SECONDS = 60  # limit for what should happen at once
DATA = Path(__file__).resolve().parents[2] / "samples" / "data"
DIGITS = ["run", f"{SAMPLES}/digits.pb", "--data", DATA]
ENDLESS = ["--steps", 1000000000, "--print-every", 10]


class Task:
    """A task on a host, which has its mount of the shared folder."""

    def __init__(self, test, host, *words, **variables):
        script = 'mount --bind "$0" "$1" && shift && exec "$@"'
        command = [NETNS, "on", str(host), "sh", "-c", script, test.mounts[host], test.shared, FERRY, *map(str, words)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=tcp_job.environment(**variables))
        test.addCleanup(self.kill)

    def await_line(self, pattern):
        """All lines up to this one."""
        said = ""
        for line in self.process.stdout:
            said += line
            if re.search(pattern, line):
                return said
        raise AssertionError(said)

    def end(self):
        said = self.process.communicate(timeout=SECONDS)[0]
        return self.process.returncode, said

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class OverSshfs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = Path(os.environ["NETNS_DIR"])
        ssh = subprocess.run([NETNS, "ssh"], capture_output=True, text=True, check=True).stdout.strip()
        cls.there, cls.shared = folder / "there", folder / "shared"
        cls.mounts = {host: folder / f"mount{host}" for host in (1, 2)}
        for path in cls.there, cls.shared, *cls.mounts.values():
            path.mkdir()
        for mount in cls.mounts.values():
            subprocess.run(["nsenter", "--net=/run/netns/h1", "sshfs", f"10.77.0.1:{cls.there}", mount, "-o", f"ssh_command={ssh}", "-o",
                            "sftp_server=/usr/lib/openssh/sftp-server"], check=True)

    def job(self, hosts, *words):
        """A job with a task on each of these hosts, which meet by a file in the shared folder."""
        return [Task(self, host, *DIGITS, *words, RANK=str(rank), WORLD_SIZE=str(len(hosts)), FERRY_RENDEZVOUS=f"file:{self.shared}/notice",
                     FERRY_SECRET="only this test knows it") for rank, host in enumerate(hosts)]

    def weights(self, folder):
        return {path.name: path.read_bytes() for path in folder.glob("*.safetensors")}

    def undisturbed(self, tasks, steps):
        folder = Path(os.environ["NETNS_DIR"], "undisturbed")
        subprocess.run([FERRY, *DIGITS, "--tasks", str(tasks), "--steps", str(steps), "--save", folder], env=tcp_job.environment(),
                       stdin=subprocess.DEVNULL, capture_output=True, check=True)
        return self.weights(folder)

    def test_a_job_goes_on_from_its_checkpoints(self):
        words = ["--checkpoint", self.shared / "saved", "--checkpoint-every", 20, "--resume"]
        for start, hosts in enumerate(((1, 2), (2, 1))):
            tasks = self.job(hosts, *ENDLESS, *words)
            tasks[0].await_line("continues after step" if start else "step ")
            before = set(self.there.glob("saved/step-*"))
            for line in itertools.count():
                tasks[0].await_line("step ")
                if set(self.there.glob("saved/step-*")) - before:
                    break
            for task in tasks:
                task.kill()
        steps = max(int(path.name.split("-")[1]) for path in self.there.glob("saved/step-*")) + 20
        for code, said in [task.end() for task in self.job((1, 2), *words, "--steps", steps, "--save", self.shared / "trained")]:
            self.assertEqual(code, 0, said)
        self.assertEqual(self.weights(self.there / "trained"), self.undisturbed(2, steps))
        self.assertFalse((self.there / "notice").exists())

    def test_a_model_is_saved_over_another(self):
        for steps, hosts in (3, (1, 2)), (4, (1, 2)), (5, (2, 1)):
            for code, said in [task.end() for task in self.job(hosts, "--steps", steps, "--save", self.shared / "model")]:
                self.assertEqual(code, 0, said)
            for host in hosts:
                code, said = Task(self, host, "run", f"{SAMPLES}/digits.pb", "--data", DATA, "--model", self.shared / "model", "--steps", 1).end()
                self.assertEqual(code, 0, said)
            self.assertEqual(self.weights(self.there / "model"), self.undisturbed(2, steps))
            self.assertFalse((self.there / "model" / ".saving").exists())

    def test_a_folder_that_another_job_uses(self):
        words = [*DIGITS, *ENDLESS, "--checkpoint", self.shared / "used"]
        first = Task(self, 1, *words)
        first.await_line("step ")
        code, said = Task(self, 1, *words).end()
        self.assertEqual(code, 2, said)
        self.assertRegex(said, r"used\": another job uses it\n +process \d+ on h1\n")


def missing():
    if said := three_hosts.missing():
        return said
    if not shutil.which("sshfs"):
        return "no sshfs here"
    return "" if os.access("/dev/fuse", os.W_OK) else "no /dev/fuse here"


if __name__ == "__main__":
    sys.exit(three_hosts.main(lambda: unittest.main(argv=[sys.argv[0], *sys.argv[3:]]), "folders by sshfs", missing))
