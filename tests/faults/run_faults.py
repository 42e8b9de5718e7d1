#!/usr/bin/env python3
"""Faults while the `ferry` command runs: run_faults.py FERRY JUMPING_CLOCK ENDLESS_LOOP THROWING_OPS

JUMPING_CLOCK is a library to preload (jumping_clock.cpp), ENDLESS_LOOP runs a loop that does not end (endless_loop.cpp), THROWING_OPS
is a library of ops that throw (throwing_ops.cpp). The cases are like those of command_faults.py.
"""
import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from command_cases import (FED, FERRY, FOLDER, MPIRUN, SECONDS, Failed, add, environment, expect, graph, ints, op, refused, run,
                           run_cases, two_files, typed, write)
from npy import npy

JUMPING_CLOCK, ENDLESS_LOOP, THROWING_OPS = sys.argv[2:5]


def case_078_kernel_throws():
    text = graph(op("x", "Constant", device="/task:1", attrs=ints([1, 2, 3])), op("i", "Constant", device="/task:1", attrs=ints([0, 7])),
                 op("picked", "Gather", ["x", "i"], device="/task:1", attrs='attr { name: "axis" int: 0 }'), fetches=["picked"])
    path = write("gather.pbtxt", text)
    refused(4, ["error: Gather", "picked", "index 7", "3", 'input 1 comes from the constant "i" at model.cpp:1', "model.cpp:6", "task 1"], path, "--tasks", "2")
    if "[task" in run("run", path, "--tasks", "2")[2]:
        raise Failed("virtual tasks speak as one of them")
    if MPIRUN:  # the other task ends with the same code, and does not say it again
        ended = two_files(path, path)
        expect(ended, 4, "[task 1] error: Gather", "index 7")
        if ended[2].count("index 7") != 1:
            raise Failed(f"said more than once: {ended[2]}")


def case_079_wall_clock_jumps():
    """The clock jumps by a year at every reading; if the deadline were by that clock, it would expire at once."""
    path = write("steps.pbtxt", add("/task:0", "/task:1", "/task:0"))
    preload = {"LD_PRELOAD": JUMPING_CLOCK, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    result = run("run", path, "--tasks", "2", "--steps", "2000", "--deadline", str(SECONDS), env=preload)
    expect(result, 0)
    if "c = [11 22 33]" not in result[1]:
        raise Failed(f"another result: {result[1]}")
    if MPIRUN:
        done = subprocess.run([MPIRUN, "--oversubscribe", "-np", "2", "-x", "LD_PRELOAD=" + JUMPING_CLOCK, FERRY, "run", path, "--steps", "200"],
                              capture_output=True, text=True, timeout=SECONDS, env=environment(ASAN_OPTIONS=preload["ASAN_OPTIONS"]))
        expect((done.returncode, "", done.stderr), 0)


def case_079_clocks_that_differ_between_tasks():
    """The wall clock of task 1 jumps; as root, its monotonic clock is weeks ahead, too, as on a host that was started earlier."""
    path = write("skewed.pbtxt", add("/task:0", "/task:1", "/task:0"))
    ahead = "unshare --time --fork --kill-child --monotonic 5000000"
    apart = ahead if os.geteuid() == 0 and subprocess.run([*ahead.split(), "true"], check=False, capture_output=True).returncode == 0 else ""
    script = f'[ $RANK = 0 ] || exec {apart} env LD_PRELOAD={JUMPING_CLOCK} "$@"; exec "$@"'
    trace = FOLDER / "skewed.json"
    done = subprocess.run([FERRY, "launch", "-n", "2", "--", "sh", "-c", script, "sh", FERRY, "run", path, "--steps", "2000", "--trace", str(trace)],
                          capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL,
                          env=environment(ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"))
    expect((done.returncode, "", done.stderr), 0)
    if "[0] c = [11 22 33]" not in done.stdout:
        raise Failed(f"another result: {done.stdout}")
    events = json.loads(trace.read_text())
    begins = [min(event["ts"] for event in events if event["pid"] == task and "ts" in event) for task in (0, 1)]  # in microseconds
    if abs(begins[0] - begins[1]) > SECONDS * 1e6:
        raise Failed(f"the trace does not have the clock of task 0 for both tasks: it begins at {begins}")
    return None if apart else "as another user than root: monotonic clocks that differ"


def case_109_file_larger_than_allowed():
    path = write("save.pbtxt", graph(op("v", "Variable", attrs=typed("FLOAT32", 64, 64)), op("x", "Input", attrs=typed("FLOAT32", 64, 64)),
                                     op("set", "Assign", ["v", "x"]), fetches=["set"]))
    model = FOLDER / "large"
    done = subprocess.run(["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", FERRY, "run", path, "--save", str(model),
                           "--feed", "x=" + write("x.npy", npy("<f4", (64, 64), bytes(1 << 14)))],
                          capture_output=True, text=True, timeout=SECONDS, env=environment())
    expect((done.returncode, "", done.stderr), 7, "cannot be written", "File too large", "ulimit -f")
    left = [str(file) for file in FOLDER.glob("*large*/**/*") if file.is_file()] + [str(file) for file in FOLDER.glob(".*")]
    if left:
        raise Failed(f"the run left {left}")


def case_110_no_memory_for_products_of_matrices():
    """OpenBLAS alone would try for ever to get its memory."""
    if "asan" in subprocess.run(["ldd", FERRY], capture_output=True, text=True).stdout:
        return "a sanitizer needs more addresses"
    path = write("product.pbtxt", graph(op("a", "Input", attrs=typed("FLOAT32", 64, 64)), op("c", "MatMul", ["a", "a"]), fetches=["c"]))
    words = ["run", path, "--threads", "1", "--feed", "a=" + write("a.npy", npy("<f4", (64, 64), bytes(1 << 14)))]
    if "openblas" not in run("doctor")[1]:
        return "no OpenBLAS here"
    expect(run(*words), 0)
    for megabytes in range(1000, 100, -40):  # finds the largest of these limits that is too small
        done = subprocess.run(["sh", "-c", f'ulimit -v {megabytes << 10}; exec "$@"', "sh", FERRY, *words],
                              capture_output=True, text=True, timeout=SECONDS, env=environment())
        if done.returncode != 0:
            break
    expect((done.returncode, "", done.stderr), 7, 'MatMul "c" on task 0: out of memory', "OpenBLAS needs 128 MiB", "model.cpp:1")
    return None


def case_110_the_limit_of_memory_that_was_hit():
    if "asan" in subprocess.run(["ldd", FERRY], capture_output=True, text=True).stdout:
        return "a sanitizer needs more addresses"
    drawn = typed("FLOAT32", 300 << 20) + 'attr { name: "low" float: 0 } attr { name: "high" float: 1 } attr { name: "seed" int: 0 } '
    path = write("large.pbtxt", graph(op("a", "RandomUniform", attrs=drawn), fetches=["a"]))
    done = subprocess.run(["sh", "-c", 'ulimit -v 1000000; exec "$@"', "sh", FERRY, "run", path, "--threads", "1"],
                          capture_output=True, text=True, timeout=SECONDS, env=environment())
    expect((done.returncode, "", done.stderr), 7, "no memory for 1258291200 bytes (1.2 GiB); this process may have 976.6 MiB of addresses "
           "(ulimit -v)")
    return None


def case_110_of_the_addresses_that_openblas_maps_little_is_memory():
    """OpenBLAS maps 128 MiB for each thread that multiplies, which no plan counts: it must touch little of that."""
    def peak_of(size):
        shape = (2, size, size)  # a batch of two: a single large product is computed without OpenBLAS
        path = write("products.pbtxt", graph(op("a", "Input", attrs=typed("FLOAT32", *shape)), op("c", "MatMul", ["a", "a"]), fetches=["c"]))
        words = ["run", path, "--threads", "1", "--feed", "a=" + write("a.npy", npy("<f4", shape, bytes(8 * size * size)))]
        child = subprocess.Popen([FERRY, *words], stdout=subprocess.DEVNULL, env=environment())
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        expect((child.returncode, "", ""), 0)
        return used.ru_maxrss << 10
    tensors = 6 * (8 << 20)  # the file, the feed, both in the arena, the result and a copy of it
    more = peak_of(1024) - peak_of(16)
    if more > tensors + (32 << 20):
        raise Failed(f"{more} bytes of memory for products of {tensors} bytes")


def case_110_more_threads_multiply_than_openblas_has_buffers_for():
    """OpenBLAS would damage the heap, or end the process: products wait for one another."""
    tasks = 520
    shape = (2, 70, 70)  # a batch of two: a single large product is computed without OpenBLAS
    names = [f"c{task}" for task in range(tasks)]
    products = [op(name, "MatMul", ["a", "a"], device=f"/task:{task}") for task, name in enumerate(names)]
    path = write("products.pbtxt", graph(op("a", "Input", attrs=typed("FLOAT32", *shape)), *products, fetches=names))
    words = ["--threads", "1", "--feed", "a=" + write("a.npy", npy("<f4", shape, bytes(4 * 2 * 70 * 70)))]
    expect(run("run", path, "--tasks", str(tasks), *words), 0)


def case_feeds_by_parts():
    """Each task feeds rows of its own, as many as it has."""
    path = write("rows.pbtxt", graph(op("x", "Input", attrs=typed("FLOAT32", 4, 1)), op("twice", "Add", ["x", "x"]), fetches=["twice"]))
    for task, rows in enumerate(([1, 2, 3], [], [4])):
        write(f"rows-{task}.npy", npy("<f4", (len(rows), 1), struct.pack(f"<{len(rows)}f", *rows)))
    feed = ["--feed-part", f"x={FOLDER}/rows-{{task}}.npy"]
    plan = str(FOLDER / "rows.plan")

    def expect_right(result):
        expect(result, 0)
        if "twice = [[2] [4] [6] [8]]" not in result[1]:
            raise Failed(f"it printed: {result[1]}")

    expect_right(run("run", path, "--tasks", "3", *feed, "--save-plan", plan))
    expect_right(run("run", plan, *feed))
    expect(run("check", path, "--tasks", "3", *feed), 0)
    expect(run("run", path, "--tasks", "3", "--feed-part", f"x={FOLDER}/rows-0.npy"), 2, "all 3 tasks of this process", "{task}")
    expect(run("run", path, "--tasks", "2", *feed), 2, "has shape [3,1]")
    expect(run("run", path, "--tasks", "4", *feed), 3, "rows-3.npy")
    expect(run("run", plan), 2, "task 0 gives no part of the input 'x'", "--feed-part x=FILE.npy")
    if MPIRUN:
        done = subprocess.run([MPIRUN, "--oversubscribe", "-np", "3", FERRY, "run", path, *feed], capture_output=True, text=True,
                              timeout=SECONDS, env=environment())
        expect_right((done.returncode, done.stdout, done.stderr))
        done = subprocess.run([MPIRUN, "--oversubscribe", "-np", "2", FERRY, "run", path, "--feed-part", f"x={FOLDER}/rows-0.npy"],
                              capture_output=True, text=True, timeout=SECONDS, env=environment())
        expect((done.returncode, done.stdout, done.stderr), 2, "processes 0 and 1 of one host would feed the same rows", "{task}")


def case_114_more_tasks_than_threads():
    """A run is refused; `check`, which only plans, needs no thread for a task, and little memory."""
    path = write("many.pbtxt", add())
    tasks = ["--tasks", "65536", "--threads", "1"]
    expect(run("run", path, *tasks), 7, "65536 tasks in one process need a thread each", "mpirun")
    if "asan" in subprocess.run(["ldd", FERRY], capture_output=True, text=True).stdout:
        return "a sanitizer needs more addresses"
    done = subprocess.run(["sh", "-c", 'ulimit -v 1000000; exec "$@"', "sh", FERRY, "check", path, *tasks],
                          capture_output=True, text=True, timeout=SECONDS, env=environment())
    expect((done.returncode, "", done.stderr), 0)
    return None


def case_114_no_memory_for_threads():
    """With limits of the address space that are reached before, while or after a thread is created."""
    if "asan" in subprocess.run(["ldd", FERRY], capture_output=True, text=True).stdout:
        return "a sanitizer needs more addresses"
    path = write("small.pbtxt", add())
    for tasks in ("3", "20", "100"):
        refused_once = False
        for megabytes in range(100, 1000, 60):
            done = subprocess.run(["sh", "-c", f'ulimit -v {megabytes << 10}; exec "$@"', "sh", FERRY, "run", path, "--tasks", tasks,
                                   "--threads", "1"], capture_output=True, text=True, timeout=SECONDS, env=environment())
            if done.returncode == 0:
                break
            if done.returncode == 127:  # the system's loader had no memory: ferry has not begun
                continue
            refused_once = True
            expect((done.returncode, "", done.stderr), 7, "try: ")
        if tasks != "3" and not refused_once:
            raise Failed(f"{tasks} tasks were never refused")
    return None


def case_077_first_op_that_makes_nan():
    text = graph(op("x", "Input", attrs=typed("FLOAT32", 2, 3)), op("root", "Sqrt", ["x"]), op("y", "Add", ["root", "root"]), fetches=["y"])
    below = "x=" + write("below.npy", npy("<f4", (2, 3), struct.pack("<6f", 1, 4, 0, 9, -1, 2)))
    file = write("root.pbtxt", text)
    refused(8, ['Sqrt "root" on task 0: NaN in 1 of 6 elements, the first not finite at 4, in step 0', "model.cpp:4"], file, "--feed", below, "--check-numerics")
    expect(run("run", file, "--feed", below), 0)
    given = "x=" + write("nan.npy", npy("<f4", (2, 3), struct.pack("<6f", 1, 4, 0, float("nan"), 1, 2)))
    refused(8, ['feed "x" on task 0: NaN in 1 of 6 elements'], file, "--feed", given, "--check-numerics")


def case_077_nan_is_told_of_unasked():
    text = graph(op("x", "Input", attrs=typed("FLOAT32")), op("root", "Sqrt", ["x"]), fetches=["root"])
    file, plan = write("loss.pbtxt", text), str(FOLDER / "loss.plan")
    expect(run("plan", file, "--save", plan), 0)
    for which in (file, plan):
        result = run("run", which, "--feed", "x=-1", "--steps", "5", "--print-every", "4")
        expect(result, 0, "step 1: root is nan; run the graph with --check-numerics")
        if result[2].count("--check-numerics") != 1 or [line.split(":")[0] for line in result[1].splitlines()[:2]] != ["step 4/5", "step 5/5"]:
            raise Failed(f"not one warning and two lines: {result}")


def interrupted(command, sig, ready=None):
    """Runs the command until it has a handler for the signal, or until ready(pid), and sends it. Gives exit code, "", stderr."""
    ready = ready or (lambda pid: catches(pid, sig))
    job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    while not ready(job.pid) and job.poll() is None:
        pass
    job.send_signal(sig)
    try:
        _, errors = job.communicate(timeout=SECONDS)
    finally:
        job.kill()
    return job.returncode, "", errors


def case_080_interrupted():
    path = write("long.pbtxt", add("/task:0", "/task:1", "/task:0"))
    stats = FOLDER / "stats.json"
    for sig in (signal.SIGINT, signal.SIGTERM):
        ended = interrupted([FERRY, "run", path, "--tasks", "2", "--steps", "1000000000000", "--stats", str(stats)], sig)
        expect(ended, 130, "interrupted")
        if stats.exists():
            raise Failed("an interrupted run has written a file")


def case_081_many_tasks_are_stopped():
    """Stopped while the tasks begin, and while they run, when there is a thread for each."""
    command = [FERRY, "run", write("many.pbtxt", add()), "--tasks", "500", "--threads", "1", "--steps", "1000000000000"]
    expect(interrupted(command, signal.SIGTERM), 130, "interrupted")
    expect(interrupted(command, signal.SIGTERM, ready=lambda pid: len(os.listdir(f"/proc/{pid}/task")) >= 500), 130, "interrupted")


def endless_loops():
    """Commands that run a loop without an end, in one process and in two."""
    yield [ENDLESS_LOOP, "--tasks", "1"]
    yield [ENDLESS_LOOP, "--tasks", "2"]
    if MPIRUN:
        yield [MPIRUN, "--oversubscribe", "-np", "2", ENDLESS_LOOP]


def case_106_endless_loop_at_the_deadline():
    for command in endless_loops():
        done = subprocess.run([*command, "--deadline", "1"], capture_output=True, text=True, timeout=SECONDS, env=environment())
        expect((done.returncode, "", done.stderr), 6, "a loop does not end: after 1", 'of the loop "while" on task', "endless_loop.cpp:")


def case_106_endless_loop_with_a_signal():
    for command in endless_loops():
        for sig in (signal.SIGINT, signal.SIGTERM):
            ended = interrupted(command, sig)
            if command[0] == ENDLESS_LOOP:  # mpirun has exit codes of its own
                expect(ended, 130, "interrupted")


def case_107_library_of_ops_that_throws():
    for kind, what in ("ThrowExact", "enough"), ("Throw", "enough"), ("ThrowNumber", "something that is no std::exception"):
        file = write("own.pbtxt", graph(op("x", "Constant", attrs=ints([1, 2])), op("mine", kind, ["x"]), fetches=["mine"]))
        refused(10, [f'{kind} "mine" on task 0: its code threw: {what}', "model.cpp:4"], file, "--ops", THROWING_OPS)
    plan = write("own.plan", "")
    expect(run("plan", file, "--ops", THROWING_OPS, "--save", plan), 0)
    for options, unproved in ([], True), (["--ops", THROWING_OPS], False):
        ended = run("check", plan, *options)
        expect(ended, 0)
        assert ("not proved: the inputs and results of the kernels of ThrowNumber" in ended[1]) == unproved, ended
        assert ("every kernel has the types" in ended[1]) != unproved, ended
    refused(10, ["throwing_ops", "its ferry_add_ops() threw: no ops today"], file, "--ops", THROWING_OPS, env={"FERRY_TEST_OPS": "no"})


def catches(pid, sig):
    """True once the process has a handler for the signal."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (sig - 1) & 1)
    return False


def case_feeds_of_ranks_differ():
    if not MPIRUN:
        return "no mpirun here"
    path = write("fed.pbtxt", FED)
    files = [write(f"rank{rank}.npy", npy("<f4", (2, 3), struct.pack("<6f", *[rank] * 6))) for rank in range(2)]

    def ranks(*feeds):
        tasks = [["-np", "1", FERRY, "run", path, *feed] for feed in feeds]
        done = subprocess.run([MPIRUN, "--oversubscribe", *tasks[0], ":", *tasks[1]], capture_output=True, text=True, timeout=SECONDS, env=environment())
        return done.returncode, done.stdout, done.stderr

    expect(ranks(["--feed", "x=" + files[0]], ["--feed", "x=" + files[1]]), 2, "--feed x: the bytes on task 1 are not those on task 0", "try: give --feed x")
    done = ranks([], ["--feed", "x=" + files[1]])
    expect(done, 0)
    if "y = [[2 2 2] [2 2 2]]" not in done[1]:
        raise Failed(f"another result: {done[1]}")


NUMBER = 'attr {{ name: "value" tensor {{ dtype: FLOAT32 size: 1 floats {{ value: {} }} }} }}'
# Counts its steps. The entry "eval" reads a file that is not there.
COUNTS = graph(op("v", "Variable", attrs=typed("FLOAT32", 1)), op("zero", "Constant", attrs=NUMBER.format(0)), op("init", "Assign", ["v", "zero"]),
               op("one", "Constant", attrs=NUMBER.format(1)), op("next", "Add", ["v", "one"]), op("set", "Assign", ["v", "next"]),
               op("rows", "ReadCsv", attrs='attr { name: "dtype" dtype: FLOAT32 } attr { name: "path" string: "nowhere.csv" } attr { name: "shape" '
                  'shape { dim { size: 1 } dim { size: 1 } } } attr { name: "skip" int: 0 }')).replace(
    'entry { name: "run" }', 'entry { name: "train" fetch { name: "next" value: "next" } target: "set" }\n'
    'entry { name: "init" target: "init" }\nentry { name: "eval" fetch { name: "rows" value: "rows" } }')


def case_updates_that_no_entry_runs():
    """The commands warn, except if an entry runs the update."""
    warning = "warning: no entry runs set (Assign) at model.cpp:3, so nothing sets the variable 'v'; call g.target("
    for name, text, warns in ("forgotten", COUNTS.replace(' target: "set"', ""), True), ("updated", COUNTS, False):
        path = write(f"{name}.pbtxt", text)
        for command in "run", "plan":
            done = run(command, path, "--entry", "train")
            expect(done, 0)
            if (warning in done[2]) != warns:
                raise Failed(f"{name}, {command}: {done[2]!r}")


def case_options_of_ranks_differ():
    if not MPIRUN:
        return "no mpirun here"
    path = write("alike.pbtxt", add())

    def ranks(*options):
        tasks = [["-np", "1", FERRY, "run", path, *given] for given in options]
        done = subprocess.run([MPIRUN, "--oversubscribe", *tasks[0], ":", *tasks[1]], capture_output=True, text=True, timeout=SECONDS, env=environment())
        return done.returncode, done.stdout, done.stderr

    folder = str(FOLDER / "alike")
    for option, first, second in (("--seed", ["--seed", "1"], ["--seed", "2"]), ("--save", ["--save", folder], []),
                                  ("--stats", ["--stats", folder], []), ("--model", [], ["--model", folder]), ("--steps", ["--steps", "3"], ["--steps", "4"]),
                                  ("--checkpoint", ["--checkpoint", folder], []),
                                  ("--checkpoint-every", ["--checkpoint", folder, "--checkpoint-every", "3"], ["--checkpoint", folder, "--checkpoint-every", "4"])):
        expect(ranks(first, second), 2, f"{option} differs: ", "on task 0", "on task 1", "try: give all tasks the same options")


def case_trace_cannot_be_written():
    model = FOLDER / "traced"
    path = write("counts.pbtxt", COUNTS)
    expect(run("run", path, "--save", str(model), "--trace", str(FOLDER / "nowhere" / "t.json")), 3, "--trace", "its folder is not there")
    if model.exists():
        raise Failed("a step was run, and its model saved")
    done = run("run", path, "--steps", "3", "--save", str(model), "--trace", "/dev/full")
    expect(done, 7, "/dev/full", "No space left on device")
    if "next = [3]" not in done[1] or not (model / "manifest.json").exists():
        raise Failed(f"the result or the model is lost: {done}")


def case_outputs_that_cannot_be_written():
    """Reported before the first step. In /proc not even root can make a file."""
    model, file = FOLDER / "kept_from", write("no_folder", "a file")
    path = write("counts.pbtxt", COUNTS)
    for option, value, says in [(option, "/proc/ferry.json", "cannot be written") for option in ("--stats", "--trace", "--report")] + [
            ("--save-plan", "/proc/ferry.plan", "cannot be written"), ("--out", "/proc/ferry", "cannot be written"),
            ("--out", file, "is no folder"), ("--out", file + "/in/it", "is no folder")]:
        expect(run("run", path, "--save", str(model), option, value), 3 if "folder" in says else 2, option, says)
        if model.exists():
            raise Failed(f"{option} {value}: a step was run, and its model saved")
    expect(run("run", path, "--out", str(FOLDER / "new" / "out"), "--stats", str(FOLDER / "stats.json")), 0)
    if not (FOLDER / "new" / "out" / "next.npy").exists() or any(one.name.startswith(".ferry") for one in FOLDER.iterdir()):
        raise Failed(f"{list(FOLDER.iterdir())}")


def case_evaluation_fails_after_the_last_step():
    model, saved = FOLDER / "evaluated", FOLDER / "evaluated_steps"
    done = run("run", write("evaluated.pbtxt", COUNTS), "--data", str(FOLDER), "--steps", "3", "--eval-every", "10", "--save", str(model),
               "--checkpoint", str(saved))
    expect(done, 3, "nowhere.csv", "cannot be opened")
    if not (model / "manifest.json").exists() or not (saved / "step-0000000003").exists():
        raise Failed("what was trained is lost")


def case_083_stdout_closed():
    reader, writer = os.pipe()
    os.close(reader)
    stats = FOLDER / "closed.json"
    done = subprocess.run([FERRY, "run", write("here.pbtxt", add("", "", "")), "--stats", str(stats)], stdout=writer,
                          stderr=subprocess.PIPE, text=True, timeout=SECONDS, env=environment())
    os.close(writer)
    expect((done.returncode, "", done.stderr), 0, "stdout", "ferry prints no more results, but continues")
    if not stats.exists():
        raise Failed("the run did not go on")

    # Commands that only print end in silence when their reader has enough.
    path = write("seen.pbtxt", add())
    for words in (["plan", path, "--tasks", "3"], ["explain", path, "--tasks", "3"], ["check", path, "--tasks", "3"], ["show", path],
                  ["doctor"], ["--help"], ["run", "--help"], ["plan", path, "--tasks", "3", "--json"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([FERRY, *words], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=SECONDS, env=environment())
        os.close(writer)
        expect((done.returncode, "", done.stderr), 0)
        if done.stderr:
            raise Failed(f"{words[0]} says: {done.stderr}")


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
