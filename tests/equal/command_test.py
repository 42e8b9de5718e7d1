#!/usr/bin/env python3
"""Tests `ferry check --equal FILE PLAN` from outside.

    command_test.py FERRY SAMPLES_FOLDER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

FERRY, SAMPLES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "runner" / "golden"
ADD, UNEVEN, PARALLEL = SAMPLES / "add.pb", GOLDEN / "uneven.pbtxt", GOLDEN / "data_parallel.pbtxt"
# Options that say how a plan is made.
OF_PLANS = [["--tasks", "3"], ["--hosts", "2"], ["--device", "cpu"], ["--invariant"], ["--memory", "1"],
            ["--gpu-memory", "1"], ["--threads", "1"], ["--jobs", "ps=0,worker=1-2"], ["--devices", "rules.txt"],
            ["--soft-placement"], ["--balance"], ["--budget", "bytes=1GB"]]


def ferry(*words):
    return subprocess.run([str(word) for word in (FERRY, *words)], capture_output=True, text=True, check=False)


def check(done, code, *texts):
    shown = f"{' '.join(map(str, done.args))}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == code, shown
    for text in texts:
        assert text in done.stdout + done.stderr, f"no {text!r} in: {shown}"
    return done


def options_without_effect(folder):
    plan = folder / "add.plan"
    check(ferry("plan", ADD, "--tasks", "3", "--save", plan), 0)
    check(ferry("check", "--equal", ADD, plan), 0, "EQUAL")
    for words in OF_PLANS:
        check(ferry("check", "--equal", ADD, plan, *words), 2, f"{words[0]}: {plan} is a plan already", "try: leave")
    check(ferry("check", "--equal", ADD, plan, "--step", "1"), 2, "--step 1: all steps of the graph have the same plan")


def as_json(folder):
    def found(code, *words):
        return json.loads(check(ferry("check", *words, "--json"), code).stdout)

    plan = folder / "add.plan"
    right = found(0, "--equal", ADD, plan)
    assert right["pass"] and right["equality"]["verdict"] == "equal", right
    wrong = found(4, "--equal", PARALLEL, plan)
    assert not wrong["pass"] and wrong["reason"] == wrong["equality"]["reason"] and wrong["reason"], wrong
    missing = found(3, "--equal", ADD, folder / "no.plan")
    assert not missing["pass"] and "no.plan" in missing["reason"], missing
    unreadable = found(3, folder / "no.pb")
    assert not unreadable["pass"] and unreadable["reason"], unreadable


def last_batches(folder):
    plan = folder / "last.plan"
    words = ["--tasks", "2"]
    steps = check(ferry("check", UNEVEN, *words), 0).stdout.rsplit("(--step ", 1)
    step = steps[1].split(")")[0]
    check(ferry("plan", UNEVEN, *words, "--step", step, "--save", plan), 0)
    check(ferry("check", "--equal", UNEVEN, plan, "--step", step), 0, "EQUAL")
    check(ferry("check", "--equal", UNEVEN, plan), 4)


def main():
    with tempfile.TemporaryDirectory(prefix="ferry-equal-") as name:
        folder = pathlib.Path(name)
        (folder / "rules.txt").write_text("# none\n")
        OF_PLANS[8][1] = str(folder / "rules.txt")
        for test in (options_without_effect, as_json, last_batches):
            test(folder)
            print("ok", test.__name__)


if __name__ == "__main__":
    main()
