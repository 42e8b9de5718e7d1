"""Runs each strategy on several numbers of tasks: it must compute what it does on the fewest tasks, and send what its plan
says; some strategies must also send what a formula says.

usage: strategies_test.py FERRY SAMPLES_FOLDER DATA_FOLDER [all]
Over MPI every second strategy is run; all of them with `all`. The last line is "N passed, N failed, N skipped".
"""

import json
import re
import sys

from samples_test import MPIRUN, SAMPLES, check_stats, run, run_all

STEPS = 12


def numbers(output):
    """The numbers of each fetch, by name."""
    return {name: [float(number) for number in re.findall(r"-?[\d.]+(?:e[-+]?\d+)?", text.split("  ")[0])]
            for name, text in re.findall(r"^(\w+) = (.*)$", output, re.M)}


class Strategy:
    """A sample and its entry. fits(tasks): whether it runs on that many. least: the fewest tasks. jobs(tasks): --jobs, if any."""

    def __init__(self, sample, entry="train", fits=lambda tasks: True, least=1, jobs=lambda tasks: None, steps=STEPS):
        self.sample, self.entry, self.fits, self.least, self.jobs, self.steps = sample, entry, fits, least, jobs, steps
        self.expected = None

    def options(self, tasks):
        jobs = self.jobs(tasks)
        return ["--entry", self.entry, "--steps", self.steps, *(["--jobs", jobs] if jobs else [])]

    def compute(self, tasks, folder, mpi=False):
        """The fetches on `tasks` tasks; the counters must be as planned."""
        launch = [] if mpi else ["--tasks", tasks, "--threads", 1]
        output = run("run", SAMPLES / f"{self.sample}.pb", "--stats", folder / "stats.json", *launch,
                     *self.options(tasks), ranks=tasks if mpi else 0)
        check_stats(folder / "stats.json")
        return numbers(output)

    def check(self, tasks, folder, mpi=False):
        if not self.fits(tasks):
            run("run", SAMPLES / f"{self.sample}.pb", "--tasks", tasks, *self.options(tasks), code=4)
            return
        if self.expected is None:
            self.expected = self.compute(self.least, folder)
        found = self.compute(tasks, folder, mpi)
        assert found.keys() == self.expected.keys() and found, found
        for name, values in found.items():
            for value, wanted in zip(values, self.expected[name], strict=True):
                assert abs(value - wanted) <= 2e-5 * max(abs(wanted), 1e-3), f"{name}: {values}, {self.expected[name]}"

    def sent(self, tasks, folder):
        """Bytes that each task sends in a step."""
        self.compute(tasks, folder)
        return [task["sent_bytes"] for task in json.loads((folder / "stats.json").read_text())["tasks"]]


def even(tasks):
    return tasks % 2 == 0


def servers(count):
    return lambda tasks: f"ps=0-{count - 1},worker={count}-{tasks - 1}" if tasks > count else None


STRATEGIES = {
    "tensor parallel": Strategy("tensor_parallel"),
    "data parallel": Strategy("zero", "data_parallel"),
    "zero 1": Strategy("zero", "zero1"),
    "zero 2": Strategy("zero", "zero2"),
    "zero 3": Strategy("zero", "zero3"),
    "data and tensor parallel": Strategy("data_tensor", fits=even, least=2),
    "sequence split": Strategy("sequence_split"),
    "parameter server": Strategy("parameter_server", fits=lambda tasks: tasks > 1, least=2, jobs=servers(1)),
    "three parameter servers": Strategy("parameter_server", fits=lambda tasks: tasks > 3, least=4, jobs=servers(3)),
    "experts": Strategy("experts"),
    "matrix product": Strategy("matrix_product", "multiply", fits=even, least=2, steps=1),
    "conjugate gradient": Strategy("conjugate_gradient", "solve", steps=1),
    "k-means": Strategy("k_means", "cluster", steps=1),
}

FLOAT = 4
ZERO_WEIGHTS = (20 * 36 + 36 * 12) * FLOAT


def all_reduced(size, tasks):
    """Bytes that a task sends in an all-reduce: all of `size` to everybody if that is little, else 2 (n-1)/n of it."""
    return (tasks - 1) * size if (tasks - 1) * size <= 16384 else 2 * (tasks - 1) * size // tasks


def tensor_parallel_has_two_sums_a_block_and_direction(folder):
    """Two blocks have two sums of [24, 16] in each direction, except one that only the data's gradient would need: seven."""
    for tasks in (2, 4):
        sent = STRATEGIES["tensor parallel"].sent(tasks, folder)
        assert sent == [7 * all_reduced(24 * 16 * FLOAT, tasks)] * tasks, sent


def zero_moves_what_data_parallel_moves(folder):
    """A reduce-scatter and an all-gather of the weights, 2 (n-1)/n of their bytes, in place of an all-reduce; and the loss."""
    for tasks in (2, 4):
        parts = 2 * (tasks - 1) * ZERO_WEIGHTS // tasks
        for strategy, size in (("data parallel", all_reduced(ZERO_WEIGHTS, tasks)), ("zero 1", parts), ("zero 2", parts)):
            sent = STRATEGIES[strategy].sent(tasks, folder)
            assert sent[1:] == [size + FLOAT] * (tasks - 1), sent


def zero_3_moves_half_as_much_again(folder):
    """All-gathers for both passes, and a reduce-scatter: 3 (n-1)/n of the weights' bytes, 1.5 times data parallel."""
    for tasks in (2, 4):
        sent = STRATEGIES["zero 3"].sent(tasks, folder)
        assert sent[1:] == [3 * (tasks - 1) * ZERO_WEIGHTS // tasks + FLOAT] * (tasks - 1), sent


def experts_exchange_tokens_three_times(folder):
    """Tokens go to the experts and back, and gradients to the experts; the gradients of the tokens are not asked for."""
    for tasks in (2, 4):
        share = 12 * 8 * 6 * FLOAT // tasks
        sent = STRATEGIES["experts"].sent(tasks, folder)
        assert sent[1:] == [3 * (tasks - 1) * share // tasks + FLOAT] * (tasks - 1), sent


def cases():
    for number, (name, strategy) in enumerate(STRATEGIES.items()):
        for tasks in (1, 2, 3, 4, 8):
            yield f"{name} on {tasks} tasks", lambda folder, s=strategy, n=tasks: s.check(n, folder)
        if MPIRUN and (number % 2 == 0 or "all" in sys.argv[4:]):
            for tasks in (2, 3, 4):
                if strategy.fits(tasks):
                    yield f"{name} on {tasks} MPI tasks", lambda folder, s=strategy, n=tasks: s.check(n, folder, mpi=True)
    for formula in (tensor_parallel_has_two_sums_a_block_and_direction, zero_moves_what_data_parallel_moves,
                    zero_3_moves_half_as_much_again, experts_exchange_tokens_three_times):
        yield formula.__name__.replace("_", " "), formula


sys.exit(run_all(cases()))
