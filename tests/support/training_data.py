"""The two files that training_job.cpp reads."""
import random
import struct

from npy import write_npy

ROWS, SIZE, CLASSES = 1021, 8, 10


def write_training_data(folder):
    dice = random.Random(0)
    pixels = [dice.random() for _ in range(ROWS * SIZE * SIZE)]
    labels = [dice.randrange(CLASSES) for _ in range(ROWS)]
    write_npy(folder / "images.npy", "<f4", (ROWS, SIZE, SIZE), struct.pack(f"<{len(pixels)}f", *pixels))
    write_npy(folder / "labels.npy", "<i4", (ROWS,), struct.pack(f"<{ROWS}i", *labels))
