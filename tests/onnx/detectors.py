#!/usr/bin/env python3
"""Compares PyTorch's detectors in ferry with onnxruntime, on one task and split over three by rules. Run by hand:

    pip install numpy onnx onnxruntime torch torchvision
    detectors.py FERRY FOLDER [NAME...]

Models are exported into FOLDER once, with random weights that are scaled so that each layer's results have a variance of
1. They are imported without an image. For each of three images there must be as many boxes as by onnxruntime, and each
must have the label, the score and the edges (in pixels) of one of onnxruntime's to LIMIT (boxes of nearly equal scores may
change places). The split run must give the same bits. The exit code is 1 when one of these fails.
"""
import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torchvision.models import detection

LIMIT = 1e-2
SIDE = 192
FACTORS = (1.0, 0.6, 0.9)  # how bright images are
PLAIN = {"weights": None, "weights_backbone": None, "num_classes": 4}
SMALL = {**PLAIN, "min_size": 160, "max_size": 200}
MODELS = {
    "ssdlite": lambda: detection.ssdlite320_mobilenet_v3_large(score_thresh=0.85, **PLAIN),
    "ssd": lambda: detection.ssd300_vgg16(score_thresh=0.8, **PLAIN),
    "fcos": lambda: detection.fcos_resnet50_fpn(score_thresh=0.2, **SMALL),
    "faster_rcnn_mobilenet": lambda: detection.fasterrcnn_mobilenet_v3_large_320_fpn(box_score_thresh=0.3, **PLAIN),
    "faster_rcnn_resnet": lambda: detection.fasterrcnn_resnet50_fpn_v2(
        box_score_thresh=0.3, rpn_post_nms_top_n_test=100, **SMALL),
}


def image(number):
    blocks = np.random.RandomState(number).rand(3, SIDE // 16, SIDE // 16)
    return (blocks.repeat(16, 1).repeat(16, 2) * FACTORS[number]).astype(np.float32)


def to_unit_variance(layer, _, out):
    """A forward hook that scales the layer's weights so that its results have a variance of 1."""
    spread = out.std()
    if out.numel() < 2 or not torch.isfinite(spread) or spread == 0:
        return None
    layer.weight.div_(spread)
    return out / spread if layer.bias is None else None


def exported(name, file):
    torch.manual_seed(3)
    model = MODELS[name]().eval()
    sample = torch.from_numpy(image(0))
    with torch.no_grad():
        for key, weights in model.named_parameters():
            if "cls_logits.bias" in key:
                weights.fill_(-4.0 if name == "fcos" else 0.0)
        layers = [m for m in model.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))]
        hooks = [layer.register_forward_hook(to_unit_variance) for layer in layers]
        model([sample])
        for hook in hooks:
            hook.remove()
        for key, weights in model.named_parameters():
            if any(word in key for word in ("bbox_pred", "bbox_reg", "regression")) and weights.dim() > 1:
                weights.mul_(0.2)  # keeps boxes near their anchors
            if name == "ssdlite" and "classification_head" in key and weights.dim() > 1:
                weights.mul_(0.7)  # keeps scores below 1, where they would be equal
            if "cls_score.bias" in key:
                weights[0] = -3.0  # makes background rare
        names = list(model([sample])[0])
    torch.onnx.export(model, ([sample],), str(file), opset_version=17, input_names=["image"], output_names=names)


def run(ferry, graph, feed, out, *more):
    command = [ferry, "run", graph, "--feed", f"image={feed}", "--out", out, *more]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return {file.stem: np.load(file) for file in out.glob("*.npy")}


def rows_of(results):
    """A row for each box. Labels are scaled so that two different ones are farther apart than edges can be."""
    return np.column_stack([results["labels"] * 1e4, results["scores"], results["boxes"]])


def farthest(found, wanted):
    """The largest distance from a row of either array to the nearest row of the other."""
    if len(found) != len(wanted):
        return np.inf
    distances = np.abs(found[:, None] - wanted[None]).max(axis=2)
    return max(distances.min(axis=0).max(initial=0), distances.min(axis=1).max(initial=0)) if len(found) else 0


def differences(name, ferry, folder):
    model, graph, rules, feed = (folder / f"{name}.{kind}" for kind in ("onnx", "pb", "txt", "npy"))
    if not model.exists():
        exported(name, model)
    subprocess.run([str(ferry), "import", str(model), str(graph)], check=True)
    tasks = "/backbone/* /task:0\n"
    if name.startswith("faster"):
        tasks += "/rpn/* /task:1\n/roi_heads/* /task:2\n"
    rules.write_text(tasks, encoding="utf-8")
    session = onnxruntime.InferenceSession(str(model))
    for number in range(len(FACTORS)):
        np.save(feed, image(number))
        wanted = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"image": image(number)})))
        one = run(ferry, graph, feed, folder / "one")
        split = run(ferry, graph, feed, folder / "split", "--tasks", 3, "--devices", rules)
        print(f"{name}, image {number}: {len(wanted['scores'])} boxes")
        far = farthest(rows_of(one), rows_of(wanted))
        if far > LIMIT:
            yield f"image {number}: a box is {far} from those of onnxruntime"
        if any(value.tobytes() != split[key].tobytes() for key, value in one.items()):
            yield f"image {number}: split over tasks the bits are others"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ferry", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(MODELS))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    found = [f"{name}: {what}" for name in given.names for what in differences(name, given.ferry, given.folder)]
    print("\n".join(found) or "all as onnxruntime's")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
