"""The trees of `ferry bench boost` in XGBoost, one process: boost.py DATA_FOLDER THREADS TIMES

Depth 6, eta 0.3, 10 rounds. Prints the median time from rows in memory to a model, in milliseconds.
"""
import gzip
import pathlib
import statistics
import sys
import time

try:
    import numpy
    import scipy.sparse
    import xgboost
except ImportError:
    sys.exit(0)  # not installed: nothing is printed

FOLDER, THREADS, TIMES = sys.argv[1:]
labels, values, indices, offsets = [], [], [], [0]
for line in gzip.decompress((pathlib.Path(FOLDER) / "agaricus.train.gz").read_bytes()).decode().splitlines():
    label, *entries = line.split()
    labels.append(float(label))
    for entry in entries:
        index, value = entry.split(":")
        indices.append(int(index))
        values.append(float(value))
    offsets.append(len(values))
rows = scipy.sparse.csr_matrix((numpy.array(values, numpy.float32), indices, offsets))
settings = {"objective": "binary:logistic", "tree_method": "hist", "max_depth": 6, "eta": 0.3, "nthread": int(THREADS)}
times = []
for _ in range(int(TIMES)):
    matrix = xgboost.DMatrix(rows, labels, nthread=int(THREADS))
    begin = time.perf_counter()
    xgboost.train(settings, matrix, 10)
    times.append(time.perf_counter() - begin)
print(statistics.median(times) * 1e3)
