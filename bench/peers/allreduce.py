"""The all-reduces of `ferry bench allreduce` by PyTorch's gloo: allreduce.py BYTES ROUNDS

Two processes of one thread each. In each round each process halves its floats, and gets the sums over both.
Prints microseconds a round; nothing where PyTorch is not installed.
"""
import os
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(0)

import torch.distributed as job

BYTES, ROUNDS = map(int, sys.argv[1:])


def rounds(values, count):
    for _ in range(count):
        values.mul_(0.5)
        job.all_reduce(values)


def work(rank, port):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    job.init_process_group("gloo", rank=rank, world_size=2)
    values = torch.ones(max(1, BYTES // 4))
    rounds(values, 1 + ROUNDS // 10)
    job.barrier()
    begin = time.perf_counter()
    rounds(values, ROUNDS)
    if rank == 0:
        print((time.perf_counter() - begin) / ROUNDS * 1e6, flush=True)
    assert values[0] == 1
    job.barrier()
    os._exit(0)  # at a regular exit gloo's threads sometimes abort the process


def free_port():
    import socket
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    torch.multiprocessing.spawn(work, args=(free_port(),), nprocs=2)
