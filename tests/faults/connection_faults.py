#!/usr/bin/env python3
"""Faults of jobs over TCP that are made by processes: connection_faults.py FERRY TASK_ENDS

TASK_ENDS is a job whose second task leaves in the middle (task_ends.cpp). Each case has its number in the table of README.md. Ends with 1 if one fails.
"""
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import cases
import tcp_job

FERRY, TASK_ENDS = sys.argv[1:3]
SECONDS = 60  # limit for a job that hangs; none takes as long otherwise
FOLDER = tempfile.TemporaryDirectory(prefix="ferry-faults-")
GRAPH, SUM_OF_THREE = (Path(FOLDER.name) / name for name in ("one.pbtxt", "three.pbtxt"))


def constant(name, device=""):
    return (f'op {{ name: "{name}" op: "Constant" device: "{device}" attr {{ name: "value" '
            'tensor { dtype: FLOAT32 floats { value: 7 } } } }\n')


def graph(*ops, fetch):
    return f'version: 1\ngraph {{\n{"".join(ops)}}}\nentry {{ name: "run" fetch {{ name: "{fetch}" value: "{fetch}" }} }}\n'


GRAPH.write_text(graph(constant("a"), fetch="a"))
SUM_OF_THREE.write_text(graph(
    *(constant(name, f"/task:{task}") for task, name in enumerate("abc")),
    'op { name: "d" op: "Add" input: "b" input: "c" device: "/task:2" }\n',
    'op { name: "e" op: "Add" input: "d" input: "a" device: "/task:0" }\n', fetch="e"))


def expect(result, code, *parts):
    got, _, errors = result
    if got != code:
        raise AssertionError(f"exit code {got}, not {code}; it said:\n{errors}")
    for part in parts:
        if part not in errors:
            raise AssertionError(f"{part!r} is not in:\n{errors}")


def alone(*words, **variables):
    done = subprocess.run([FERRY, "run", str(GRAPH), *words], capture_output=True, text=True, timeout=SECONDS,
                          env=tcp_job.environment(**variables))
    return done.returncode, done.stdout, done.stderr


def case_046_a_variable_is_missing():
    there = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    for name in there:
        rest = {other: value for other, value in there.items() if other != name}
        expect(alone(**rest), 2, f"is set, {name} is not")
    expect(alone(**dict(there, RANK="2")), 2, "RANK", "0 to 1")
    expect(alone(**dict(there, WORLD_SIZE="two")), 2, "WORLD_SIZE two", "not a whole number")
    for port in "0", "70000":
        expect(alone(**dict(there, MASTER_PORT=port)), 2, f"launch: MASTER_PORT {port}: not a whole number", "try: set RANK")
    expect(alone(**dict(there, WORLD_SIZE="0")), 2, "launch: WORLD_SIZE 0: not a whole number", "try: set RANK")
    expect(alone("--transport", "tcp"), 2, "--transport tcp: RANK and WORLD_SIZE are not set")
    expect(alone(FERRY_RENDEZVOUS="file:/a/b", FERRY_SECRET="0123456789abcdef0"), 2, "FERRY_RENDEZVOUS is set, RANK and WORLD_SIZE are not")
    expect(alone("--transport", "inproc", FERRY_RENDEZVOUS="file:/a/b"), 0)
    expect(alone(FERRY_RENDEZVOUS="file:/a/b", OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1"), 0)
    expect(alone(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500"), 0,
           "warning: MASTER_ADDR=127.0.0.1 and MASTER_PORT=29500 are set, but no other variable of a launch: this process runs the whole job",
           "or unset MASTER_ADDR and MASTER_PORT")
    expect(alone(PET_NODE_RANK="1"), 0, "warning: PET_NODE_RANK=1 is set, but no other variable of a launch")
    expect(alone(PET_NODE_RANK="1", PET_NNODES="2", MASTER_ADDR="h1"), 2, "PET_NODE_RANK is set, PET_MASTER_ADDR is not")
    for name in "RANK", "WORLD_SIZE":
        expect(alone(**{name: "3"}), 0, f"warning: {name}=3 is set, but no other variable of a launch", "try: set RANK")
    assert alone(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="1")[2] == ""


def case_046_two_launchers_disagree():
    both = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
            "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"}
    expect(alone(**both), 2, "OMPI_COMM_WORLD_SIZE says that this is task 1 of 3, RANK and WORLD_SIZE say 0 of 2",
           "--transport")
    expect(alone("--transport", "inproc", **both), 0)


def case_046_other_number_of_tasks():
    there = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    expect(alone("--tasks", "3", **there), 2, "--tasks 3, yet the launcher started 2 tasks")


def case_049_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        expect(alone(RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port), 2, f"127.0.0.1:{port} is in use",
               "MASTER_PORT")


def case_050_never_joins():
    there = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(tcp_job.free_port())}
    expect(alone("--deadline", "0.2", RANK="0", **there), 6, "[task 0] error: rendezvous: task 1 of 2 did not come before the deadline")
    expect(alone("--deadline", "0.2", RANK="1", **there), 6, "nobody listens there")


def case_050_unknown_host():
    there = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "no-such-host.invalid", "MASTER_PORT": "29500"}
    for rank in "0", "1":
        expect(alone("--deadline", "0.2", **dict(there, RANK=rank)), 2, "warning: rendezvous at no-such-host.invalid:29500: the host is not known yet",
               "error: rendezvous at no-such-host.invalid:29500: the host 'no-such-host.invalid' is not known")


def case_050_unknown_interface():
    there = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(tcp_job.free_port())}
    expect(alone("--interface", "nosuch0", RANK="0", **there), 2, "interface 'nosuch0'", "127.0.0.1")


def case_081_told_to_end_before_the_others_have_come():
    port = tcp_job.free_port()
    task = tcp_job.start([FERRY, "run", GRAPH, "--deadline", "1000"], 0, 2, port)
    try:
        while True:  # until it waits for the other
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        task.send_signal(signal.SIGTERM)
        out, errors = task.communicate(timeout=SECONDS)
        expect((task.returncode, out, errors), 130, "[task 0] error: interrupted by signal 15")
    finally:
        task.kill()


def case_060_killed():
    port = tcp_job.free_port()
    command = [FERRY, "run", SUM_OF_THREE, "--steps", "1000000000000", "--print-every", "100"]
    tasks = [tcp_job.start(command, rank, 3, port) for rank in range(3)]
    try:
        tasks[0].stdout.readline()  # it runs
        tasks[2].send_signal(signal.SIGKILL)
        for task in tasks[:2]:
            out, errors = task.communicate(timeout=SECONDS)
            expect((task.returncode, out, errors), 5, "error: task 2 (host ", "is gone: it was killed")
    finally:
        for task in tasks:
            task.kill()


def ends(how, code, of_itself, *parts):
    """Checks how a job of three ends whose second task leaves in this way, with the code `of_itself`."""
    for task, result in enumerate(tcp_job.run([TASK_ENDS, how], 3, SECONDS)):
        if task == 1:
            expect(result, of_itself)
        else:
            expect(result, code, *parts)


def case_063_leaves_early():
    ends("exit", 5, 0, "ended before the job was done")
    ends("return", 5, 0, "task 1 has finished, but this task still needs it")


def case_107_throws():
    ends("error", 8, 8, "task 1 failed first: loss: NaN")
    ends("exception", 10, 10, "task 1 failed first: the program threw: vector::at")
    ends("op", 10, 10, 'task 1 failed first: Own "mine" on task 1: its code threw: something that is no std::exception')


def main():
    return cases.run((name[5:], case) for name, case in sorted(globals().items()) if name.startswith("case_"))


if __name__ == "__main__":
    sys.exit(main())
