"""Jobs started by `ferry launch`, for tests: their output as it comes, and whether any of their processes is left."""
import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
import uuid

SECONDS = 60  # limit for what should happen at once

# A task that says "up" and then waits. It is no shell, which may lose a Ctrl-C that comes while it starts a program, and has no handler of
# Python's, which only runs after pause() where the signal comes just before that.
UP = [sys.executable, "-c", "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); print('up', flush=True); signal.pause()"]


def run(ferry, *words, **options):
    """Exit code, stdout and stderr of `ferry launch`, without its table. `ferry`: its path, or a list of words that run it."""
    options.setdefault("stdin", subprocess.DEVNULL)
    if "input" in options:
        del options["stdin"]
    done = subprocess.run(command(ferry, words), capture_output=True, timeout=SECONDS, check=False, **options)
    return done.returncode, done.stdout.decode(), without_table(done.stderr.decode())


def command(ferry, words, name="launch"):
    return [*([ferry] if isinstance(ferry, str) else ferry), name, *map(str, words)]


def without_table(text):
    return "".join(line for line in text.splitlines(True) if not re.match(r"ferry \S+ launches|  tasks? |  \d+(-\d+)?  ", line))


def await_end(process):
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], SECONDS)[0], f"process {process} is left over"
    finally:
        os.close(handle)


class Job:
    """A launcher (or another subcommand) that runs, and all that it started, which can be told by a variable of their environment."""

    def __init__(self, ferry, *words, subcommand="launch", environment=os.environ):
        self.tag = f"FERRY_TEST_JOB={uuid.uuid4()}"
        name, value = self.tag.split("=")
        self.launcher = subprocess.Popen(command(ferry, words, subcommand), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, env=dict(environment, **{name: value}))
        self.said = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.launcher.kill()
        self.launcher.wait()
        self.launcher.stdout.close()

    def await_line(self, pattern, times=1):
        """Waits until the pattern has been found in so many lines of the output; returns its last match."""
        while len(found := list(re.finditer(pattern, self.said.decode(), re.MULTILINE))) < times:
            assert select.select([self.launcher.stdout], [], [], SECONDS)[0], f"{pattern!r} is not said in:\n{self.said.decode()}"
            read = os.read(self.launcher.stdout.fileno(), 1 << 16)
            assert read, f"the job ended without saying {pattern!r} (exit code {self.launcher.wait()}):\n{self.said.decode()}"
            self.said += read
        return found[-1]

    def read_for(self, seconds):
        """Reads the output for so long, or to its end."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and select.select([self.launcher.stdout], [], [], left)[0]:
            if not (read := os.read(self.launcher.stdout.fileno(), 1 << 16)):
                return
            self.said += read

    def send(self, number):
        self.launcher.send_signal(number)

    def end(self):
        """Exit code and all output."""
        rest, _ = self.launcher.communicate(timeout=SECONDS)
        self.said += rest or b""
        return self.launcher.returncode, self.said.decode()

    def expect_killed(self):
        """The job ends, and its tasks had to be killed."""
        code, out = self.end()
        assert code == 130 and "not all tasks had ended in time, and were killed" in out, (code, out)
        assert not self.processes(), self.processes()

    def processes(self):
        """Ids of the launcher and all that it started and is not a zombie."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as environment:
                    if self.tag.encode() in environment.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                pass  # it has ended meanwhile, or is not ours
        return found

    def await_processes(self, count):
        """Waits until there are so many: one that starts a program cannot be told for a moment."""
        end = time.monotonic() + SECONDS
        while len(found := self.processes()) < count:
            assert time.monotonic() < end, f"{found} are not {count} processes"

    def children(self, parent):
        def parent_of(process):
            try:
                with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
                    return int(stat.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                return 0
        return [process for process in self.processes() if parent_of(process) == parent]

    def await_all_gone(self):
        """Waits until the launcher and all that it started have ended."""
        while left := self.processes():
            await_end(left[0])
