#!/usr/bin/env python3
"""Tests `ferry check --equal FILE PLAN` and `ferry run FILE.plan --graph FILE` from outside.

    command_test.py FERRY SAMPLES_FOLDER
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from npy import write_npy

FERRY, SAMPLES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "runner" / "golden"
ADD, UNEVEN, PARALLEL = SAMPLES / "add.pb", GOLDEN / "uneven.pbtxt", GOLDEN / "data_parallel.pbtxt"
# Options that say how a plan is made.
OF_PLANS = [["--tasks", "3"], ["--hosts", "2"], ["--device", "cpu"], ["--invariant"], ["--memory", "1"],
            ["--gpu-memory", "1"], ["--threads", "1"], ["--jobs", "ps=0,worker=1-2"], ["--devices", "rules.txt"],
            ["--soft-placement"], ["--balance"], ["--budget", "bytes=1GB"]]
BY_HAND = """
version: 1
graph {
  op { name: "a" op: "Input" attr { name: "dtype" dtype: FLOAT32 } attr { name: "shape" shape { dim { size: 2 } } } }
  op { name: "b" op: "Input" attr { name: "dtype" dtype: FLOAT32 } attr { name: "shape" shape { dim { size: 2 } } } }
  op { name: "c" op: "Sub" input: "FIRST" input: "SECOND" }
}
entry { name: "predict" fetch { name: "c" value: "c" } }
"""


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


def run_with_graph(folder):
    first, other, plan = folder / "first.pbtxt", folder / "other.pbtxt", folder / "first.plan"
    first.write_text(BY_HAND.replace("FIRST", "a").replace("SECOND", "b"))
    other.write_text(BY_HAND.replace("FIRST", "b").replace("SECOND", "a"))
    check(ferry("plan", first, "--save", plan), 0)
    feeds = ["--feed", f"a={vector(folder, 'a', 3)}", "--feed", f"b={vector(folder, 'b', 1)}"]
    alone = check(ferry("run", plan, *feeds), 0, "first.plan is not compared with its graph: --graph FILE")
    assert "c = [2 2]" in alone.stdout, alone.stdout
    proved = check(ferry("run", plan, "--graph", first, *feeds), 0)
    assert proved.stdout == alone.stdout and "not compared" not in proved.stderr, proved.stderr
    check(ferry("run", plan, "--graph", first, "--entry", "predict", *feeds), 0)
    check(ferry("run", plan, "--graph", other, *feeds), 4, "Sub 'c'", "the plan has Sub(a, b), not Sub(b, a)")
    check(ferry("check", "--equal", first, plan, "--fetch", "a"), 4, "the plan is fed a, b; the request feeds a")
    check(ferry("run", plan, "--graph", ADD, *feeds), 4, "the plan does not compute what the graph says")
    check(ferry("run", first, "--graph", first, *feeds), 2, "is no plan to compare with a graph")
    check(ferry("run", plan, "--entry", "predict", *feeds), 2, "--entry")


def vector(folder, name, value):
    path = folder / f"{name}.npy"
    write_npy(path, "<f4", (2,), struct.pack("<2f", value, value))
    return path


def main():
    with tempfile.TemporaryDirectory(prefix="ferry-equal-") as name:
        folder = pathlib.Path(name)
        (folder / "rules.txt").write_text("# none\n")
        OF_PLANS[8][1] = str(folder / "rules.txt")
        for test in (options_without_effect, as_json, last_batches, run_with_graph):
            test(folder)
            print("ok", test.__name__)


if __name__ == "__main__":
    main()
