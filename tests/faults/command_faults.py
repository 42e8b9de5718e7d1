#!/usr/bin/env python3
"""Faults in what a user gives the `ferry` command: command_faults.py FERRY BROKEN_PLANS

BROKEN_PLANS writes plan files (broken_plans.cpp). Each case has its number in the table of README.md, gives the command bad input,
and checks the exit code, the text on stderr, and that no output file was touched. Prints a line for each case; ends with 1 if one
fails.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from command_cases import (FED, FERRY, FOLDER, MPIRUN, SECONDS, Failed, add, expect, graph, ints, op, refused, run, run_cases,
                           two_files, typed, write)
from npy import npy

BROKEN_PLANS = sys.argv[2]


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
    moved = run("run", write("here.pbtxt", add("", "", "")), "--tasks", "2", "--device", "gpu", "--soft-placement")
    expect(moved, 0, "moved ops that name no device from gpu:0 to cpu:0 on 2 of 2 tasks: task 0 has no GPU")
    if moved[2].count("moved") != 1:
        raise Failed(f"said more than once:\n{moved[2]}")
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


def case_042_more_memory_than_a_gpu_has():
    path = write("wide.pbtxt", graph(op("x", "Input", attrs=typed("FLOAT32", 1 << 18)), op("y", "Add", ["x", "x"]), fetches=["y"]))
    for words in (["plan", path], ["check", path], ["run", path, "--feed", "x=" + write("wide.npy", npy("<f4", (1 << 18,), bytes(1 << 20)))]):
        expect(run(*words, "--device", "sim", "--gpu-memory", "4MB"), 0)
        expect(run(*words, "--device", "sim", "--gpu-memory", "512KB"), 4, "gpu:0 of task 0 would need", "may have 512 KiB (524288 bytes)",
               "'x' float32[262144]: 1 MiB at", "model.cpp:1", "--gpu-memory")


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
        result = two_files(plan, plan)
        expect(result, 4, "the plan is for 3 tasks, this job has 2")
        if result[2].count("error: ") != 1:
            raise Failed(f"not said once:\n{result[2]}")


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
    path = write("add.pbtxt", add())
    refused(2, ["OMPI_COMM_WORLD_SIZE"], path, env={"OMPI_COMM_WORLD_RANK": "0"})
    if MPIRUN:  # of a shell that mpirun had started, say
        refused(2, ["mpi: OMPI_COMM_WORLD_SIZE says 2 tasks, the world of Open MPI", "has 1", "or unset OMPI_COMM_WORLD_SIZE"], path,
                env={"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"})


def case_046_doctor_prints_its_table():
    for env, why in (({"FERRY_MPI": "nonsense"}, "FERRY_MPI=nonsense"), ({"RANK": "0", "WORLD_SIZE": "2"}, "launch: RANK is set, MASTER_ADDR is not")):
        code, output, errors = run("doctor", env=env)
        assert code == 2 and f"error: {why}" in errors, (code, errors)
        assert re.search(rf"(?s)^ferry  .*\nmemory  .*\njob +none\nnot ready +{why}[^\n]*\n$", output), output


def case_052_missing_feed():
    refused(2, ["'x'", "float32[2,3]", "--feed x="], write("fed.pbtxt", FED))


def case_053_wrong_dtype():
    refused(2, ["x", "float64", "float32"], write("fed.pbtxt", FED), "--feed", "x=" + write("f8.npy", npy("<f8", (2, 3), bytes(48))))


def case_054_wrong_shape():
    refused(2, ["x", "[3,2]", "[2,3]"], write("fed.pbtxt", FED), "--feed", "x=" + write("f4.npy", npy("<f4", (3, 2), bytes(24))))


def case_055_unknown_feed():
    refused(2, ["--feed xx: there is no such input", "try: x?"], write("fed.pbtxt", FED), "--feed", "xx=1")


def case_055_shape_of_an_unknown_input():
    path = write("fed.pbtxt", FED)
    expect(run("plan", path, "--shape", "xx=2,3"), 2, "--shape xx: there is no such input", "try: x?")
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


def case_033_fifo_as_a_library_of_ops():
    path = FOLDER / "ops.so"
    os.mkfifo(path)
    refused(3, ["ops.so", "is a FIFO, not a regular file"], write("here.pbtxt", add("", "", "")), "--ops", str(path))


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


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
