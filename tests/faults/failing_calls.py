#!/usr/bin/env python3
"""Runs in which a system call fails: failing_calls.py FAILING_CALLS JOB FERRY GPU_FERRY GRAPH [all] [SCENARIO…]

FAILING_CALLS is failing_calls.cpp, JOB checkpoint_job.cpp, GPU_FERRY `ferry` with CUDA on the host, GRAPH a graph that it runs. Saving a
model, saving checkpoints, meeting over TCP by a file, launching, and the cache of generated kernels are run again and again, each time
with another call that fails: with "all" every one that the scenario makes, else a few. A run must be right, or end with an error that
names something, and the model, the checkpoints or the cache from before must be whole. With "all" it prints a table: for each scenario and call how many runs were right, how many ended with an error, and with which exit codes.
"""
import collections
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

FAILING, JOB, FERRY, GPU_FERRY, GRAPH = sys.argv[1:6]
ALL = "all" in sys.argv[6:]
SCENARIOS = [name for name in sys.argv[6:] if name != "all"]
SECONDS = 60  # limit for a run that hangs
FOLDER = Path(tempfile.mkdtemp(prefix="ferry-calls-"))
ERRORS = ["ENOSYS", "EINVAL", "EXDEV", "EIO", "ENOSPC", "EINTR"]
FILE_CALLS = ["openat", "openat2", "mkdir", "rename", "link", "unlink", "unlinkat", "rmdir", "write", "pwrite64", "read", "pread64", "fsync", "close",
              "flock", "fcntl", "ftruncate", "newfstatat", "statx", "getdents64", "readlink"]
JOB_CALLS = ["socket", "bind", "listen", "connect", "accept4", "setsockopt", "getsockname", "getrandom", "memfd_create", "fallocate", "ftruncate",
             "signalfd4", "pipe2", "dup2", "clone", "clone3", "prctl", "setpgid", "sched_setaffinity", "membarrier", "eventfd2",
             "uname", "process_vm_readv", "readlink"]
NAMED = {0, 2, 3, 5, 6, 7}


class Failed(Exception):
    pass


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "SLURM_"))}
    return dict(env, **more)


def run(words, **more):
    with subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(**more),
                          start_new_session=True) as started:
        try:
            said = started.communicate(timeout=SECONDS)[1]
        except subprocess.TimeoutExpired as late:
            os.killpg(started.pid, signal.SIGKILL)
            raise Failed(f"it has not ended after {SECONDS} s: {words}") from late
    return started.returncode, said.decode(errors="replace")


def faulty(call, error, nth, part, words, **more):
    """Exit code, what it said, and how many calls were selected."""
    code, said = run([FAILING, call, getattr(errno, error), nth, part, *words], **more)
    matched = re.search(r"matched (\d+)\n\Z", said)
    if matched is None:
        if code == 125:
            print("[skip] the system lets no program watch the calls of another")
            sys.exit(77)
        raise Failed(f"exit code {code}: {said}")
    return code, said[:matched.start()], int(matched[1])


def right_or_named(code, said):
    if code not in NAMED:
        raise Failed(f"exit code {code}: {said[-2000:]}")
    if code != 0 and not re.search(r"error: .*\S", said):
        raise Failed(f"exit code {code} without an error: {said[-2000:]}")


def job(*words):
    return [JOB, "--threads", 1, "--tasks", 2, *words]


class Save:
    """A model is saved in place of another."""
    parts = [(FILE_CALLS, "/model")]
    quick = [("rename", "EINVAL", 0), ("rename", "EIO", 4), ("fsync", "EIO", 6), ("flock", "ENOSYS", 0), ("openat2", "ENOSYS", 0)]

    def __init__(self):
        self.old, self.new = (self.saved(steps) for steps in (3, 5))

    def saved(self, steps):
        folder = FOLDER / f"saved-{steps}" / "model"
        code, said = run(job("--steps", steps, "--save", folder))
        if code != 0:
            raise Failed(said)
        return folder

    def run(self, call, error, nth, part):
        model = FOLDER / "now" / "model"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(self.old, model)
        code, said, matched = faulty(call, error, nth, part, job("--steps", 5, "--save", model))
        right_or_named(code, said)
        shown, why = run([FERRY, "show", model])
        if shown != 0:
            raise Failed(f"exit code {code}: {said[-1500:]}\nthe model cannot be read: {why}")
        bits, old, new = ((folder / "variables.safetensors").read_bytes() for folder in (model, self.old, self.new))
        if bits not in (old, new) or (code == 0 and bits != new):
            raise Failed(f"exit code {code}, and the model is another: {said[-1500:]}")
        return code, matched


class Checkpoint:
    """Checkpoints are saved, and a run without faults resumes from what is there."""
    parts = [(FILE_CALLS, "/checkpoints")]
    quick = [("flock", "ENOSYS", 0), ("fcntl", "EINVAL", 0), ("fsync", "EINVAL", 4), ("mkdir", "ENOSPC", 2)]

    def __init__(self):
        self.wanted = self.end(FOLDER / "undisturbed")

    def end(self, folder):
        model = FOLDER / "end"
        shutil.rmtree(model, ignore_errors=True)
        code, said = run(job("--steps", 7, "--checkpoint", folder, "--resume", "--save", model))
        if code != 0:
            raise Failed(f"it does not resume: {said}")
        return (model / "variables.safetensors").read_bytes()

    def run(self, call, error, nth, part):
        folder = FOLDER / "checkpoints"
        shutil.rmtree(folder, ignore_errors=True)
        code, said, matched = faulty(call, error, nth, part, job("--steps", 5, "--checkpoint", folder, "--checkpoint-every", 2, "--checkpoint-keep", 1))
        right_or_named(code, said)
        if self.end(folder) != self.wanted:
            raise Failed(f"exit code {code}, and resumed it ends otherwise: {said[-1500:]}")
        return code, matched


class Rendezvous:
    """Two processes meet by a file; the calls of the first one fail."""
    parts = [(FILE_CALLS, "/notice"), (JOB_CALLS, "")]
    quick = [("link", "EINVAL", 0), ("rename", "EINVAL", 0), ("getrandom", "ENOSYS", 0), ("memfd_create", "ENOSYS", 0)]

    def run(self, call, error, nth, part):
        notice = FOLDER / "meeting" / "notice"
        shutil.rmtree(notice.parent, ignore_errors=True)
        notice.parent.mkdir()
        variables = dict(FERRY_RENDEZVOUS=f"file:{notice}", FERRY_SECRET="of failing calls", WORLD_SIZE="2")
        words = [JOB, "--threads", "1", "--transport", "tcp", "--deadline", "3", "--steps", "3"]
        other = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                 env=environment(RANK="1", **variables))
        try:
            code, said, matched = faulty(call, error, nth, part, words, RANK="0", **variables)
            of_other = other.communicate(timeout=SECONDS)[1]
        except subprocess.TimeoutExpired as late:
            raise Failed(f"the other process has not ended after {SECONDS} s") from late
        finally:
            other.kill()
            other.wait()
        right_or_named(code, said)
        right_or_named(other.returncode, of_other)
        if code == 0 and other.returncode != 0:
            raise Failed(f"only the other process failed: {of_other}")
        return code, matched


class Launch:
    """ferry launch with two tasks; the calls of launcher, agent and tasks fail."""
    parts = [(JOB_CALLS, "")]
    quick = [("prctl", "EINVAL", 0), ("signalfd4", "ENOSYS", 0)]

    def run(self, call, error, nth, part):
        code, said, matched = faulty(call, error, nth, part, [FERRY, "launch", "-n", 2, "--deadline", 5, "--", JOB, "--threads", 1, "--deadline", 3,
                                                              "--steps", 3])
        right_or_named(code, said)
        return code, matched


class KernelCache:
    """The cache has one of two kernels: one is found, the other compiled and added."""
    parts = [(FILE_CALLS, "/caches")]
    quick = [("openat", "EIO", 0), ("rename", "EXDEV", 0), ("write", "ENOSPC", 0)]

    def __init__(self):
        self.caches, self.out = FOLDER / "caches", FOLDER / "results"
        self.wanted = self.end()
        self.kernels = self.content()
        if len(self.kernels) != 2:
            raise Failed(f"the cache has {len(self.kernels)} kernels")

    def words(self):
        shutil.rmtree(self.out, ignore_errors=True)
        return [GPU_FERRY, "run", GRAPH, "--device", "gpu", "--steps", 2, "--threads", 1, "--out", self.out]

    def results(self):
        return {file.name: file.read_bytes() for file in self.out.iterdir()}

    def content(self):
        return {file.name: file.read_bytes() for file in (self.caches / "ferry" / "kernels").iterdir() if not file.name.startswith(".")}

    def end(self):
        code, said = run(self.words(), XDG_CACHE_HOME=str(self.caches))
        if code != 0:
            raise Failed(f"it does not run with the cache: {said}")
        return self.results()

    def run(self, call, error, nth, part):
        kernels = self.caches / "ferry" / "kernels"
        old = min(self.kernels)
        shutil.rmtree(kernels)
        kernels.mkdir()
        (kernels / old).write_bytes(self.kernels[old])
        code, said, matched = faulty(call, error, nth, part, self.words(), XDG_CACHE_HOME=str(self.caches))
        right_or_named(code, said)
        if code == 0 and self.results() != self.wanted:
            raise Failed(f"the results are other ones: {said[-1500:]}")
        left = self.content()
        if left.get(old) != self.kernels[old] or any(self.kernels.get(name) != bits for name, bits in left.items()):
            raise Failed(f"exit code {code}, and the cache is another: {sorted(left)}")
        if self.end() != self.wanted or self.content() != self.kernels:
            raise Failed(f"exit code {code}, and a later run is not right")
        return code, matched


def cases(scenario):
    """Yields (call, errno, nth, part); is sent how many calls were selected."""
    if not ALL:
        for call, error, nth in scenario.quick:
            yield call, error, nth, next(part for calls, part in scenario.parts if call in calls)
        return
    for calls, part in scenario.parts:
        for call in calls:
            matched = 0
            for error in ERRORS:
                if (call, error) != ("getrandom", "EINTR"):  # getentropy() of the C library would call it for ever
                    matched = max(matched, (yield call, error, 0, part) or 0)
                yield call, error, 1, part
                yield call, error, max(matched, 2), part
            for nth in range(2, min(matched, 60)):
                yield call, "EIO", nth, part


def main():
    failed = 0
    for kind in (Save, Checkpoint, Rendezvous, Launch, KernelCache):
        if SCENARIOS and kind.__name__ not in SCENARIOS:
            continue
        scenario = kind()
        codes = collections.defaultdict(collections.Counter)
        case = cases(scenario)
        matched = None
        while True:
            try:
                call, error, nth, part = case.send(matched)
            except StopIteration:
                break
            try:
                code, matched = scenario.run(call, error, nth, part)
                if matched > 0:
                    codes[call][code] += 1
            except Failed as why:
                matched = 0
                failed += 1
                codes[call]["FAILED"] += 1
                print(f"FAILED {kind.__name__}: {call} {error} {'every one' if nth == 0 else nth}: {why}", flush=True)
        for call, counts in codes.items():
            print(f"{kind.__name__} {call}: " + ", ".join(f"{count} x {code}" for code, count in sorted(counts.items(), key=str)), flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
