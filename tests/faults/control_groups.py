#!/usr/bin/env python3
"""042 The limits of the control group that a process is in, however deep, are those that ferry plans with: control_groups.py FERRY

Makes control groups below its own, where it may, with processes in them that end at once. The last line is "N passed, N failed, N skipped".
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tcp_job  # noqa: E402
from cases import run as run_cases  # noqa: E402

FERRY = sys.argv[1]
SECONDS = 60  # limit for what should happen at once
MEMORY = 200 << 20  # more than ferry and its libraries take
# Draws a value that is larger, which no memory is touched for where the plan is refused.
LARGE = """version: 1
graph {
  op { name: "w" op: "RandomUniform" attr { name: "dtype" dtype: FLOAT32 } attr { name: "shape" shape { dim { size: 100000000 } } }
       attr { name: "low" float: 0 } attr { name: "high" float: 1 } attr { name: "seed" int: 0 } }
  op { name: "s" op: "Sum" input: "w" attr { name: "axes" ints { value: 0 } } }
}
entry { name: "run" fetch { name: "s" value: "s" } }
"""


def mounts():
    """(place, kind, controllers) of each hierarchy that shows all groups, the latest first."""
    for line in reversed(Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()):
        before, after = line.split(" - ")
        kind, _, options = after.split(" ")[:3]
        if kind.startswith("cgroup") and before.split(" ")[3] == "/":
            yield Path(before.split(" ")[4]), kind, options.split(",")


@contextlib.contextmanager
def group(controller, settings):
    """The folder of a group within a group within this process's, of which the outer one has the first `settings` whose files are there.
    Nothing where none can be made."""
    made = []
    try:
        for place, kind, controllers in mounts():
            unified = kind == "cgroup2"
            for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
                _, of, own = line.split(":", 2)
                if (of == "" if unified else controller in of.split(",") and controller in controllers):
                    outer = Path(f"{place}{own}") / f"ferry-test-{os.getpid()}"
                    with contextlib.suppress(OSError):
                        outer.mkdir()
                        made.append(outer)
                        files = next((files for files in settings if all((outer / name).exists() for name in files)), None)
                        if files is None:  # a hierarchy without this controller
                            made.pop().rmdir()
                            continue
                        for name, value in files.items():
                            (outer / name).write_text(value, encoding="ascii")
                        (outer / "inner").mkdir()
                        made.append(outer / "inner")
                        yield outer / "inner"
                        return
        yield None
    finally:
        for folder in reversed(made):
            folder.rmdir()


def within(folder, *words):
    """Exit code, stdout and stderr of a command that runs in the group."""
    script = 'echo $$ > "$0"/cgroup.procs && exec "$@"'
    done = subprocess.run(["sh", "-c", script, folder, *map(str, words)], env=tcp_job.environment(), capture_output=True, text=True,
                          timeout=SECONDS, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


def found(folder, topic, *before):
    code, output, errors = within(folder, *before, FERRY, "doctor", "--json")
    assert code == 0, errors
    return json.loads(output)["tasks"][0][topic]


def memory(folder, graph):
    limits = [found(folder, "memory", *before)["limit_bytes"] for before in ([], ["unshare", "--cgroup"])]
    assert limits == [MEMORY, MEMORY], limits
    for words in (["run", graph], ["check", graph], ["launch", "-n", "2", "--", FERRY, "run", graph]):
        code, _, errors = within(folder, FERRY, *words)
        assert code == 4 and "and may have 200 MiB" in errors, f"{words}: {code}: {errors}"


def processor(folder):
    assert found(folder, "cpu")["quota"] == 0.5
    assert found(folder, "threads") == 1
    code, _, errors = within(folder, FERRY, "launch", "--", "true")  # as many tasks as this host has cores
    assert code == 0 and "\n  1 " not in errors, errors


def main():
    cases, skipped = [], []
    with contextlib.ExitStack() as stack:
        graph = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "large.pbtxt"
        graph.write_text(LARGE, encoding="ascii")
        for name, case, controller, settings in (
                ("042 memory", lambda folder: memory(folder, graph), "memory", [{"memory.max": str(MEMORY)}, {"memory.limit_in_bytes": str(MEMORY)}]),
                ("processor time", processor, "cpu", [{"cpu.max": "50000 100000"}, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}])):
            if folder := stack.enter_context(group(controller, settings)):
                cases.append((name, lambda case=case, folder=folder: case(folder)))
            else:
                skipped.append((name, f"no control group for {controller} can be made here"))
        return run_cases(cases, skipped)


if __name__ == "__main__":
    sys.exit(main())
