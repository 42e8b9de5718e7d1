"""A convolution of `ferry bench conv` in PyTorch on one thread: conv.py PART STRIDE PADDING N C H W O I KH KW

PART is forward, input or filter (the gradients). Prints milliseconds.
"""
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(0)  # not installed: nothing is printed

PART = sys.argv[1]
STRIDE, PADDING, *SIZES = map(int, sys.argv[2:])
GROUPS = SIZES[1] // SIZES[5]
STEPS = 10


def run(x, w, dy):
    if PART == "forward":
        return torch.nn.functional.conv2d(x, w, stride=STRIDE, padding=PADDING, groups=GROUPS)
    wanted = [PART == "input", PART == "filter", False]
    return torch.ops.aten.convolution_backward(dy, x, w, None, [STRIDE] * 2, [PADDING] * 2, [1, 1], False, [0, 0], GROUPS, wanted)


torch.set_num_threads(1)
with torch.no_grad():
    x, w = torch.randn(SIZES[:4]), torch.randn(SIZES[4:])
    dy = torch.randn_like(torch.nn.functional.conv2d(x, w, stride=STRIDE, padding=PADDING, groups=GROUPS))
    run(x, w, dy)
    begin = time.perf_counter()
    for _ in range(STEPS):
        run(x, w, dy)
    print((time.perf_counter() - begin) / STEPS * 1e3)
