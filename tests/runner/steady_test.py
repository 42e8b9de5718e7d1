"""Checks that jobs that run for long do not leak memory, descriptors or threads: steady_test.py JOB [SECONDS]

Two jobs of two tasks train side by side (training_job.cpp). One runs in two processes, under mpirun, and saves a checkpoint
every second; the other runs in one process, evaluates every 20 steps and saves a checkpoint every 1000. Both read their data
ahead and print in every step. After SECONDS (default: an hour) they are told to stop. They may warm up in the first twelfth
of the time; after that nothing may grow. Prints what was seen; the last line is "N passed, N failed, N skipped".
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from training_data import write_training_data

JOB = str(Path(sys.argv[1]).resolve())
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 3600.0
MPIRUN = shutil.which("mpirun")
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
LONG = "1000000000"  # steps or epochs of a run that never ends by itself
SAMPLES = 720  # of each process over the whole time, counting the warm-up, which takes none
# By how much the smallest of the last third of the samples may exceed the smallest of the first third; memory is in KiB and may
# grow a little, since malloc may fragment it. The smallest counts because a checkpoint has a file open while it is written, for
# a time that depends on how busy the machine is, while what leaks is never given back.
GROWTH = {"memory": 1024, "descriptors": 0, "threads": 0}


def sample(process):
    """What the process holds now."""
    status = Path(f"/proc/{process}/status").read_text()
    field = {name: int(value) for name, value in re.findall(r"^(VmRSS|Threads):\s+(\d+)", status, re.M)}
    return {"memory": field["VmRSS"], "descriptors": len(os.listdir(f"/proc/{process}/fd")), "threads": field["Threads"]}


def least(samples, what):
    """The smallest of the first third of the samples, and of the last third."""
    values, third = [each[what] for each in samples], max(1, len(samples) // 3)
    return min(values[:third]), min(values[-third:])


def grown(samples):
    """Which of memory, descriptors and threads have grown by more than they may."""
    return [what for what, limit in GROWTH.items() if least(samples, what)[1] - least(samples, what)[0] > limit]


def sees_leaks():
    """Checks that grown() sees leaks of memory, descriptors and threads, and none in samples that only fluctuate."""
    dice = random.Random(1)
    still = [{"memory": 40000 + dice.randrange(900), "descriptors": 20 + (dice.randrange(300) < at), "threads": 7} for at in range(300)]
    assert grown(still) == [], grown(still)
    for what, more in {"memory": 3072, "descriptors": 2, "threads": 2}.items():
        leaking = [dict(each, **{what: each[what] + more * at // 300}) for at, each in enumerate(still)]
        assert grown(leaking) == [what], (what, grown(leaking))


class Job:
    """A running job and samples of its processes. Counts the lines that it prints, and keeps the last ones."""

    def __init__(self, name, launch, words):
        self.name, self.samples, self.lines, self.last = name, {}, 0, []
        self.process = subprocess.Popen([*launch, JOB, "--threads", "1", *map(str, words)], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines += 1
            self.last = [*self.last[-20:], line]

    def processes(self):
        """The ids of the processes that run the job, without that of mpirun."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
                number = int(stat.parent.name)
                if self.process.pid in (number, parent) and os.readlink(stat.parent / "exe") == os.path.realpath(JOB):
                    found.append(number)
            except OSError:
                continue  # it has ended
        return sorted(found)

    def take_samples(self):
        for process in self.processes():
            self.samples.setdefault(process, []).append(sample(process))

    def stop(self):
        """Tells the job to save and stop; returns what is wrong with how it ended."""
        running = self.processes()
        if running:
            os.kill(running[-1], signal.SIGTERM)
        try:
            self.process.wait(timeout=300)
        finally:
            self.process.kill()
            self.reader.join()
        said = "".join(self.last)
        wrong = [] if self.process.returncode == 75 else [f"exit code {self.process.returncode}, not 75:\n{said}"]
        step = re.search(r"stopped after step (\d+)", said)
        print(f"{self.name}: {step.group(1) if step else 'unknown'} steps, {self.lines} lines")
        return wrong

    def growth(self):
        """Returns what has grown in which process; prints all that was seen."""
        wrong = []
        for rank, samples in enumerate(self.samples.values()):
            for what in GROWTH:
                first, last = least(samples, what)
                print(f"  process {rank}: {what} {first} -> {last}, at most {max(each[what] for each in samples)}")
            wrong += [f"process {rank}: {what} grew" for what in grown(samples)]
        return wrong


def jobs(folder):
    steps = ["--steps", LONG, "--checkpoint-every", "1s"]
    epochs = ["--epochs", LONG, "--eval-every", "20", "--checkpoint-every", "1000", "--tasks", "2"]
    for name, launch, words in (("two processes", [MPIRUN, "--oversubscribe", "-np", "2"], steps), ("two tasks of a process", [], epochs)):
        if launch and not MPIRUN:
            print(f"[skip] {name}: there is no mpirun")
            continue
        yield Job(name, launch, [*words, "--data", folder, "--print-every", "100", "--checkpoint", folder / name.replace(" ", "-")])


def observe(running):
    """Takes samples of the jobs until SECONDS have passed, except during the warm-up; returns early when a job ends."""
    begin = time.monotonic()
    for number in range(SAMPLES):
        try:
            running[0].process.wait(max(0.0, begin + SECONDS * number / SAMPLES - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        if any(job.process.poll() is not None for job in running):
            return
        if number >= SAMPLES // 12:
            for job in running:
                job.take_samples()


def main():
    sees_leaks()
    failed = passed = 0
    with tempfile.TemporaryDirectory(prefix="ferry-steady-") as name:
        folder = Path(name)
        write_training_data(folder)
        running = list(jobs(folder))
        observe(running)
        for job in running:
            wrong = job.stop() + job.growth()
            print(*(f"FAILED {job.name}: {what}" for what in wrong), sep="\n")
            failed, passed = failed + bool(wrong), passed + (not wrong)
    print(f"{passed} passed, {failed} failed, {2 - passed - failed} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
