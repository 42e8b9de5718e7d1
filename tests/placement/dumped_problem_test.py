#!/usr/bin/env python3
"""Checks the problems that `ferry plan --place auto --dump-problem` writes.

    dumped_problem_test.py FERRY SAMPLES_FOLDER [all]

Sums up the costs and the memory of ferry's solution, and compares them with the numbers in the file. With `all` for ten
problems, which HiGHS solves, too, where the package highspy is there: the least cost of fractions of choices is at most
ferry's value, and ferry's bound is at most the least cost of whole choices.
"""
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from annotations import write_without_annotations

try:
    import highspy
except ImportError:
    highspy = None

FERRY, SAMPLES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
ALL = "all" in sys.argv[3:]
CASES = [("fashion", ["--tasks", "2"]), ("tensor_parallel", ["--tasks", "2", "--memory", "90000"])]
if ALL:
    CASES += [(sample, ["--tasks", "2"]) for sample in ("fashion_cnn", "tensor_parallel", "charlm")]
    CASES += [("charlm", ["--tasks", "4"])]
    CASES += [(sample, ["--tasks", "4", "--hosts", "2"]) for sample in ("fashion", "fashion_cnn", "tensor_parallel", "charlm")]
IMPOSSIBLE = 4_000_000_000_000_000  # kImpossible of placement/solve/problem.hpp


def dumped(sample, words, folder):
    file = pathlib.Path(folder) / "problem.json"
    done = subprocess.run([FERRY, "plan", write_without_annotations(SAMPLES / f"{sample}.pb", folder), "--threads", "1",
                           "--place", "auto", "--dump-problem", file, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text(encoding="utf-8"))


def value_of(problem, choices):
    nodes, edges = problem["nodes"], problem["edges"]
    cost = sum(costs[choice] for costs, choice in zip(nodes["costs"], choices, strict=True))
    for (a, b), costs in zip(edges["nodes"], edges["costs"], strict=True):
        assert len(costs) == len(nodes["costs"][a]) * len(nodes["costs"][b])
        cost += costs[choices[a] * len(nodes["costs"][b]) + choices[b]]
    return cost


def peak_of(nodes, choices):
    changes = {}
    for (begin, end), usages, choice in zip(nodes["intervals"], nodes["usages"], choices, strict=True):
        changes[begin] = changes.get(begin, 0) + usages[choice]
        changes[end] = changes.get(end, 0) - usages[choice]
    return max(itertools.accumulate(change for _, change in sorted(changes.items())))


def optimum(problem, scale, whole):
    """The least cost of fractions of choices, or of whole choices, by HiGHS."""
    nodes, edges = problem["nodes"], problem["edges"]
    costs, bounds, starts, index, values, limits = [], [], [0], [], [], []
    first = []

    def columns(table):
        begin = len(costs)
        costs.extend(0 if cost >= IMPOSSIBLE else cost / scale for cost in table)
        bounds.extend(0 if cost >= IMPOSSIBLE else 1 for cost in table)
        return begin

    def row(entries, low, high):
        index.extend(column for column, _ in entries)
        values.extend(float(value) for _, value in entries)
        starts.append(len(index))
        limits.append((low, high))

    for table in nodes["costs"]:
        first.append(columns(table))
        row([(first[-1] + choice, 1) for choice in range(len(table))], 1, 1)
    choices = len(costs)
    for (a, b), table in zip(edges["nodes"], edges["costs"], strict=True):
        begin, of_a, of_b = columns(table), len(nodes["costs"][a]), len(nodes["costs"][b])
        for i in range(of_a):
            row([(begin + i * of_b + j, 1) for j in range(of_b)] + [(first[a] + i, -1)], 0, 0)
        for j in range(of_b):
            row([(begin + i * of_b + j, 1) for i in range(of_a)] + [(first[b] + j, -1)], 0, 0)
    if "usage_limit" in problem:
        limit = problem["usage_limit"]
        for point in sorted({begin for begin, end in nodes["intervals"] if begin < end}):
            row([(first[node] + choice, usage / limit) for node, (begin, end) in enumerate(nodes["intervals"])
                 if begin <= point < end for choice, usage in enumerate(nodes["usages"][node]) if usage], 0, 1)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(costs), len(limits)
    model.col_cost_, model.col_lower_, model.col_upper_ = costs, [0.0] * len(costs), [float(bound) for bound in bounds]
    model.row_lower_, model.row_upper_ = [float(low) for low, _ in limits], [float(high) for _, high in limits]
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = starts, index, values
    if whole:
        kinds = [highspy.HighsVarType.kInteger] * choices
        model.integrality_ = kinds + [highspy.HighsVarType.kContinuous] * (len(costs) - choices)
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", 1)
    solver.passModel(model)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal, solver.getModelStatus()
    return solver.getInfo().objective_function_value * scale


def checked(sample, words, folder):
    data = dumped(sample, words, folder)
    problem, solution = data["problem"], data["solution"]
    value, bound, what = solution["value"], solution["bound"], f"{sample} {' '.join(words)}: {problem['name']}"
    assert value_of(problem, solution["choices"]) == value, what
    assert bound <= value, what
    peak = peak_of(problem["nodes"], solution["choices"])
    assert peak <= problem.get("usage_limit", peak), what
    text = f"{what}, {len(problem['nodes']['costs'])} nodes, value {value}, bound {bound}"
    if ALL and highspy:
        started = time.monotonic()
        least = optimum(problem, value / 1e6, whole=False)
        text += f", LP {least:.0f} in {time.monotonic() - started:.1f} s"
        assert least <= value * (1 + 1e-6), text
        if bound > least * (1 + 1e-6):
            best = optimum(problem, value / 1e6, whole=True)
            text += f", whole {best:.0f}"
            assert bound <= best * (1 + 1e-6), text
    print(text, flush=True)


def main():
    if ALL and not highspy:
        print("the package highspy is not here: no other solver is asked")
    for sample, words in CASES:
        with tempfile.TemporaryDirectory() as folder:
            checked(sample, words, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
