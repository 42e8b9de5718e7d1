"""A model of `ferry bench onnx` in onnxruntime, one process: onnx.py MODEL THREADS STEPS INPUT=FEED.npy...

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

MODEL, THREADS, STEPS = sys.argv[1:4]
onnxruntime.set_default_logger_severity(3)  # some exporters left initializers that nothing reads
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = int(THREADS), 1
session = onnxruntime.InferenceSession(MODEL, options, providers=["CPUExecutionProvider"])
feeds = {name: numpy.load(file) for name, _, file in (word.rpartition("=") for word in sys.argv[4:])}
times = []
for _ in range(int(STEPS)):
    begin = time.perf_counter()
    session.run(None, feeds)
    times.append(time.perf_counter() - begin)
print(statistics.median(times) * 1e3)
