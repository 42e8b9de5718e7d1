"""Runs `ferry run --tune` as a user does. What it measures is not checked, since any size may be the fastest. But the run
must follow the plan that it says it has chosen, and --save-plan must write that plan.

usage: tune_test.py FERRY SAMPLES_FOLDER DATA_FOLDER
The last line is "N passed, N failed, N skipped".
"""

import json
import re
import sys

from samples_test import MPIRUN, SAMPLES, check_stats, run, run_all, value, weights

FILE = SAMPLES / "zero.pb"
STEPS = ["--entry", "data_parallel", "--steps", 5]


def stats_of(folder, *options, ranks=0):
    """What a run prints, and its counters."""
    launch = [] if ranks else ["--tasks", 3, "--threads", 1]
    output = run("run", *options, "--stats", folder / "stats.json", *launch, ranks=ranks)
    check_stats(folder / "stats.json")
    return output, json.loads((folder / "stats.json").read_text())


def tuned_run_is_that_of_its_plan(folder, ranks=0):
    plain, _ = stats_of(folder, FILE, *STEPS, "--save", folder / "plain", ranks=ranks)
    output, stats = stats_of(folder, FILE, *STEPS, "--tune=true", "--save", folder / "tuned", "--save-plan",
                             folder / "tuned.plan", ranks=ranks)
    assert re.search(r"--tune: a step takes [\d.e-]+ ms with .*; [\d.e-]+ ms with ", output), output
    assert value(plain, "loss") == value(output, "loss"), (plain, output)
    assert weights(folder / "plain") == weights(folder / "tuned")
    assert "PASS" in run("check", folder / "tuned.plan")
    text = run("plan", folder / "tuned.plan")
    chosen = re.search(r"ms with ([^;]*);", output).group(1)
    assert ("sums in buckets of" in text) == (chosen != "buckets as the links suggest"), (text, chosen)
    if chosen == "each value alone":
        assert "sums in buckets of 0 bytes" in text, text
    _, of_plan = stats_of(folder, folder / "tuned.plan", "--steps", 5, "--model", folder / "tuned", ranks=ranks)
    assert [task["sent_messages"] for task in of_plan["tasks"]] == [task["sent_messages"] for task in stats["tasks"]]


def tuned_run_over_mpi_is_that_of_its_plan(folder):
    tuned_run_is_that_of_its_plan(folder, ranks=2)


def nothing_to_tune_on_one_task(folder):
    output = run("run", FILE, *STEPS, "--tune", "--tasks", 1)
    assert "--tune: no values of the step can share messages" in output, output


def tune_with_shards_keeps_their_bits(folder):
    for options in ([], ["--tune"]):
        run("run", FILE, *STEPS, "--invariant=3", "--tasks", 3, "--save", folder / f"w{len(options)}", *options)
    assert weights(folder / "w0") == weights(folder / "w1")


def plans_are_not_tuned(folder):
    run("plan", FILE, "--entry", "data_parallel", "--tasks", 2, "--save", folder / "zero.plan")
    for option in (["--tune"], ["--save-plan", folder / "other.plan"]):
        output = run("run", folder / "zero.plan", *option, code=2)
        assert f"{option[0]}: a .plan file is placed already" in output, output


def plan_that_cannot_be_written_is_told(folder):
    output = run("run", FILE, *STEPS, "--tasks", 2, "--save-plan", folder / "there" / "is" / "no.plan", code=3)
    assert "no.plan" in output, output


def cases():
    for case in (tuned_run_is_that_of_its_plan, nothing_to_tune_on_one_task, tune_with_shards_keeps_their_bits,
                 plans_are_not_tuned, plan_that_cannot_be_written_is_told):
        yield case.__name__.replace("_", " "), case
    yield "tuned run is that of its plan over mpi", tuned_run_over_mpi_is_that_of_its_plan if MPIRUN else None


sys.exit(run_all(cases()))
