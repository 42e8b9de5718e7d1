"""Reads and writes npy files (version 1.0) for scripts, which do without numpy."""
import ast
import struct
from pathlib import Path


def npy(descr, shape, content):
    """The bytes of a file: npy("<f4", (2, 3), 24 bytes)."""
    head = str({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + content


def read_npy(path):
    """(descr, shape, content)"""
    content = Path(path).read_bytes()
    size = struct.unpack("<H", content[8:10])[0]
    head = ast.literal_eval(content[10:10 + size].decode())
    return head["descr"], head["shape"], content[10 + size:]


def write_npy(path, descr, shape, content):
    Path(path).write_bytes(npy(descr, shape, content))
