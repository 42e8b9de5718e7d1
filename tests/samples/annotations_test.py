"""Gives samples without their annotations the annotations that `--place auto --print-annotations` finds for them.

usage: annotations_test.py FERRY SAMPLES_FOLDER DATA_FOLDER [all]
With these annotations, a step must have about the planned time of --place auto, and the run equal results. With `all` it tries
more samples on more tasks, and prints the planned times. The last line is "N passed, N failed, N skipped".
"""

import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from samples_test import FASHION, FERRY, SAMPLES, data_of, run
from annotations import write_without_annotations  # samples_test adds its folder to the path

ALL = "all" in sys.argv[4:]
MOST = 1.05  # times the planned step of --place auto; the worst is 1.026 (bench/NOTEBOOK.md)
SAMPLES_AND_TASKS = [("auto", 2), ("auto", 4), ("data_tensor", 2), ("fashion", 2), ("heat", 2), ("zero", 2)]
if ALL:
    SAMPLES_AND_TASKS = [(sample, tasks) for sample in ("auto", "boost_graph", "charlm", "data_tensor", "digits", "experts", "fashion", "fashion_cnn", "heat", "k_means", "logistic",
                                                        "matrix_product", "power_iteration", "sequence_split", "tensor_parallel", "zero") for tasks in (2, 4, 8)]


def numbers(path):
    """The elements of a file of float32 or float64; bytes of other dtypes."""
    content = path.read_bytes()
    size = struct.unpack("<H", content[8:10])[0]
    head, data = content[10:10 + size].decode(), content[10 + size:]
    form = {"<f4": "f", "<f8": "d"}.get(re.search(r"'descr': '([^']+)'", head)[1])
    return list(struct.unpack(f"<{len(data) // struct.calcsize(form)}{form}", data)) if form else list(data)


def fetched(graph, folder, data, *words):
    """The elements of each fetch after two steps."""
    run("run", graph, "--threads", 1, "--steps", 2, "--data", data, "--out", folder, *words)
    return {path.name: numbers(path) for path in sorted(folder.glob("*.npy"))}


def plan_of(graph, *words):
    """What `ferry plan` prints, without its warnings."""
    done = subprocess.run([str(word) for word in (FERRY, "plan", graph, "--threads", 1, "--place", "auto", *words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def planned(graph, *words):
    return json.loads(plan_of(graph, "--json", *words))["place"]


def compare(sample, tasks, folder):
    """Returns a line of planned times. Fails where the annotations make the plan slower or the results others."""
    annotated, rules = folder / "annotated.pb", folder / "rules.txt"
    run("--save-graph", annotated, program=SAMPLES / sample)
    (folder / "graph").mkdir()
    graph = write_without_annotations(annotated, folder / "graph")
    words = ["--tasks", tasks]
    place = planned(graph, "--print-annotations", *words)
    text = plan_of(graph, "--print-annotations", *words)
    if "annotations" not in place:
        assert place["taken"] == "as annotated" and text.startswith("# no annotations: as annotated"), text
        return f"{place['step_seconds'] * 1e3:9.3f} ms without a mesh"
    rules.write_text(text[text.index("# RULES.txt"):])
    wanted = place["annotations"]
    first = planned(graph, "--devices", rules, *words)["candidates"][0]
    line = (f"{place['step_seconds'] * 1e3:9.3f} ms, {first['step_seconds'] * 1e3:9.3f} ms with annotations "
            f"({first['step_seconds'] / place['step_seconds']:.3f}); {place['taken']}, {len(wanted['ops'])} lines")
    assert first["name"] == "as annotated", first
    assert abs(first["step_seconds"] - wanted["step_seconds"]) <= 1e-6 * wanted["step_seconds"], (line, wanted["step_seconds"])
    assert first["step_seconds"] <= MOST * place["step_seconds"], line
    data = data_of(sample)
    results = [fetched(graph, folder / name, data, *words, *how) for name, how in
               (("auto", ["--place", "auto"]), ("rules", ["--devices", rules]))]
    assert results[0].keys() == results[1].keys() and results[0], results
    for name, elements in results[0].items():
        for one, other in zip(elements, results[1][name], strict=True):
            assert abs(one - other) <= 1e-4 * max(1, abs(one)), (name, one, other)
    return line


def main():
    passed = failed = skipped = 0
    for sample, tasks in SAMPLES_AND_TASKS:
        if sample.startswith("fashion") and not FASHION.exists():
            skipped += 1
            continue
        with tempfile.TemporaryDirectory(prefix="ferry-annotations-") as folder:
            try:
                line = compare(sample, tasks, pathlib.Path(folder))
                passed += 1
                if ALL:
                    print(f"{sample:16} {tasks}  {line}", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"{sample} on {tasks} tasks: {error}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
