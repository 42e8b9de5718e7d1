#!/usr/bin/env python3
"""Compares a real model's results with its reference, on one task and split over three by rules, with batches of two rows
(as in the reference), one and 32:

    models_test.py FERRY FOLDER
"""
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from npy import read_npy, write_npy

FERRY = sys.argv[1]
MODEL = Path(sys.argv[2])
RELATIVE = 1e-4
DEADLINE = "600"  # seconds; sanitizers make a step of 32 files long
TINY = 1e-6  # the error of smaller numbers is relative to this


def rows(path, count):
    """The first `count` rows of the file, from the beginning again when they end."""
    descr, shape, content = read_npy(path)
    size = len(content) // shape[0]
    parts = [content[i % shape[0] * size:][:size] for i in range(count)]
    return descr, (count, *shape[1:]), b"".join(parts)


def floats(content):
    return struct.unpack(f"<{len(content) // 4}f", content)


def check(batch, options):
    with tempfile.TemporaryDirectory() as folder:
        write_npy(f"{folder}/x.npy", *rows(MODEL / "bytes.npy", batch))
        done = subprocess.run([FERRY, "run", str(MODEL / "model.onnx"), "--feed", f"bytes={folder}/x.npy", "--out",
                               f"{folder}/out", "--deadline", DEADLINE, *options], capture_output=True, text=True)
        if done.returncode != 0:
            return f"exit code {done.returncode}: {done.stderr}"
        result = read_npy(f"{folder}/out/target_label.npy")
        expected = rows(MODEL / "target_label.npy", batch)
    if result[:2] != expected[:2]:
        return f"{result[:2]}, not {expected[:2]}"
    worst = max(abs(a - b) / max(abs(b), TINY) for a, b in zip(floats(result[2]), floats(expected[2])))
    return None if worst <= RELATIVE else f"a difference of {worst:.2g}, more than {RELATIVE}"


def main():
    split = ["--tasks", "3", "--devices", str(MODEL / "rules.txt")]
    faults = [f"batch {batch}, {' '.join(options) or 'one task'}: {why}" for batch in (2, 1, 32)
              for options in ([], split) if (why := check(batch, options))]
    print("\n".join(faults))
    print(f"{6 - len(faults)} passed, {len(faults)} failed, 0 skipped")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
