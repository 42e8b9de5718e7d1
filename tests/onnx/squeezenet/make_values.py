#!/usr/bin/env python3
"""Writes values.json for squeezenet_test.cpp: what onnxruntime computes in SqueezeNet with weights drawn by a formula.

    make_values.py MODEL.onnx values.json        needs the packages numpy, onnx and onnxruntime

Numbers are those of ../drawn.py. Streams 2k and 2k + 1 are filter and bias of the k-th convolution, with the scales
sqrt(6 / products in a sum) and 0.05; stream 1000 is the image.
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

IMAGE_STREAM = 1000
SAMPLES = 6


def with_weights(model):
    """The model with drawn weights, and with the first output of every node as an output."""
    graph = model.graph
    known = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    shapes = {name: list(array.shape) for name, array in known.items()}
    shapes |= {n.output[0]: known[n.input[0]].tolist() for n in graph.node if n.op_type == "ConstantOfShape"}
    nodes = [n for n in graph.node if n.op_type != "ConstantOfShape"]
    weights = []
    for k, conv in enumerate(n for n in nodes if n.op_type == "Conv"):
        sizes = shapes[conv.input[1]]
        filters = drawn(2 * k, sizes, math.sqrt(6 / math.prod(sizes[1:])))
        weights.append(numpy_helper.from_array(filters, conv.input[1]))
        weights.append(numpy_helper.from_array(drawn(2 * k + 1, shapes[conv.input[2]], 0.05), conv.input[2]))
    outputs = [helper.make_tensor_value_info(n.output[0], TensorProto.FLOAT, None) for n in nodes]
    image = [one for one in graph.input if one.name == "data_0"]
    return helper.make_model(helper.make_graph(nodes, "squeezenet", image, outputs, weights),
                             opset_imports=model.opset_import, ir_version=model.ir_version)


def described(name, array):
    flat = array.astype(np.float64).ravel()
    places = [(flat.size - 1) * k // (SAMPLES - 1) for k in range(SAMPLES)]
    places = sorted({(place + 7 * k) % flat.size for k, place in enumerate(places)})
    return {"name": name, "shape": list(array.shape), "sum": flat.sum(), "largest": np.abs(flat).max(),
            "elements": [[place, flat[place]] for place in places]}


def main():
    model = with_weights(onnx.load(sys.argv[1]))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    image = drawn(IMAGE_STREAM, [1, 3, 224, 224], 1)
    values = session.run(None, {"data_0": image})
    lines = [json.dumps(described(one.name, array)) for one, array in zip(session.get_outputs(), values)]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write('{"made_by": "onnxruntime ' + onnxruntime.__version__ + '", "values": [\n')
        file.write(",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
