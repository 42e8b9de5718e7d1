"""Writes optim_reference.txt: ten steps of each optimizer and schedule, on gradients that a formula gives.

usage: optim_reference.py > optim_reference.txt      (needs PyTorch and numpy)

All in float64. The optimizers are PyTorch's own, except LAMB and LARS, which PyTorch lacks: they are written here from
the papers' algorithms. A line is "CASE VARIABLE STEP NUMBER…", the elements of a variable after that step, row-major.
tests/ops/optim_test.cpp runs ferry's optimizers on the same numbers.
"""

import numpy as np
import torch

SHAPES = [(3,), (2, 3), (1,), (2, 1, 2), ()]
STEPS = 10
RATE = 0.05


def weights(shape, index):
    """The initial value of variable `index`. That of shape (1,) is 0, so that its norm is 0."""
    count = int(np.prod(shape))
    return np.zeros(shape) if shape == (1,) else np.sin(np.arange(count) * 1.7 + index + 0.4).reshape(shape)


def gradient(shape, index, step):
    count = int(np.prod(shape))
    return (np.cos(np.arange(count) * 0.9 + index * 1.3 + step * 0.7) * (1 + 0.2 * step)).reshape(shape)


def by_torch(make, before=lambda parameters, step: None):
    parameters = [torch.nn.Parameter(torch.tensor(weights(s, i))) for i, s in enumerate(SHAPES)]
    optimizer = make(parameters)
    for step in range(STEPS):
        for i, (p, s) in enumerate(zip(parameters, SHAPES)):
            p.grad = torch.tensor(gradient(s, i, step))
        before(parameters, step)
        optimizer.step()
        yield [p.detach().numpy().copy() for p in parameters]
        if isinstance(optimizer, Scheduled):
            optimizer.schedule.step()


class Scheduled:
    """SGD whose rate follows a schedule."""

    def __init__(self, parameters, make):
        self.optimizer = torch.optim.SGD(parameters, lr=RATE)
        self.schedule = make(self.optimizer)

    def step(self):
        self.optimizer.step()


def trust(numerator, denominator, a, b):
    return numerator / denominator if a > 0 and b > 0 else 1.0


def by_lamb(decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-6):
    """You et al. (2020), algorithm 2, phi(z) = z."""
    ws = [weights(s, i) for i, s in enumerate(SHAPES)]
    ms = [np.zeros(s) for s in SHAPES]
    vs = [np.zeros(s) for s in SHAPES]
    for step in range(STEPS):
        for i, shape in enumerate(SHAPES):
            g = gradient(shape, i, step)
            ms[i] = beta1 * ms[i] + (1 - beta1) * g
            vs[i] = beta2 * vs[i] + (1 - beta2) * g * g
            m = ms[i] / (1 - beta1 ** (step + 1))
            v = vs[i] / (1 - beta2 ** (step + 1))
            u = m / (np.sqrt(v) + epsilon) + decay * ws[i]
            of_w, of_u = np.linalg.norm(ws[i].ravel()), np.linalg.norm(u.ravel())
            ws[i] = ws[i] - RATE * trust(of_w, of_u, of_w, of_u) * u
        yield [w.copy() for w in ws]


def by_lars(eta=0.02, momentum=0.8, decay=0.1):
    """You et al. (2017), algorithm 1."""
    ws = [weights(s, i) for i, s in enumerate(SHAPES)]
    vs = [np.zeros(s) for s in SHAPES]
    for step in range(STEPS):
        for i, shape in enumerate(SHAPES):
            g = gradient(shape, i, step)
            of_w, of_g = np.linalg.norm(ws[i].ravel()), np.linalg.norm(g.ravel())
            rate = RATE * trust(eta * of_w, of_g + decay * of_w, of_w, of_g)
            vs[i] = momentum * vs[i] + rate * (g + decay * ws[i])
            ws[i] = ws[i] - vs[i]
        yield [w.copy() for w in ws]


def clip(parameters, step):
    """torch.nn.utils.clip_grad_norm_ without the 1e-6 that it adds to the norm."""
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters])
    for p in parameters:
        p.grad *= min(1.0, 3.0 / norm.item())


OPTIM = torch.optim
SCHEDULE = OPTIM.lr_scheduler
CASES = {
    "sgd": by_torch(lambda p: OPTIM.SGD(p, lr=RATE)),
    "sgd_decay": by_torch(lambda p: OPTIM.SGD(p, lr=RATE, weight_decay=0.1)),
    "sgd_clip": by_torch(lambda p: OPTIM.SGD(p, lr=RATE), clip),
    "momentum": by_torch(lambda p: OPTIM.SGD(p, lr=RATE, momentum=0.8)),
    "nesterov": by_torch(lambda p: OPTIM.SGD(p, lr=RATE, momentum=0.8, nesterov=True)),
    "adagrad": by_torch(lambda p: OPTIM.Adagrad(p, lr=RATE)),
    "rmsprop": by_torch(lambda p: OPTIM.RMSprop(p, lr=RATE)),
    "rmsprop_centered": by_torch(lambda p: OPTIM.RMSprop(p, lr=RATE, alpha=0.9, eps=1e-6, momentum=0.7, centered=True)),
    "adam": by_torch(lambda p: OPTIM.Adam(p, lr=RATE)),
    "adam_betas": by_torch(lambda p: OPTIM.Adam(p, lr=RATE, betas=(0.8, 0.95), eps=1e-5)),
    "adamw": by_torch(lambda p: OPTIM.AdamW(p, lr=RATE, weight_decay=0.1)),
    "lamb": by_lamb(),
    "lars": by_lars(),
    "cosine": by_torch(lambda p: Scheduled(p, lambda o: SCHEDULE.CosineAnnealingLR(o, 9, eta_min=0.01))),
    "steps": by_torch(lambda p: Scheduled(p, lambda o: SCHEDULE.StepLR(o, 3, gamma=0.5))),
    "milestones": by_torch(lambda p: Scheduled(p, lambda o: SCHEDULE.MultiStepLR(o, [2, 5], gamma=0.5))),
    "warm_up": by_torch(lambda p: Scheduled(p, lambda o: SCHEDULE.LambdaLR(o, lambda step: min(1, (step + 1) / 4)))),
}

if __name__ == "__main__":
    print(f"# optim_reference.py, PyTorch {torch.__version__}, numpy {np.__version__}")
    for name, steps in CASES.items():
        for step, variables in enumerate(steps):
            for i, variable in enumerate(variables):
                print(name, i, step, *(f"{x:.15g}" for x in variable.ravel()))
