"""The networks of `ferry bench train` in PyTorch: train.py NETWORK PROCESSES THREADS STEPS eager|compiled

NETWORK is mlp, cnn, lstm, charlm or resnet50. Prints steps a second; the first steps, in which compiled ones are compiled, do not count.
Each process has a batch of its own; several processes use DistributedDataParallel over gloo.
"""
import logging
import os
import shutil
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    sys.exit(0)  # not installed: nothing is printed

torch._logging.set_logs(all=logging.ERROR)  # compiling warns of what is not there, such as CUDA
NETWORK, HOW = sys.argv[1], sys.argv[5]
PROCESSES, THREADS, STEPS = map(int, sys.argv[2:5])
WARM_UP = max(2 if HOW == "compiled" else 1, STEPS // 40)
if HOW == "compiled" and not shutil.which(os.environ.get("CXX", "g++")):
    sys.exit(0)  # no compiler: nothing is printed


def momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


class Classifier:
    """mlp and cnn, of images of 28 x 28."""

    def __init__(self):
        if NETWORK == "mlp":
            self.layers = nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
        else:
            self.layers = nn.Sequential(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                                        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                                        nn.Flatten(), nn.Linear(64 * 7 * 7, 1024), nn.ReLU(), nn.Linear(1024, 10))
        self.optimizer = momentum(self.layers.parameters())
        self.inputs, self.labels = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))


class ResNet50:
    """Images in the order of channels that is faster here; weights decay, but not biases and norms, as in the sample."""

    def __init__(self):
        try:
            import torchvision
        except ImportError:
            sys.exit(0)
        self.layers = torchvision.models.resnet50().to(memory_format=torch.channels_last)
        matrices = [p for p in self.layers.parameters() if p.dim() > 1]
        others = [p for p in self.layers.parameters() if p.dim() <= 1]
        self.optimizer = torch.optim.SGD([{"params": matrices, "weight_decay": 1e-4}, {"params": others}], lr=0.003, momentum=0.9)
        self.inputs = torch.randn(8, 3, 224, 224).to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 1000, (8,))


class Lstm(nn.Module):
    """Texts of 50 characters, [steps, n]."""

    def __init__(self):
        super().__init__()
        self.characters = nn.Embedding(128, 128)
        self.layers = nn.LSTM(128, 256, num_layers=2)
        self.out = nn.Linear(256, 128)

    def forward(self, text):
        return self.out(self.layers(self.characters(text))[0]).flatten(0, 1)


class Block(nn.Module):
    """A transformer block of charlm: attention without biases, then a layer for each character by itself."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.joined = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, steps, width = x.shape
        q, k, v = self.attention(self.first_norm(x)).view(n, steps, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(seen.transpose(1, 2).reshape(n, steps, width))
        return x + self.down(functional.gelu(self.up(self.second_norm(x))))


class Charlm(nn.Module):
    """Windows of 64 characters, [n, steps]."""

    def __init__(self):
        super().__init__()
        self.characters, self.places = nn.Embedding(128, 64), nn.Parameter(torch.randn(64, 64) * 0.02)
        self.blocks = nn.Sequential(Block(64, 4), Block(64, 4))
        self.norm, self.out = nn.LayerNorm(64), nn.Linear(64, 128)

    def forward(self, text):
        return self.out(self.norm(self.blocks(self.characters(text) + self.places))).flatten(0, 1)


class Writer:
    """lstm and charlm, each of texts of random characters."""

    def __init__(self):
        self.layers = Lstm() if NETWORK == "lstm" else Charlm()
        parameters = list(self.layers.parameters())
        self.optimizer = momentum(parameters) if NETWORK == "lstm" else torch.optim.AdamW(parameters, lr=0.003, weight_decay=0.01)
        sizes = (50, 32) if NETWORK == "lstm" else (16, 64)
        self.inputs, self.labels = torch.randint(0, 128, sizes), torch.randint(0, 128, sizes).flatten()


def train(rank, port):
    torch.set_num_threads(THREADS)
    torch.manual_seed(rank)
    training = {"resnet50": ResNet50, "lstm": Writer, "charlm": Writer}.get(NETWORK, Classifier)()
    layers = training.layers
    if PROCESSES > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        torch.distributed.init_process_group("gloo", rank=rank, world_size=PROCESSES)
        layers = nn.parallel.DistributedDataParallel(layers)
    if HOW == "compiled":
        layers = torch.compile(layers)
    loss_of = nn.CrossEntropyLoss()
    for step in range(WARM_UP + STEPS):
        if step == WARM_UP:
            begin = time.perf_counter()
        training.optimizer.zero_grad()
        loss_of(layers(training.inputs), training.labels).backward()
        if NETWORK == "charlm":
            nn.utils.clip_grad_norm_(layers.parameters(), 1)
        training.optimizer.step()
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
