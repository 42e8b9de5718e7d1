"""Starts the tasks of a job over TCP, as a user would by hand: with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT."""
import os
import socket
import subprocess


def environment(**more):
    """Ours, without what any launcher has set."""
    names = ("OMPI_", "PMIX_", "PMI_", "SLURM_", "RANK", "WORLD_SIZE", "MASTER_", "LOCAL_", "PET_", "DMLC_", "FERRY_",
             "NO_COLOR")
    return dict({name: value for name, value in os.environ.items() if not name.startswith(names)}, **more)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(command, rank, size, port, **more):
    env = environment(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), **more)
    return subprocess.Popen([str(word) for word in command], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(command, size, seconds=100):
    """(exit code, stdout, stderr) of each task."""
    port = free_port()
    tasks = [start(command, rank, size, port) for rank in range(size)]
    try:
        texts = [task.communicate(timeout=seconds) for task in tasks]
    finally:
        for task in tasks:
            task.kill()
    return [(task.returncode, *text) for task, text in zip(tasks, texts)]
