#!/usr/bin/env python3
"""Functions of kernels/scalar_math.hpp must be inlined into the loops of elementwise kernels: a loop that calls one is not made of vectors, and takes
several times as long.

    inlined_test.py ARCHIVE…    kernels of an instruction set
"""
import re
import subprocess
import sys

SCALAR = {"sin_shifted", "tan"}  # of large angles and of tan, which loops do call


def main():
    failed = 0
    for archive in sys.argv[1:]:
        symbols = subprocess.run(["nm", "-C", archive], capture_output=True, text=True, check=True).stdout
        called = set(re.findall(r" [tTwW] ferry::math::(\w+)\(", symbols)) - SCALAR
        failed += bool(called)
        print(f"{archive}: {'calls ' + ', '.join(sorted(called)) if called else 'ok'}")
    print(f"{len(sys.argv) - 1 - failed} passed, {failed} failed")
    return 1 if failed or len(sys.argv) == 1 else 0


if __name__ == "__main__":
    sys.exit(main())
