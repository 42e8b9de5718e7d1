#!/usr/bin/env python3
"""Checks that `--place auto` keeps within --memory.

    memory_limit_test.py FERRY SAMPLES_FOLDER [all]

Samples without their annotations are placed with less and less memory, from the memory of the fastest placement to the least
that ferry finds. Each plan needs at most the memory that it may use, and none is much faster than the plan with more memory. The
plan with the annotations that ferry prints needs at most this memory, too. With `all` for more samples, tasks and limits.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from annotations import write_without_annotations

FERRY, SAMPLES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
ALL = "all" in sys.argv[3:]
CASES = [("fashion", 2), ("tensor_parallel", 2)]
if ALL:
    CASES = [(sample, tasks) for sample in ("fashion", "fashion_cnn", "tensor_parallel", "charlm") for tasks in (2, 4)]
STEPS = 12 if ALL else 2  # of the limit
REFUSAL = re.compile(r"error: no placement was found that fits into 1 B \(1 bytes\) of memory\n  the least is .* \((\d+) bytes\): "
                     r"(mesh .*|as annotated|pipeline .*), on task .*\n  at .*\n  '.*: .* at .*\n(?:.*\n)*  try: more tasks to split over, "
                     r"a smaller batch, or --memory \1\n")
# Each limit is searched by itself, up to a gap: a plan may be as much faster than the plan with more memory.
NOISE = 0.03


def plan(graph, tasks, *words, place="auto"):
    return subprocess.run([str(word) for word in (FERRY, "plan", graph, "--tasks", tasks, "--threads", 1, "--place", place, *words)],
                          capture_output=True, text=True, check=False)


def needed_bytes(data):
    """The memory of the task that needs the most."""
    return max(sum(device["step_bytes"] + device["state_bytes"] for device in role["devices"]) for role in data["classes"])


def planned(done):
    """The planned time of a step, the memory of the task that needs the most, and the gap of the model's bound."""
    data = json.loads(done.stdout)
    place = data["place"]
    gap = place["model_seconds"] / place["bound_seconds"] - 1 if place["bound_seconds"] else 0
    return place["step_seconds"], needed_bytes(data), gap, place


def annotated_bytes(graph, tasks, limit, folder):
    """The memory of the plan with the annotations that ferry finds within the limit; 0 if it finds none."""
    found = plan(graph, tasks, "--memory", limit, "--print-annotations").stdout
    if "# RULES" not in found:
        assert found.startswith("# no annotations: "), found
        return 0
    rules = pathlib.Path(folder) / "rules.txt"
    rules.write_text(found[found.index("# RULES"):])
    return needed_bytes(json.loads(plan(graph, tasks, "--json", "--devices", rules, place="annotated").stdout))


def tried(sample, tasks, folder):
    graph = write_without_annotations(SAMPLES / f"{sample}.pb", folder)
    free = plan(graph, tasks, "--json")
    assert free.returncode == 0, free.stderr
    fastest, most, _, _ = planned(free)
    assert plan(graph, tasks, "--json", "--memory", most).stdout == free.stdout
    refused = plan(graph, tasks, "--json", "--memory", 1)
    assert refused.returncode == 4, refused.stderr
    least = int(REFUSAL.search(refused.stderr)[1])
    assert not ALL or plan(graph, tasks, "--json", "--memory", least - 1).returncode == 4
    before, gaps = fastest * (1 - NOISE), []
    for step in range(1, STEPS + 1):
        limit = most - (most - least) * step // STEPS
        done = plan(graph, tasks, "--json", "--memory", limit)
        what = f"{sample} on {tasks} tasks within {limit} of {most} bytes"
        assert done.returncode == 0, f"{what}: {done.stderr}"
        seconds, needed, gap, place = planned(done)
        print(f"{what}: {place['taken']}, {seconds * 1e3:.3f} ms ({seconds / fastest:.2f}), {needed} bytes, "
              f"gap {gap * 100:.2f} %", flush=True)
        assert needed <= limit, f"{what}: {needed} bytes"
        annotated = annotated_bytes(graph, tasks, limit, folder)
        assert annotated <= limit, f"{what}: {annotated} bytes with annotations"
        assert seconds >= before, f"{what}: {seconds} s, with more memory {before} s"
        before = seconds * (1 - NOISE)
        gaps.append(gap)
    return gaps


def main():
    gaps = []
    for sample, tasks in CASES:
        with tempfile.TemporaryDirectory() as folder:
            gaps += tried(sample, tasks, folder)
    print(f"{len(gaps)} plans; the largest gap is {max(gaps) * 100:.2f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
