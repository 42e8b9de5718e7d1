"""What --tensorboard writes has what --metrics has: of a training that evaluates, is stopped, goes on from a checkpoint that lies some
steps back, and of a new run into the same folder. Where Python's package tensorboard is installed, it must read the same.

usage: tensorboard_test.py FERRY SAMPLES_FOLDER DATA_FOLDER
"""

import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import event_files

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    EventAccumulator = None

FERRY, SAMPLES, DATA = (pathlib.Path(word).resolve() for word in sys.argv[1:4])


def train(folder, *options):
    command = [FERRY, "run", SAMPLES / "digits.pb", "--entry", "train", "--data", DATA, "--tasks", 2, "--eval-every", 4, *options,
               "--metrics", folder / "metrics.jsonl", "--tensorboard", folder / "board"]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


def shown(folder):
    """(step, value) of each scalar, by the entry and the name."""
    scalars = {}
    for run in (folder / "board").iterdir():
        here = event_files.scalars(run.iterdir())
        if EventAccumulator is not None:
            there = of_tensorboard(run)
            assert here == there, (here, there)
        scalars |= {(run.name, tag): pairs for tag, pairs in here.items()}
    return scalars


def of_tensorboard(run):
    events = EventAccumulator(str(run), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def of_metrics(folder):
    scalars = {}
    for line in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines()):
        for name, value in line["values"].items():
            scalars.setdefault((line["entry"], name), []).append((line["step"], single(value)))
    return scalars


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        checkpoints = ["--checkpoint", folder / "checkpoints"]
        train(folder, "--steps", 8, *checkpoints, "--checkpoint-every", 4, "--checkpoint-keep", 9)
        first = shown(folder)
        assert set(first) == {("train", "loss"), ("train", "accuracy"), ("eval", "accuracy")}, first
        assert first == of_metrics(folder), first
        assert [step for step, value in first["train", "loss"]] == list(range(1, 9))

        last = sorted((folder / "checkpoints").glob("*8*"))
        assert last, list((folder / "checkpoints").iterdir())
        for path in last:
            shutil.rmtree(path)
        train(folder, "--steps", 12, *checkpoints, "--resume")
        resumed = shown(folder)
        assert [step for step, value in resumed["train", "loss"]] == list(range(1, 13)), resumed
        assert resumed == of_metrics(folder), (resumed, of_metrics(folder))

        train(folder, "--steps", 3)
        assert shown(folder) == of_metrics(folder), shown(folder)
    print("TensorBoard reads the same" if EventAccumulator else "there is no Python package tensorboard to compare with")


main()
