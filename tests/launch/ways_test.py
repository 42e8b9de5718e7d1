#!/usr/bin/env python3
"""The same jobs, however they are started and whatever carries their messages, give the same bits: ways_test.py FERRY SAMPLES_FOLDER

Starts a redis-server of its own, on loopback. The last line is "N passed, N failed, N skipped".
"""
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "support")]
import mpirun  # noqa: E402
import tcp_job  # noqa: E402
from cases import run as run_cases  # noqa: E402
from rendezvous_test import FERRY, REDIS, SAMPLES, TASKS, Redis, bits  # noqa: E402

SECONDS = 100  # limit for a job that hangs
JOBS = {"conjugate_gradient": [], "jacobi": [], "zero": ["--entry", "data_parallel", "--steps", "5"], "power_iteration": []}


def ended(command, **variables):
    """Runs a command to its end, with these variables and none of any launcher's."""
    env = dict(tcp_job.environment(**variables), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"


def each_by_hand(command, rank_in="RANK", size_in="WORLD_SIZE", **variables):
    """Starts each task, as a user would, and waits for all."""
    tasks = [subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=tcp_job.environment(**{rank_in: str(rank), size_in: str(TASKS)}, FERRY_INTERFACE="127.0.0.1", **variables))
             for rank in range(TASKS)]
    try:
        said = [task.communicate(timeout=SECONDS)[0] for task in tasks]
    finally:
        for task in tasks:
            task.kill()
    assert not any(task.returncode for task in tasks), said


def in_one_process(command):
    ended([*command, "--tasks", TASKS])


def by_ferry_launch(command):
    ended([FERRY, "launch", "-n", TASKS, "--", *command])


def by_mpirun_over_mpi(command):
    output, code = mpirun.run(["mpirun", "--oversubscribe", "-np", str(TASKS), *map(str, command)], SECONDS)
    assert code == 0, output


def by_mpirun_over_tcp(command):
    with tempfile.TemporaryDirectory() as folder:
        ended(["mpirun", "--oversubscribe", "-np", TASKS, "-x", "FERRY_RENDEZVOUS", "-x", "FERRY_INTERFACE", *command, "--transport", "tcp"],
              FERRY_RENDEZVOUS=f"file:{folder}/job", FERRY_INTERFACE="127.0.0.1")


def by_mpiexec_over_mpi(command):
    ended(["mpiexec.mpich", "-n", TASKS, *command])


def by_mpiexec_over_tcp(command):
    """The tasks meet by the launcher's PMI."""
    ended(["mpiexec.mpich", "-n", TASKS, *command, "--transport", "tcp"])


def by_address(command):
    each_by_hand(command, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(tcp_job.free_port()))


def by_kubeflow(command):
    each_by_hand(command, "PET_NODE_RANK", "PET_NNODES", PET_MASTER_ADDR="127.0.0.1", PET_MASTER_PORT=str(tcp_job.free_port()),
                 PET_NPROC_PER_NODE="auto")


def by_kubeflow_for_xgboost(command):
    each_by_hand(command, "DMLC_TASK_ID", "DMLC_NUM_WORKER", DMLC_TRACKER_URI="127.0.0.1", DMLC_TRACKER_PORT=str(tcp_job.free_port()))


def by_file(command):
    with tempfile.TemporaryDirectory() as folder:
        each_by_hand(command, FERRY_RENDEZVOUS=f"file:{folder}/job")


def by_redis(command):
    with tempfile.TemporaryDirectory() as folder:
        redis = Redis(folder)
        try:
            each_by_hand(command, FERRY_RENDEZVOUS=redis.url("job"))
        finally:
            redis.stop()


def results_of(way, folder):
    """The bits of all jobs, started in that way."""
    results = {}
    for sample, words in JOBS.items():
        out = folder / way.__name__ / sample
        out.parent.mkdir(exist_ok=True)
        stats = out.with_suffix(".json")
        way([FERRY, "run", SAMPLES / f"{sample}.pb", *words, "--out", out, "--stats", stats])
        assert json.loads(stats.read_text())["world"] == TASKS, f"{sample} was not one job of {TASKS} tasks"
        results[sample] = bits(out)
        assert results[sample], f"{sample} has no results"
    return results


def main():
    lacks = {by_redis: REDIS is None and "no redis-server here", by_mpirun_over_mpi: not shutil.which("mpirun") and "no mpirun here"}
    lacks[by_mpirun_over_tcp] = lacks[by_mpirun_over_mpi]
    lacks[by_mpiexec_over_mpi] = lacks[by_mpiexec_over_tcp] = not shutil.which("mpiexec.mpich") and "no mpiexec of MPICH here"
    with tempfile.TemporaryDirectory(prefix="ferry-ways-") as folder:
        folder = Path(os.path.realpath(folder))
        expected = results_of(in_one_process, folder)

        def same(way):
            results = results_of(way, folder)
            differ = [sample for sample in JOBS if results[sample] != expected[sample]]
            assert not differ, f"other bits than in one process: {differ}"
            return f"{sum(map(len, results.values()))} results of {len(JOBS)} jobs have the bits of one process"
        ways = (by_ferry_launch, by_mpirun_over_mpi, by_mpirun_over_tcp, by_mpiexec_over_mpi, by_mpiexec_over_tcp, by_address, by_kubeflow,
                by_kubeflow_for_xgboost, by_file, by_redis)
        return run_cases([(way.__name__, functools.partial(same, way)) for way in ways if not lacks.get(way)],
                         [(way.__name__, lacks[way]) for way in ways if lacks.get(way)])


if __name__ == "__main__":
    sys.exit(main())
