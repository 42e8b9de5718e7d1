"""Pseudorandom numbers that are the same in scripts here and in tests (drawn.hpp).

Element i of stream s is 2 * (splitmix64(s, i) >> 40) / 2^24 - 1, times a scale, as float32.
"""
import math

import numpy as np


def drawn(stream, sizes, scale):
    with np.errstate(over="ignore"):
        z = np.uint64(stream) * np.uint64(0xD1342543DE82EF95)
        z = z + np.arange(1, math.prod(sizes) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    unit = (z >> np.uint64(40)).astype(np.float64) / 2**24
    return ((2 * unit - 1) * scale).astype(np.float32).reshape(sizes)
