#!/usr/bin/env python3
"""Writes values.json for resnet50_test.cpp: what onnxruntime computes in ResNet-50 with weights drawn by a formula.

    make_values.py light_resnet50.onnx values.json        needs the packages numpy, onnx and onnxruntime

Numbers are those of ../drawn.py. Streams 5k to 5k + 4 are filter, scale, offset, mean and variance of the k-th
convolution and its norm, in the model's order; 265 and 266 are the dense layer's weights and bias; 1000 is the image:
bytes, normalised by the means and deviations of ImageNet's colours.
"""
import json
import math
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from drawn import drawn

IMAGE_STREAM, DENSE_STREAM = 1000, 265
MEANS, DEVIATIONS = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]


def norm_of(k, channels, last):
    """Scale, offset, mean and variance; the scale is smaller for the last norm of a block, whose result is added to the input."""
    middle, width = (0.2, 0.1) if last else (0.75, 0.25)
    return [np.float32(middle) + drawn(5 * k + 1, [channels], width), drawn(5 * k + 2, [channels], 0.1),
            drawn(5 * k + 3, [channels], 0.2), np.float32(1) + drawn(5 * k + 4, [channels], 0.5)]


def weights_of(nodes, shapes):
    convs = [n for n in nodes if n.op_type == "Conv"]
    norms = [n for n in nodes if n.op_type == "BatchNormalization"]
    for k, (conv, norm) in enumerate(zip(convs, norms)):
        sizes = shapes[conv.input[1]]
        yield conv.input[1], drawn(5 * k, sizes, math.sqrt(6 / math.prod(sizes[1:])))
        yield from zip(norm.input[1:], norm_of(k, sizes[0], "branch2c" in conv.input[1]))
    dense = next(n for n in nodes if n.op_type == "Gemm")
    yield dense.input[1], drawn(DENSE_STREAM, shapes[dense.input[1]], 0.05)
    yield dense.input[2], drawn(DENSE_STREAM + 1, shapes[dense.input[2]], 0.05)


def with_weights(model):
    """The model with drawn weights and the dense layer's logits as output."""
    graph = model.graph
    known = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    shapes = {n.output[0]: known[n.input[0]].tolist() for n in graph.node if n.op_type == "ConstantOfShape"}
    nodes = [n for n in graph.node if n.op_type not in ("ConstantOfShape", "Softmax")]
    drawn_ones = dict(weights_of(nodes, shapes))
    weights = [numpy_helper.from_array(array, name) for name, array in drawn_ones.items()]
    weights += [one for one in graph.initializer if one.name not in drawn_ones and any(one.name in n.input for n in nodes)]
    image = [one for one in graph.input if one.name == "gpu_0/data_0"]
    logits = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    return helper.make_model(helper.make_graph(nodes, "resnet50", image, [logits], weights),
                             opset_imports=model.opset_import, ir_version=model.ir_version)


def image():
    unit = (drawn(IMAGE_STREAM, [1, 3, 224, 224], 1).astype(np.float64) + 1) / 2
    colours = np.floor(unit * 256).astype(np.float32)
    return (colours - np.float32(MEANS).reshape(3, 1, 1)) / np.float32(DEVIATIONS).reshape(3, 1, 1)


def main():
    model = with_weights(onnx.load(sys.argv[1]))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    logits = session.run(None, {"gpu_0/data_0": image()})[0]
    rows = [", ".join(f"{number:.9g}" for number in row) for row in logits.reshape(-1, 10)]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write('{"made_by": "onnxruntime ' + onnxruntime.__version__ + '", "logits": [\n')
        file.write(",\n".join(rows) + "\n]}\n")


if __name__ == "__main__":
    main()
