"""A model of `ferry bench onnx` in onnxruntime, one process: onnx.py MODEL INPUT FEED.npy THREADS STEPS

With onnxruntime's default, all optimisations. Prints the median of the steps in milliseconds.
"""
import statistics
import sys
import time

try:
    import numpy
    import onnxruntime
except ImportError:
    sys.exit(0)  # not installed: nothing is printed

MODEL, INPUT, FEED, THREADS, STEPS = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = int(THREADS), 1
session = onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
feeds = {INPUT: numpy.load(FEED)}
times = []
for _ in range(int(STEPS)):
    begin = time.perf_counter()
    session.run(None, feeds)
    times.append(time.perf_counter() - begin)
print(statistics.median(times) * 1e3)
