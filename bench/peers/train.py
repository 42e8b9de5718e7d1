"""The networks of `ferry bench train` in PyTorch: train.py mlp|cnn PROCESSES THREADS STEPS

Prints steps a second. Each process has a batch of 64; several processes use DistributedDataParallel over gloo.
"""
import os
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(0)  # not installed: nothing is printed

NETWORK = sys.argv[1]
PROCESSES, THREADS, STEPS = map(int, sys.argv[2:])
WARM_UP = max(1, STEPS // 40)


def network():
    nn = torch.nn
    if NETWORK == "mlp":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(64 * 7 * 7, 1024), nn.ReLU(), nn.Linear(1024, 10))


def train(rank, port):
    torch.set_num_threads(THREADS)
    torch.manual_seed(rank)
    layers = network()
    if PROCESSES > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        torch.distributed.init_process_group("gloo", rank=rank, world_size=PROCESSES)
        layers = torch.nn.parallel.DistributedDataParallel(layers)
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    images, labels = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    for step in range(WARM_UP + STEPS):
        if step == WARM_UP:
            begin = time.perf_counter()
        optimizer.zero_grad()
        loss_of(layers(images), labels).backward()
        optimizer.step()
    if rank == 0:
        print(STEPS / (time.perf_counter() - begin), flush=True)
    if PROCESSES > 1:
        torch.distributed.barrier()
        os._exit(0)  # at a regular exit gloo's threads sometimes abort the process


def free_port():
    import socket
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


if __name__ == "__main__":
    if PROCESSES == 1:
        train(0, 0)
    else:
        torch.multiprocessing.spawn(train, args=(free_port(),), nprocs=PROCESSES)
