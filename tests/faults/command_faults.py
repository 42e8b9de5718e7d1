#!/usr/bin/env python3
"""Faults that a user of the `ferry` command can make: command_faults.py FERRY BROKEN_PLANS JUMPING_CLOCK ENDLESS_LOOP THROWING_OPS

BROKEN_PLANS writes plan files (broken_plans.cpp), JUMPING_CLOCK is a library to preload (jumping_clock.cpp), ENDLESS_LOOP
runs a loop that does not end (endless_loop.cpp), THROWING_OPS is a library of ops that throw (throwing_ops.cpp).
Each case has its number in the table of README.md, gives the command bad input, and checks the exit code, the text on
stderr, and that no output file was touched. Prints a line for each case; ends with 1 if one fails.
"""
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from npy import npy

FERRY, BROKEN_PLANS, JUMPING_CLOCK, ENDLESS_LOOP, THROWING_OPS = sys.argv[1:6]
MPIRUN = shutil.which("mpirun")
SECONDS = 60  # limit for a command that hangs; none takes as long otherwise
FOLDER = Path(tempfile.mkdtemp(prefix="ferry-faults-"))


def op(name, kind, inputs=(), device="", attrs=""):
    text = f'op {{ name: "{name}" op: "{kind}" '
    text += "".join(f'input: "{i}" ' for i in inputs) + attrs
    return text + (f' device: "{device}"' if device else "") + f' file: 1 line: {len(name)} }}\n'


def graph(*ops, fetches=()):
    named = "".join(f'fetch {{ name: "{f}" value: "{f}" }} ' for f in fetches)
    return f'version: 1\ngraph {{\n{"".join(ops)}}}\nentry {{ name: "run" {named}}}\nfile: "model.cpp"\n'


def ints(values):
    return ('attr { name: "value" tensor { dtype: INT32 size: %d ints { %s } } }'
            % (len(values), " ".join(f"value: {v}" for v in values)))


def typed(dtype, *sizes):
    dims = " ".join(f"dim {{ size: {s} }}" for s in sizes)
    return f'attr {{ name: "dtype" dtype: {dtype} }} attr {{ name: "shape" shape {{ {dims} }} }}'


def add(a="/task:0", b="/task:1", c="/task:2", third=3):
    return graph(op("a", "Constant", device=a, attrs=ints([1, 2, third])), op("b", "Constant", device=b, attrs=ints([10, 20, 30])),
                 op("c", "Add", ["a", "b"], device=c), fetches=["c"])


FED = graph(op("x", "Input", attrs=typed("FLOAT32", 2, 3)), op("y", "Add", ["x", "x"]), fetches=["y"])


def write(name, content):
    path = FOLDER / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "SLURM_", "NO_COLOR"))}
    return dict(env, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **more)


def run(*words, env=None):
    done = subprocess.run([FERRY, *words], capture_output=True, text=True, timeout=SECONDS, env=environment(**(env or {})))
    return done.returncode, done.stdout, done.stderr


class Failed(Exception):
    pass


def expect(result, code, *parts):
    got, _, errors = result
    if got != code:
        raise Failed(f"exit code {got}, not {code}; it said:\n{errors}")
    for part in parts:
        if part not in errors:
            raise Failed(f"{part!r} is not in:\n{errors}")
    if len(errors.splitlines()) > 45:
        raise Failed(f"more than a screen:\n{errors}")


def refused(code, parts, *words, env=None):
    """Checks that the command fails with this code and these parts in its text, and writes no output."""
    out, stats = FOLDER / "out", FOLDER / "stats.json"
    expect(run("run", *words, "--out", str(out), "--stats", str(stats), env=env), code, *parts)
    if out.exists() or stats.exists():
        raise Failed("a run that failed has written a file")


def broken_plan(name):
    """Path of the plan file with that fault."""
    if not (FOLDER / "good.plan").exists():
        subprocess.run([BROKEN_PLANS, str(FOLDER)], check=True, timeout=SECONDS)
    return str(FOLDER / (name + ".plan"))


def plan_refused(code, name, *parts):
    """Checks that `ferry check` refuses the broken plan with this code and text, and passes the good one."""
    expect(run("check", broken_plan("good")), 0)
    expect(run("check", broken_plan(name)), code, *parts)


def case_029_misaligned_buffer_of_a_plan():
    plan_refused(3, "misaligned", "misaligned.plan", "a buffer is misaligned at")


def case_029_overlapping_buffers_of_a_plan():
    plan_refused(4, "overlapping", "buffer", "has been overwritten", "broken_plans.cpp:")


def case_031_big_endian_feed():
    refused(3, ["f4.npy", "big-endian", "astype"], write("fed.pbtxt", FED), "--feed", "x=" + write("f4.npy", npy(">f4", (2, 3), bytes(24))))


def caret_under(errors, text, column):
    """Checks that the message has the line `text`, and below it a caret under that column."""
    lines = errors.splitlines()
    at = next((i for i, line in enumerate(lines) if line.strip() == text), None)
    if at is None or lines[at + 1].strip() != "^" or lines[at + 1].index("^") - lines[at].index(text) != column:
        raise Failed(f"no caret under place {column} of {text!r} in:\n{errors}")


def case_034_malformed_device_in_a_graph():
    result = run("run", write("device.pbtxt", add(c="/task:x")), "--tasks", "3")
    expect(result, 2, "device.pbtxt", '"c" (Add)', "expected a number")
    caret_under(result[2], "/task:x", 6)


def case_034_malformed_device_in_rules():
    path, rules = write("add.pbtxt", add()), write("rules.txt", "# where ops go\nc /task:1/tpu:0\n")
    result = run("run", path, "--tasks", "3", "--devices", rules)
    expect(result, 2, "rules.txt:2: malformed device '/task:1/tpu:0'", "unknown part 'tpu'")
    caret_under(result[2], "/task:1/tpu:0", 8)
    refused(2, ["rules.txt:1: no op has a name like 'cc'"], path, "--tasks", "3", "--devices", write("rules.txt", "cc /task:1\n"))
    moved = run("explain", path, "c", "--tasks", "3", "--devices", write("rules.txt", "c /task:1\n"))
    expect(moved, 0)
    if "annotated /task:1" not in moved[1]:
        raise Failed(f"the rule does not count:\n{moved[1]}")


def case_035_task_out_of_range():
    refused(4, ["/task:2", "model.cpp:1"], write("add.pbtxt", add()), "--tasks", "2")


def case_036_gpu_that_is_not_there():
    refused(4, ["there is no device /task:0/gpu:7", "task 0 has cpu:0", "model.cpp:1"],
            write("gpu.pbtxt", add(c="/task:0/gpu:7")), "--tasks", "2")


def case_036_default_device_that_is_not_there():
    if Path("/dev/nvidia0").exists():
        return "there is a GPU here"
    refused(4, ["the default device is gpu", "task 1 on ", "has cpu:0 and no GPU", "--device auto"],
            write("here.pbtxt", add("", "", "")), "--tasks", "2", "--device", "gpu")
    for device in ("auto", "cpu"):
        expect(run("run", write("here.pbtxt", add("", "", "")), "--device", device), 0)
    return None


def case_038_send_without_receive():
    plan_refused(4, "no_receive", "question", "a send without a receive", "task 1 -> 0", "broken_plans.cpp:")


def case_038_receive_without_send():
    plan_refused(4, "no_send", "question", "a receive without a send", "task 1 -> 0", "broken_plans.cpp:")


def case_039_tag_collision():
    plan_refused(4, "tags", "two messages with one tag", "task 1 -> 0", "broken_plans.cpp:")


def case_040_collectives_in_different_orders():
    plan_refused(4, "orders", "the collectives come in different orders on different tasks", "task 0 comes to collective", "task 1 comes to collective",
                 "(rows)", "(columns)", "broken_plans.cpp:")


def case_041_deadlock():
    plan_refused(4, "deadlock", "the plan would deadlock:", "task 0 waits in receive_wait 'question'", "for task 1",
                 "task 1 waits in receive_wait 'answer'", "for task 0", "broken_plans.cpp:")


def case_042_more_memory_than_there_is():
    path = write("wide.pbtxt", graph(op("x", "Input", attrs=typed("FLOAT32", 1 << 18)), op("y", "Add", ["x", "x"]), fetches=["y"]))
    for words in (["plan", path], ["run", path, "--feed", "x=" + write("wide.npy", npy("<f4", (1 << 18,), bytes(1 << 20)))]):
        expect(run(*words), 0)
        expect(run(*words, "--memory", "2MB"), 0)
        expect(run(*words, "--memory", "512KB"), 4, "task 0 would need", "may have 512 KiB (524288 bytes)", "'x' float32[262144]: 1 MiB at",
               "model.cpp:1", "--memory")


def two_files(one, other, settings=((), ()), words=()):
    """Runs two tasks by mpirun, each with its own file and environment variables. Gives exit code, stdout, stderr."""
    tasks = [["-np", "1", "env", *setting, FERRY, "run", file, *words] for setting, file in zip(settings, (one, other))]
    done = subprocess.run([MPIRUN, "--oversubscribe", *tasks[0], ":", *tasks[1]],
                          capture_output=True, text=True, timeout=SECONDS, env=environment())
    return done.returncode, done.stdout, done.stderr


def case_043_graphs_differ():
    if not MPIRUN:
        return "no mpirun here"
    one = write("one.pbtxt", add("/task:0", "/task:1", "/task:0"))
    other = two_files(one, write("other.pbtxt", add("/task:0", "/task:1", "/task:0", third=4)))
    expect(other, 4, "the tasks have different graphs", "first difference, in task 1:", "task 0 has Constant 'a'", "[1 2 3]",
           "task 1 has Constant 'a'", "[1 2 4]", "model.cpp:1")
    shared = "x" * 130
    labels = [write(f"label_{last}.pbtxt", graph(op("a", "Constant", attrs=ints([1])), op(
        "b", "Print", ["a"], attrs=f'attr {{ name: "label" string: "{shared}{last}" }}'), fetches=["b"])) for last in "pq"]
    expect(two_files(*labels), 4, "the tasks have different graphs", "task 0 has Print 'b'", "task 1 has Print 'b'")
    foreign = two_files(one, write("foreign.pbtxt", graph(op("x", "Constant", attrs=ints([1])), fetches=["x"])))
    expect(foreign, 4, "the tasks have different graphs", "task 0 has Constant 'a'", "task 1 has Constant 'x'")
    return None


def case_what_all_tasks_find_is_said_once():
    if not MPIRUN:
        return "no mpirun here"
    here, away = write("once.pbtxt", add("/task:0", "/task:1", "/task:0")), write("away.pbtxt", add())
    missing, unknown = str(FOLDER / "missing.pb"), ["--stepz", "3"]
    for file, words, code, says in ((missing, [], 3, "missing.pb"), (here, unknown, 2, 'unknown option "--stepz"'), (away, [], 4, "/task:2"),
                                    (here, ["--tasks", "5"], 2, "--tasks 5"), (here, ["--budget", "messages=0"], 4, "its budget is"),
                                    (here, ["--entry", "no"], 2, "--entry no"), (here, ["--interface", "nosuch0"], 2, "nosuch0"),
                                    (here, ["--fetch", "nothing"], 2, "nothing"), (here, ["--feed", "x=1"], 2, "--feed x"),
                                    (here, ["--model", missing], 3, "missing.pb")):
        result = two_files(file, file, words=words)
        expect(result, code, says)
        if len([line for line in result[2].splitlines() if "error: " in line]) != 1:
            raise Failed(f"not said once, of {words}:\n{result[2]}")
    for one, other in ((here, missing), (missing, here)):
        result = two_files(one, other)
        expect(result, 3, "missing.pb")
        if result[2].count("error: ") != 1:
            raise Failed(f"not said once:\n{result[2]}")
    return None


def case_044_products_by_different_code():
    cores = ("Prescott", "Nehalem")
    if not MPIRUN:
        return "no mpirun here"
    if any(f"openblas-{core}" not in run("doctor", env={"OPENBLAS_CORETYPE": core})[1] for core in cores):
        return "no OpenBLAS here that has code for several processors"
    file = write("add.pbtxt", add("/task:0", "/task:1", "/task:0"))
    expect(two_files(file, file, [[f"OPENBLAS_CORETYPE={core}"] for core in cores]), 4, "the tasks multiply matrices by different code",
           "task 0 has openblas-Prescott", "task 1 has openblas-Nehalem", "-x OPENBLAS_CORETYPE")
    return None


def case_046_no_launcher():
    """Without a launcher MPI itself sets some of a launcher's variables, which must not be taken for a launcher's."""
    if not MPIRUN:
        return "no mpirun here"
    bare = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "HOME", "LSAN_OPTIONS") if name in os.environ}
    done = subprocess.run([FERRY, "run", write("alone.pbtxt", add("", "", "")), "--tasks", "1", "--transport", "mpi"],
                          capture_output=True, text=True, timeout=SECONDS, env=bare)
    expect((done.returncode, done.stdout, done.stderr), 0)
    return None


def case_045_world_is_not_the_plans():
    plan = str(FOLDER / "three.plan")
    expect(run("plan", write("add.pbtxt", add()), "--tasks", "3", "--save", plan), 0)
    done = run("run", plan)
    expect(done, 0)
    if "c = [11 22 33]" not in done[1]:
        raise Failed(f"another result: {done[1]}")
    refused(4, ["the plan is for 3 tasks, this job has 2"], plan, "--tasks", "2")
    if MPIRUN:
        expect(two_files(plan, plan), 4, "the plan is for 3 tasks, this job has 2")


def case_003_plan_flipped_is_not_run():
    plan = Path(broken_plan("good")).read_bytes()
    refused(3, ["flipped.plan", "damaged"], write("flipped.plan", plan[:200] + bytes([plan[200] ^ 1]) + plan[201:]))


def case_041_deadlock_is_not_run():
    refused(4, ["the plan would deadlock:"], broken_plan("deadlock"))


def case_052_missing_feed_of_a_plan():
    plan = str(FOLDER / "fed.plan")
    expect(run("plan", write("fed.pbtxt", FED), "--save", plan), 0)
    refused(2, ["'x'", "float32[2,3]", "--feed x="], plan)
    refused(2, ["x", "float32[3,2]", "float32[2,3]"], plan, "--feed", "x=" + write("f4.npy", npy("<f4", (3, 2), bytes(24))))
    refused(2, ["--feed xx", "try: x?"], plan, "--feed", "xx=1")
    refused(2, ["--fetch z", "one of y"], plan, "--fetch", "z")
    refused(2, ["--entry"], plan, "--entry", "run")


def case_050_unknown_interface():
    if not MPIRUN:
        return "no mpirun here"
    file = write("add.pbtxt", add("/task:0", "/task:1", "/task:0"))
    expect(two_files(file, file, words=["--interface", "nosuch0"]), 2, "interface 'nosuch0': this host has no such one", "127.0.0.1")
    return None


def case_046_launcher_variable_missing():
    refused(2, ["OMPI_COMM_WORLD_SIZE"], write("add.pbtxt", add()), env={"OMPI_COMM_WORLD_RANK": "0"})


def case_052_missing_feed():
    refused(2, ["'x'", "float32[2,3]", "--feed x="], write("fed.pbtxt", FED))


def case_053_wrong_dtype():
    refused(2, ["x", "float64", "float32"], write("fed.pbtxt", FED), "--feed", "x=" + write("f8.npy", npy("<f8", (2, 3), bytes(48))))


def case_054_wrong_shape():
    refused(2, ["x", "[3,2]", "[2,3]"], write("fed.pbtxt", FED), "--feed", "x=" + write("f4.npy", npy("<f4", (3, 2), bytes(24))))


def case_055_unknown_feed():
    refused(2, ["--feed xx: the graph has no such input", "try: x?"], write("fed.pbtxt", FED), "--feed", "xx=1")


def case_055_shape_of_an_unknown_input():
    path = write("fed.pbtxt", FED)
    expect(run("plan", path, "--shape", "xx=2,3"), 2, "--shape xx: the graph has no such input", "try: x?")
    expect(run("show", path, "--shape", "x=2,3"), 2, "--shape", "only an ONNX model")


def case_055_options_of_planning_for_a_plan():
    expect(run("check", broken_plan("good")), 0)
    for option, value in [("--tasks", "2"), ("--shape", "a=2"), ("--feed", "a=1"), ("--threads", "1"), ("--invariant", "")]:
        words = [f"{option}={value}" if value else option]
        expect(run("plan", broken_plan("good"), *words), 2, option, "is a plan already", "leave " + option + " out")


def case_055_unknown_fetch():
    refused(2, ["sumb", "sum"], write("named.pbtxt", add("", "", "").replace('"c"', '"sum_of_both"')), "--fetch", "sumb_of_both")


def case_056_duplicate_feed():
    refused(2, ["x", "twice"], write("fed.pbtxt", FED), "--feed", "x=1", "--feed", "x=2")


def case_056_duplicate_fetch():
    refused(2, ["y", "twice"], write("fed.pbtxt", FED), "--fetch", "y,y")


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


def case_033_fifo_as_a_library_of_ops():
    path = FOLDER / "ops.so"
    os.mkfifo(path)
    refused(3, ["ops.so", "is a FIFO, not a regular file"], write("here.pbtxt", add("", "", "")), "--ops", str(path))


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
        assert ("not proved: what the kernels of ThrowNumber may be given" in ended[1]) == unproved, ended
        assert ("every kernel gets and gives" in ended[1]) != unproved, ended
    refused(10, ["throwing_ops", "its ferry_add_ops() threw: no ops today"], file, "--ops", THROWING_OPS, env={"FERRY_TEST_OPS": "no"})


def catches(pid, sig):
    """True once the process has a handler for the signal."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (sig - 1) & 1)
    return False


def case_outputs_over_inputs_and_each_other():
    """Told by the file, not by its path: through links, and of a file that is still to be made."""
    graph_file, feed, rules = write("fed.pbtxt", FED), write("f4.npy", npy("<f4", (2, 3), bytes(24))), write("rules.txt", "y /task:0\n")
    for name, how in ("soft", os.symlink), ("hard", os.link):
        how(graph_file, FOLDER / name)
    os.symlink("to_be_made", FOLDER / "dangling")
    words = ["run", graph_file, "--feed", f"x={feed}", "--devices", rules]
    one = str(FOLDER / "one.json")
    for option in "--stats", "--trace", "--metrics", "--flight-recorder":
        for path, is_what in (graph_file, "fed.pbtxt"), (str(FOLDER / "soft"), "fed.pbtxt"), (str(FOLDER / "hard"), "fed.pbtxt"), (feed, "--feed "), (
                rules, "--devices "):
            expect(run(*words, option, path), 2, f"error: {option} {path}: the same file as ", is_what, "another file for " + option)
        other = "--trace" if option == "--stats" else "--stats"
        expect(run(*words, option, one, other, str(FOLDER / "." / "one.json")), 2, "the same file as")
    expect(run(*words, "--stats", str(FOLDER / "dangling"), "--trace", str(FOLDER / "to_be_made")), 2, "the same file as")
    expect(run("plan", graph_file, "--svg", graph_file), 2, f"--svg {graph_file}: the same file as {graph_file}")
    plan = str(FOLDER / "apart.plan")
    expect(run("plan", graph_file, "--save", plan, "--svg", plan), 2, "the same file as")
    expect(run("plan", graph_file, "--save", plan), 0)
    expect(run("plan", graph_file, "--save", plan, "--diff", plan), 0)
    expect(run("run", plan, "--feed", f"x={feed}", "--stats", plan), 2, "the same file as")
    data = FOLDER / "data"
    data.mkdir()
    (data / "a.csv").write_text("1\n")
    rows = graph(op("x", "ReadCsv", attrs='attr { name: "dtype" dtype: FLOAT32 } attr { name: "path" string: "a.csv" } attr { name: "shape" '
                    'shape { dim { size: 1 } dim { size: 1 } } } attr { name: "skip" int: 0 }'), fetches=["x"])
    words_of_data = ["run", write("rows.pbtxt", rows), "--data", str(data)]
    expect(run(*words_of_data), 0)
    expect(run(*words_of_data, "--trace", str(data / "a.csv")), 2, "the same file as --data")
    if one in map(str, FOLDER.iterdir()) or Path(graph_file).read_text() != FED or (data / "a.csv").read_text() != "1\n":
        raise Failed("a file was written")
    expect(run(*words, "--stats", "/dev/null", "--trace", "/dev/null"), 0)


def case_083_stdout_closed():
    reader, writer = os.pipe()
    os.close(reader)
    stats = FOLDER / "closed.json"
    done = subprocess.run([FERRY, "run", write("here.pbtxt", add("", "", "")), "--stats", str(stats)], stdout=writer,
                          stderr=subprocess.PIPE, text=True, timeout=SECONDS, env=environment())
    os.close(writer)
    expect((done.returncode, "", done.stderr), 0, "stdout", "results are not printed")
    if not stats.exists():
        raise Failed("the run did not go on")


def main():
    failed = 0
    for name, case in sorted(globals().items()):
        if not name.startswith("case_"):
            continue
        try:
            skipped = case()
            print(f"[skip] {name[5:]}: {skipped}" if skipped else f"ok {name[5:]}")
        except (Failed, subprocess.TimeoutExpired) as why:
            failed += 1
            print(f"FAILED {name[5:]}: {why}")
    shutil.rmtree(FOLDER)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
