#!/usr/bin/env python3
"""Jobs over three hosts by ssh and a hostfile, the hosts being network namespaces of this machine.

usage: hosts_test.py FERRY SAMPLES_FOLDER COMM_MPI_TEST COUNT_SENDS_LIBRARY
Needs root, namespaces, an ssh server and mpirun; ends with 77, skipped, where one of them is missing. All that it starts
lives in a pid namespace and all that it mounts or configures in namespaces beside it, so nothing of it outlives the
test, however that ends. The last line is "N passed, N failed, N skipped".
"""
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))
from cases import run as run_cases  # noqa: E402
import three_hosts
from sends import check_sends, sends
from three_hosts import HOSTS, NETNS

SECONDS = 100  # limit for a job that hangs; none takes as long otherwise
MPI = [NETNS, "mpi", "-np", str(HOSTS), "--mca", "mpi_yield_when_idle", "1"]  # more hosts than cores
# mpirun only starts the tasks, which meet over TCP.
TCP = [NETNS, "mpi", "-np", str(HOSTS), "-x", "MASTER_ADDR=10.77.0.1", "-x", "MASTER_PORT=29500", "-x", "WORLD_SIZE=3",
       "-x", "FERRY_SECRET=of the hosts of a test", "sh", "-c", 'RANK=$OMPI_COMM_WORLD_RANK exec "$0" "$@" --transport tcp']

# The largest of 500,000 sums, whose terms are drawn on tasks 0 and 1 and added on task 2; task 0 prints it in every step.
DRAWN = '''attr { name: "dtype" dtype: FLOAT32 } attr { name: "shape" shape { dim { size: 500000 } } }
    attr { name: "low" float: 0 } attr { name: "high" float: 1 } attr { name: "seed" int: 0 }'''


def ring(tasks, size):
    """A graph in which each task adds so many numbers that it draws to those that the one before it has sent."""
    ops = "".join(
        f'  op {{ name: "d{t}" op: "RandomUniform" device: "/task:{t}" {DRAWN.replace("500000", str(size))} }}\n'
        f'  op {{ name: "s{t}" op: "Add" input: "{f"s{t - 1}" if t else "d0"}" input: "d{t}" device: "/task:{t}" }}\n' for t in range(tasks))
    return (f'version: 1\ngraph {{\n{ops}  op {{ name: "end" op: "Identity" input: "s{tasks - 1}" device: "/task:0" }}\n}}\n'
            'entry { name: "run" fetch { name: "end" value: "end" } }\n')


STEPS = f"""
version: 1
graph {{
  op {{ name: "a" op: "RandomUniform" device: "/task:0" {DRAWN} }}
  op {{ name: "b" op: "RandomUniform" device: "/task:1" {DRAWN} }}
  op {{ name: "c" op: "Add" input: "a" input: "b" device: "/task:2" }}
  op {{ name: "most" op: "Max" input: "c" device: "/task:2" attr {{ name: "axes" ints {{ value: 0 }} }} }}
  op {{ name: "shown" op: "Print" input: "most" device: "/task:0" attr {{ name: "label" string: "here" }} }}
}}
entry {{ name: "run" fetch {{ name: "shown" value: "shown" }} }}
"""

# Task 1 needs two values of task 0 together, so that they can share a message; task 2 needs a third.
TOGETHER = f"""
version: 1
graph {{
  op {{ name: "a" op: "RandomUniform" device: "/task:0" {DRAWN.replace("500000", "100")} }}
  op {{ name: "b" op: "Neg" input: "a" device: "/task:0" }}
  op {{ name: "c" op: "Exp" input: "a" device: "/task:0" }}
  op {{ name: "d" op: "Abs" input: "a" device: "/task:0" }}
  op {{ name: "e" op: "Add" input: "b" input: "c" device: "/task:1" }}
  op {{ name: "f" op: "Add" input: "e" input: "d" device: "/task:2" }}
}}
entry {{ name: "run" fetch {{ name: "f" value: "f" }} }}
"""


def mpirun(*words, launcher=tuple(MPI)):
    """Output of a job with one task on each host."""
    command = [*launcher, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def mpiexec(folder, *words):
    """The same by the mpiexec of MPICH, which reaches the hosts by ssh."""
    ssh = folder / "ssh"
    ssh.write_text(f'#!/bin/sh\nexec {output_of(NETNS, "ssh").strip()} "$@"\n')
    ssh.chmod(0o755)
    launcher = [NETNS, "on", "1", "env", f"HYDRA_LAUNCHER_EXEC={ssh}", "mpiexec.mpich", "-launcher", "ssh",
                "-hosts", "10.77.0.1,10.77.0.2,10.77.0.3", "-n", "3", "-ppn", "1"]
    return mpirun(*words, launcher=launcher)


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS).stdout


class Cases:
    def __init__(self, ferry, samples, comm_mpi_test, count_sends, folder):
        self.ferry, self.samples, self.comm_mpi_test = ferry, Path(samples), comm_mpi_test
        self.count_sends, self.folder = count_sends, folder

    def run_counted(self, steps, *words):
        """The output of `ferry run`, its counters, and for each task what MPI was given to send to each other task."""
        stats, counts = self.folder / "stats.json", self.folder / "counts"
        shutil.rmtree(counts, ignore_errors=True)
        counts.mkdir()
        sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        output = mpirun("-x", f"LD_PRELOAD={self.count_sends}", "-x", f"COUNT_SENDS={counts}", "-x", f"ASAN_OPTIONS={sanitizer}",
                        self.ferry, "run", *words, "--steps", steps, "--stats", stats)
        tasks = json.loads(stats.read_text())["tasks"]
        assert [task["host"] for task in tasks] == ["h1", "h2", "h3"], tasks
        for task in tasks:
            peak = task["planned"].pop("peak_bytes")
            measured = {name: task[name] for name in task["planned"]}
            assert measured == task["planned"] and task["peak_bytes"] <= peak, f"planned is not what was measured: {task}"
        return output, tasks, [sends((counts / str(task)).read_text()) for task in range(HOSTS)]

    def check_sends(self, *words):
        """Checks that in each step MPI is given what ferry counts and planned, and nothing else."""
        _, tasks, few = self.run_counted(4, *words)
        output, _, more = self.run_counted(24, *words)
        check_sends(tasks, few, more, 20)
        return output

    def hydra(self):
        """The mpiexec of MPICH starts tasks that meet by PMI, and exchange messages over TCP; the results equal the results over MPI.

        MPICH itself is not asked: over UCX it takes the namespaces for one host, and without shared memory its MPI_Finalize does not
        return there, nor in a program that only calls MPI_Init, MPI_Alltoall and MPI_Finalize (4.0.2).
        """
        if shutil.which("mpiexec.mpich") is None:
            return
        graph, by_pmi, by_mpi = self.samples / "conjugate_gradient.pb", self.folder / "by_pmi", self.folder / "by_mpi"
        mpiexec(self.folder, self.ferry, "run", graph, "--out", by_pmi, "--transport", "tcp")
        mpirun(self.ferry, "run", graph, "--out", by_mpi)
        kept = [{path.name: path.read_bytes() for path in folder.glob("*.npy")} for folder in (by_pmi, by_mpi)]
        assert kept[0] and kept[0] == kept[1], "PMI and MPI give other results"

    def add(self):
        output = self.check_sends(self.samples / "add.pb")
        assert "[11 22 33]" in output, output

    def data_parallel(self):
        self.check_sends(self.samples / "zero.pb", "--entry", "data_parallel")

    def joined(self):
        graph = self.folder / "together.pbtxt"
        graph.write_text(TOGETHER)
        self.check_sends(graph)
        _, tasks, _ = self.run_counted(4, graph)
        assert (tasks[0]["sent_messages"], tasks[0]["sent_bytes"]) == (2, 1200), tasks[0]

    def hello_ranks(self):
        output = mpirun(self.samples / "hello_ranks")
        wanted = "".join(f"hello from task {task} of {HOSTS} on h{task + 1}\n" for task in range(HOSTS))
        assert output == wanted, output

    def comm_suite(self):
        output = mpirun(self.comm_mpi_test, "--no-colors=true")
        assert output.count("Status: SUCCESS!") == HOSTS, output

    def over_tcp(self):
        output = mpirun(self.ferry, "run", self.samples / "add.pb", launcher=TCP)
        assert "[11 22 33]" in output, output
        both = {}
        for name, launcher in ("mpi", MPI), ("tcp", TCP):
            for sample in "conjugate_gradient", "jacobi":
                out = self.folder / name / sample
                mpirun(self.ferry, "run", self.samples / f"{sample}.pb", "--out", out, launcher=launcher)
                both.setdefault(name, []).append({path.name: path.read_bytes() for path in out.glob("*.npy")})
        assert both["mpi"] == both["tcp"] and all(both["tcp"]), "other bits over TCP than over MPI"

    def cut_link(self):
        """When a host is cut off, a task on this side names the task on the other and so ends the job. mpirun does not notice."""
        graph = self.folder / "steps.pbtxt"
        graph.write_text(STEPS)
        command = [*MPI, self.ferry, "run", str(graph), "--steps", "1000000000", "--deadline", "5"]
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        watchdog = threading.Timer(SECONDS, give_up)
        watchdog.start()
        try:
            read_until(job, r"here: 1\.")
            subprocess.run([NETNS, "cut", "3"], check=True)
            read_until(job, r"\[task [01]\] error: task 2 of host h3 cannot be heard")
        finally:
            watchdog.cancel()
            job.kill()
            job.wait()


def read_until(job, pattern):
    """The first line of the job's output in which the pattern is found."""
    for line in job.stdout:
        if re.search(pattern, line):
            return line
    raise AssertionError(f"the job ended without saying {pattern!r}")


def give_up():
    """Ends this process, and so its pid namespace and the job, whose tasks may hold open the pipe that is read."""
    print(f"FAILED: nothing was said for {SECONDS} s", flush=True)
    os._exit(1)


def run_inside(arguments, folder):
    """Runs the cases; called inside the namespaces, beside the hosts."""
    cases = Cases(*arguments, folder)
    # The last case cuts off a host.
    return run_cases((case.__name__, case) for case in (
        cases.add, cases.data_parallel, cases.joined, cases.hello_ranks, cases.comm_suite, cases.over_tcp, cases.hydra, cases.cut_link))


if __name__ == "__main__":
    sys.exit(three_hosts.main(lambda: run_inside(sys.argv[1:], Path(os.environ["NETNS_DIR"]))))
