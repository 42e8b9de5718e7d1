#!/usr/bin/env python3
"""Writes images as shards that samples/resnet50 reads: docs/samples/resnet50.md.

    image_shards.py OUT --size 224 FOLDER           of FOLDER/CLASS/*.ppm (P6): the classes are numbered by name
    image_shards.py OUT --size 224 --synthetic 64   of waves in ten classes, with noise

OUT/images/ gets files of uint8 [n,3,size,size] without a header, OUT/labels/ files of as many int32, little-endian.
An image is cut to its middle square, whose pixels are averaged or repeated to the size.
"""
import argparse
import math
import pathlib
import random
import sys

CLASSES = 10


def read_ppm(path):
    """Width, height and the bytes of a binary PPM file."""
    data = path.read_bytes()
    words, at = [], 0
    while len(words) < 4 and at < len(data):
        if data[at:at + 1] == b"#":
            at = data.find(b"\n", at) % (len(data) + 1)
        elif data[at:at + 1].isspace():
            at += 1
        else:
            end = at
            while end < len(data) and not data[end:end + 1].isspace():
                end += 1
            words.append(data[at:end])
            at = end
    if len(words) < 4 or words[0] != b"P6" or words[3] != b"255":
        raise ValueError(f"{path}: not a PPM file of 8 bits (P6, 255)")
    width, height = int(words[1]), int(words[2])
    pixels = data[at + 1:]
    if len(pixels) != 3 * width * height or not pixels:
        raise ValueError(f"{path}: {len(pixels)} bytes of pixels; {width} x {height} has {3 * width * height}")
    return width, height, pixels


def squared(width, height, pixels, size):
    """The middle square at `size` x `size`: bytes of the red plane, the green and the blue one."""
    side = min(width, height)
    left, top = (width - side) // 2, (height - side) // 2
    spans = [(i * side // size, max((i + 1) * side // size, i * side // size + 1)) for i in range(size)]
    planes = bytearray()
    for colour in range(3):
        for y0, y1 in spans:
            rows = [pixels[3 * ((top + y) * width + left) + colour:3 * ((top + y) * width + left + side):3] for y in range(y0, y1)]
            planes += bytes(sum(sum(row[x0:x1]) for row in rows) // ((y1 - y0) * (x1 - x0)) for x0, x1 in spans)
    return bytes(planes)


def folder_images(folder, size):
    """Yields (planes, label) of each image."""
    classes = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    for label, entry in enumerate(classes):
        for path in sorted(entry.glob("*.ppm")):
            yield squared(*read_ppm(path), size), label


def synthetic_images(count, size):
    """Yields (planes, label) of made-up images: waves across (even classes) or down (odd classes)."""
    rng = random.Random(count)
    for i in range(count):
        label = i % CLASSES
        planes = bytearray()
        for _ in range(3):
            phase = rng.random()
            wave = [int(128 + 64 * math.sin(2 * math.pi * (x / size * (label // 2 + 1) + phase))) for x in range(size)]
            for y in range(size):
                noise = rng.randbytes(size)
                planes += bytes((wave[y if label % 2 else x] + noise[x] // 4 - 32) for x in range(size))
        yield bytes(planes), label


def write_shards(out, images, shard):
    """Writes the images, `shard` in each file, and returns their number."""
    for name in ("images", "labels"):
        (out / name).mkdir(parents=True)
    count = 0
    for planes, label in images:
        name = f"{count // shard:05}.raw"
        with open(out / "images" / name, "ab") as file:
            file.write(planes)
        with open(out / "labels" / name, "ab") as file:
            file.write(label.to_bytes(4, "little"))
        count += 1
    return count


def main():
    parser = argparse.ArgumentParser(description="Writes images as shards for samples/resnet50.")
    parser.add_argument("out", type=pathlib.Path, help="a folder that is not there yet")
    parser.add_argument("folder", type=pathlib.Path, nargs="?", help="a folder of PPM images for each class")
    parser.add_argument("--size", type=int, default=224, help="height and width (224)")
    parser.add_argument("--synthetic", type=int, metavar="N", help="N images made up, instead of a folder's")
    parser.add_argument("--shard", type=int, default=1024, help="images of a file (1024)")
    given = parser.parse_args()
    if (given.folder is None) == (given.synthetic is None):
        parser.error("a FOLDER or --synthetic N")
    if given.out.exists():
        parser.error(f"{given.out} is there already")
    images = folder_images(given.folder, given.size) if given.folder else synthetic_images(given.synthetic, given.size)
    try:
        count = write_shards(given.out, images, given.shard)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    print(f"{count} images of {given.size} x {given.size}")


if __name__ == "__main__":
    main()
