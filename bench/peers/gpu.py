"""What PyTorch gives on one GPU for `ferry bench gpu`: lines of a name and a number, in the unit of ferry's figure.

Elementwise and normalising functions and training steps are measured eagerly and compiled, and the faster counts. Prints nothing where PyTorch
or a GPU is missing.
"""
import logging
import os
import sys
import time

try:
    import torch
    from torch.nn import functional
except ImportError:
    sys.exit(0)
if not torch.cuda.is_available():
    sys.exit(0)
torch._logging.set_logs(all=logging.ERROR)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def seconds(work, steps=20, warm_up=3):
    """The median of five, of one step."""
    for _ in range(warm_up):
        work()
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            work()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / steps)
    return sorted(times)[2]


def best(function, *arguments, steps=20):
    def compiled():
        return torch.compile(function)

    found = []
    for make in (lambda: function, compiled):
        try:
            made = make()
            found.append(seconds(lambda made=made: made(*arguments), steps))
        except Exception as error:  # no compiler for it here
            print(f"{function}: {error}", file=sys.stderr)
    return min(found)


def figure(name, value):
    print(name, value, flush=True)


def ten_ops(x):
    a = torch.clamp(x * 0.5 + 1.0, min=-1.0)
    b = torch.relu(-(torch.square(a - 0.25) * 2.0) + 3.0)
    return torch.clamp(b, max=2.0)


def tiny(x, y):
    for _ in range(1000):
        x = x + y
    return x


def of_arrays():
    for n in (1024, 8192):
        for dtype in (torch.float32, torch.bfloat16):
            a, b = (torch.randn(n, n, device="cuda").to(dtype) for _ in range(2))
            figure(f"matmul.{n}.{str(dtype).removeprefix('torch.')}", 2e-12 * n ** 3 / seconds(lambda: a @ b))
    x = torch.randn(64 << 18, device="cuda")
    figure("chain10", best(ten_ops, x) * 1e3)
    x = torch.randn(16384, 4096, device="cuda")
    figure("softmax", best(lambda x: torch.softmax(x, -1), x) * 1e3)
    figure("layer_norm", best(lambda x: functional.layer_norm(x, (4096,)), x) * 1e3)
    figure("sum_all", best(lambda x: x.sum(), x) * 1e3)
    figure("sum_rows", best(lambda x: x.sum(1), x) * 1e3)
    figure("sum_columns", best(lambda x: x.sum(0), x) * 1e3)
    figure("transpose", best(lambda x: x.t().contiguous(), x) * 1e3)
    for name, dtype in (("conv", torch.float32), ("conv.bfloat16", torch.bfloat16)):
        image = torch.randn(64, 128, 28, 28, device="cuda").to(dtype).to(memory_format=torch.channels_last)
        filters = torch.randn(128, 128, 3, 3, device="cuda").to(dtype).to(memory_format=torch.channels_last)
        figure(name, seconds(lambda: functional.conv2d(image, filters, padding=1)) * 1e3)
    one = torch.ones(1, device="cuda")
    figure("tiny", seconds(lambda: tiny(one, one), steps=3) * 1e3)
    host, back = (torch.ones(16 << 20).pin_memory() for _ in range(2))
    figure("copies", 8e-9 * (16 << 20) / seconds(lambda: back.copy_(-host.to("cuda", non_blocking=True), non_blocking=True)))


def networks():
    """The training steps of train.py, whose networks take these arguments."""
    for name in ("mlp", "cnn", "charlm", "resnet50"):
        sys.argv = ["train.py", name, "1", "1", "1", "eager"]
        scope = {"__name__": "networks"}
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py")
        try:
            exec(compile(open(path, encoding="utf-8").read(), path, "exec"), scope)  # train.py reads its arguments when it is imported
            training = {"resnet50": scope["ResNet50"], "charlm": scope["Writer"]}.get(name, scope["Classifier"])()
        except SystemExit:
            continue
        layers, inputs, labels = training.layers.cuda(), training.inputs.cuda(), training.labels.cuda()

        def step(model, optimizer=training.optimizer):
            optimizer.zero_grad()
            functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()

        figure(f"train.{name}", 1 / min(seconds(lambda: step(model), 10) for model in (layers, torch.compile(layers))))


of_arrays()
networks()
