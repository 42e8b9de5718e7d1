"""Runs an imported model as a pipeline over two tasks (samples/streaming): it must give the same bits as on one task, and the
first stage must begin the next image before the second stage has finished.

usage: streaming_test.py FERRY SAMPLES_FOLDER DATA_FOLDER MODEL RULES
The last line is "N passed, N failed, N skipped".
"""

import json
import random
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from npy import write_npy
from samples_test import MPIRUN, run, run_all

MODEL, RULES = sys.argv[4:]
STEPS = 20
# The last convolution tells more than the softmax, which is flat for these weights.
FETCHES = ["--fetch", "r63,softmaxout_1"]


def image(folder):
    """Seeded random pixels, 1 x 3 x 224 x 224."""
    dice = random.Random(0)
    pixels = [dice.random() for _ in range(3 * 224 * 224)]
    path = folder / "image.npy"
    write_npy(path, "<f4", (1, 3, 224, 224), struct.pack(f"<{len(pixels)}f", *pixels))
    return path


def results(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.npy")}


def streamed(folder, ranks=0):
    feed = ["--feed", f"data_0={image(folder)}", *FETCHES]
    run("run", MODEL, *feed, "--out", folder / "one")
    launch = [] if ranks else ["--tasks", 2, "--threads", 1]
    run("run", MODEL, *feed, "--out", folder / "two", "--devices", RULES, "--fetch-to", 1, "--steps", STEPS,
        "--trace", folder / "trace.json", *launch, ranks=ranks)
    assert len(results(folder / "one")) == 2 and results(folder / "one") == results(folder / "two")
    return json.loads((folder / "trace.json").read_text())


def times(events, task, op):
    """When a task began and ended an op, step by step."""
    spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("pid") == task and e.get("name") == op)
    assert len(spans) == STEPS, (op, len(spans))
    return spans


def both_stages_are_busy_at_once(folder, ranks=0):
    events = streamed(folder, ranks)
    first, last = times(events, 0, "Conv2D+Add+Relu r1"), times(events, 1, "Conv2D+Add r63")
    ahead = [step for step in range(STEPS - 1) if first[step + 1][0] < last[step][1]]
    assert ahead, (first, last)


def both_stages_are_busy_at_once_over_mpi(folder):
    both_stages_are_busy_at_once(folder, ranks=2)


def results_arrive_where_they_are_wanted(folder):
    feed = ["--feed", f"data_0={image(folder)}"]
    assert "softmaxout_1 = " in run("run", MODEL, *feed, "--devices", RULES, "--fetch-to", 1, ranks=2)
    plan = folder / "stream.plan"
    run("plan", MODEL, *feed, "--devices", RULES, "--fetch-to", 1, "--tasks", 2, "--threads", 1, "--save", plan)
    assert "fetch softmaxout_1" in run("show", plan) and "on task 1" in run("show", plan)
    assert "softmaxout_1 = " in run("run", plan, *feed, ranks=2)


def cases():
    yield "both stages are busy at once", both_stages_are_busy_at_once
    for case in (both_stages_are_busy_at_once_over_mpi, results_arrive_where_they_are_wanted):
        yield case.__name__.replace("_", " "), case if MPIRUN else None


sys.exit(run_all(cases()))
