"""Checks that with --invariant the bits of each step's loss, and of the weights at the end, do not depend on how many tasks
run the shards; without it they do.

usage: invariant_test.py FERRY SAMPLES_FOLDER DATA_FOLDER DROPOUT_RUN TRAINING_JOB
The last line is "N passed, N failed, N skipped".
"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from samples_test import DATA, FERRY, MPIRUN, SAMPLES, check_stats, run, run_all, weights
from training_data import write_training_data

DROPOUT_RUN, TRAINING_JOB = (pathlib.Path(argument).resolve() for argument in sys.argv[4:6])
TASKS = (1, 2, 3, 4, 8)
RANKS = (1, 2, 3)
STEPS = 6


def launches(tasks=TASKS, ranks=RANKS):
    """(name, options, ranks) of jobs in one process and under mpirun."""
    yield from ((f"--tasks {n}", ["--tasks", n], 0) for n in tasks)
    if MPIRUN:
        yield from ((f"-np {n}", [], n) for n in ranks)


def all_alike(results):
    """Checks that all bits are the same; `results` has pairs (name, bits)."""
    (first, wanted), *others = results
    for name, bits in others:
        assert bits == wanted, f"other bits with {name} than with {first}:\n{bits}\n{wanted}"


def trained(*options, ranks=0):
    """Each step's loss and the weights' hash."""
    output = run(*options, program=DROPOUT_RUN, ranks=ranks).splitlines()
    lines = [line for line in output if line.startswith(("0x", "weights "))]
    assert len(lines) == 13 and lines[-1].startswith("weights "), output
    return lines


def dropout_and_shuffling_on_any_number_of_tasks(folder):
    all_alike([(name, trained(*options, "--invariant", ranks=ranks)) for name, options, ranks in launches()])


def other_numbers_of_shards(folder):
    for shards in (1, 3, 5):
        all_alike([(name, trained(*options, f"--invariant={shards}", ranks=ranks))
                   for name, options, ranks in launches(range(1, shards + 1), [2] if shards > 1 else [])])


def threads_are_shared_and_change_nothing(folder):
    all_alike([(f"{tasks} tasks of {threads} threads", trained("--invariant=2", "--tasks", tasks, "--threads", threads))
               for tasks in (1, 2) for threads in (1, 2)])


def without_it_the_bits_differ(folder):
    found = {tuple(trained("--tasks", n)) for n in TASKS}
    assert len(found) > 1, "the test cannot fail: the bits are those of one task anyway"


def train_digits(folder, *options, ranks=0):
    run("run", SAMPLES / "digits.pb", "--data", DATA, "--steps", STEPS, "--save", folder / "model", "--stats",
        folder / "stats.json", *options, ranks=ranks)
    check_stats(folder / "stats.json")
    return weights(folder / "model")


def digits_on_any_number_of_tasks(folder):
    all_alike([(name, train_digits(folder, *options, "--invariant", ranks=ranks)) for name, options, ranks in launches()])
    found = {train_digits(folder, "--tasks", n) for n in (1, 2)}
    assert len(found) > 1, "the test cannot fail: the bits are those of one task anyway"


def simulated_gpus_on_any_number_of_tasks(folder):
    """They fold sums themselves where they work together, and have the bits of CPUs."""
    shards = "--invariant=4"
    all_alike([("CPUs", train_digits(folder, shards))] +
              [(f"GPUs, {name}", train_digits(folder, *options, shards, "--device", "sim", ranks=ranks))
               for name, options, ranks in launches((1, 4), (2,))])


def data_that_is_read_ahead_on_any_number_of_tasks(folder):
    """Trains for more than an epoch, with rows in a random order."""
    write_training_data(folder)

    def trained_ahead(*options, ranks):
        run("--data", folder, "--steps", 70, "--save", folder / "model", *options, program=TRAINING_JOB, ranks=ranks)
        return weights(folder / "model")

    all_alike([(name, trained_ahead(*options, "--invariant=4", ranks=ranks))
               for name, options, ranks in launches((1, 2, 3, 4), (2, 3))])


def stats_tell_of_shards_and_processes_over_mpi(folder):
    train_digits(folder, "--invariant=5", ranks=2)
    stats = json.loads((folder / "stats.json").read_text())
    assert stats["world"] == 5 and [task["process"] for task in stats["tasks"]] == [0, 0, 0, 1, 1], stats


def a_plan_of_shards_over_mpi(folder):
    """A plan for 8 tasks runs on 2 processes that host them."""
    plan, model = folder / "digits.plan", folder / "model"
    train_digits(folder, "--invariant")
    run("plan", SAMPLES / "digits.pb", "--entry", "eval", "--invariant", "--threads", 1, "--save", plan)
    words = ["--graph", SAMPLES / "digits.pb", "--entry", "eval", "--data", DATA, "--model", model, "--invariant"]
    runs = [run("run", plan, *words, ranks=ranks) for ranks in (0, 2)]
    assert runs[0] == runs[1] and "accuracy = " in runs[0], runs


def the_cost_is_printed(folder):
    """The printed cost equals what the counters say of runs with and without --invariant, on CPUs and simulated GPUs."""
    for device in ([], ["--device", "sim"]):
        sent = []
        for options in (["--invariant"], []):
            output = run("run", SAMPLES / "digits.pb", "--data", DATA, "--tasks", 3, "--stats", folder / "stats.json", *device,
                         *options)
            tasks = json.loads((folder / "stats.json").read_text())["tasks"]
            sent.append(sum(task["sent_messages"] for task in tasks))
            printed = output if options else printed
        cost = re.search(r"--invariant=8: shards of a task: 2 or 3; memory of a task by the plan: .*B, without .*B; "
                         r"messages of a step: (\d+) of .*B, without (\d+) of .*B", printed)
        assert cost and [int(number) for number in cost.groups()] == sent, (device, printed, sent)


def more_tasks_than_shards(folder):
    output = run("run", SAMPLES / "digits.pb", "--data", DATA, "--tasks", 4, "--invariant=3", code=2)
    assert "there are 4 tasks to run it, more than its 3 shards" in output, output


def a_shard_that_fails_over_mpi(folder):
    """The file is missing for the second process, which hosts tasks 3 and 4 of 5."""
    (folder / "empty").mkdir()
    options = ["run", SAMPLES / "digits.pb", "--invariant=5", "--data"]
    output = run(*options, DATA, ":", "-np", 1, FERRY, *options, folder / "empty", ranks=1, code=3)
    assert "digits.csv.gz" in output and "failed first: " in output, output


CASES = [dropout_and_shuffling_on_any_number_of_tasks, other_numbers_of_shards, threads_are_shared_and_change_nothing,
         without_it_the_bits_differ, digits_on_any_number_of_tasks, simulated_gpus_on_any_number_of_tasks,
         data_that_is_read_ahead_on_any_number_of_tasks, stats_tell_of_shards_and_processes_over_mpi,
         a_plan_of_shards_over_mpi, the_cost_is_printed, more_tasks_than_shards, a_shard_that_fails_over_mpi]

if __name__ == "__main__":
    sys.exit(run_all((case.__name__.replace("_", " "), case if MPIRUN or not case.__name__.endswith("over_mpi") else None)
                     for case in CASES))
