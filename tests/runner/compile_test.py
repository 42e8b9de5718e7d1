#!/usr/bin/env python3
"""The cache of compiled ops: a run with any state of its folder has the results of a run without compiled code.

    compile_test.py FERRY SCRATCH_FOLDER
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import unittest
from pathlib import Path

FERRY, SCRATCH = Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute()
GRAPH = """version: 1
graph {
  op { name: "x" op: "Input" attr { name: "dtype" dtype: FLOAT32 } attr { name: "shape" shape { dim { size: 1000000 } } } }
  op { name: "a" op: "Tanh" input: "x" }
  op { name: "b" op: "Mul" input: "a" input: "x" }
  op { name: "c" op: "Exp" input: "b" }
  op { name: "y" op: "Sub" input: "c" input: "a" }
}
entry { name: "step" feed { name: "x" value: "x" } fetch { name: "y" value: "y" } }
"""
STEPS = 24  # enough work for the compiler; 2 steps are enough for the cache


def run(caches, *options, steps=STEPS, out="out"):
    """The bytes of y."""
    folder = SCRATCH / out
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([FERRY, "run", SCRATCH / "g.pbtxt", "--feed", f"x={SCRATCH / 'x.npy'}", "--steps", str(steps), "--threads", "1",
                           "--out", folder, *options], env=dict(os.environ, XDG_CACHE_HOME=str(caches)), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"exit {done.returncode}\n{done.stdout}{done.stderr}")
    return (folder / "y.npy").read_bytes()


class Caches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(SCRATCH, ignore_errors=True)
        SCRATCH.mkdir(parents=True)
        (SCRATCH / "g.pbtxt").write_text(GRAPH)
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000,), }".ljust(117) + "\n"
        numbers = struct.pack("<1000000f", *[(k % 4001 - 2000) / 777 for k in range(1000000)])
        (SCRATCH / "x.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + numbers)
        doctor = json.loads(subprocess.run([FERRY, "doctor", "--json"], capture_output=True, text=True, check=True).stdout)
        compiler = doctor["tasks"][0]["compiler"]
        assert not (compiler["version"] and compiler["why"]), compiler
        cls.why = compiler["why"]
        cls.wanted = run(SCRATCH / "none", "--no-compile")

    def setUp(self):
        if self.why:
            self.skipTest(self.why)
        self.caches = SCRATCH / "caches"
        shutil.rmtree(self.caches, ignore_errors=True)

    def files(self):
        folder = self.caches / "ferry" / "kernels"
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def test_no_compile_uses_no_cache(self):
        self.assertEqual(run(self.caches, "--no-compile"), self.wanted)
        self.assertEqual(self.files(), [])

    def test_the_code_is_kept_and_used(self):
        self.assertEqual(run(self.caches, steps=2), self.wanted)
        self.assertEqual(self.files(), [], "a short run compiles nothing")
        self.assertEqual(run(self.caches), self.wanted)
        [code] = self.files()
        before = code.stat().st_mtime_ns
        self.assertEqual(run(self.caches), self.wanted)
        self.assertEqual([file.stat().st_mtime_ns for file in self.files()], [before], "it was compiled again")

    def test_damaged_files(self):
        run(self.caches)
        [code] = self.files()
        whole = code.read_bytes()
        for damaged in [b"", whole[:-1], whole[:100], whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], whole * 2, b"x" * len(whole)]:
            code.write_bytes(damaged)
            self.assertEqual(run(self.caches), self.wanted)
            self.assertEqual(code.read_bytes(), whole, "the file was not made again")

    def test_a_folder_that_cannot_be_made(self):
        self.caches.write_text("a file")
        self.assertEqual(run(self.caches), self.wanted)
        self.caches.unlink()

    def test_processes_that_start_at_once(self):
        command = ["bash", "-c", 'for k in 0 1 2 3 4 5 6 7; do "$0" "${@/OUT/OUT$k}" & done; wait', FERRY, "run", SCRATCH / "g.pbtxt",
                   "--feed", f"x={SCRATCH / 'x.npy'}", "--steps", str(STEPS), "--threads", "1", "--out", SCRATCH / "OUT"]
        subprocess.run(command, env=dict(os.environ, XDG_CACHE_HOME=str(self.caches)), check=True, capture_output=True)
        for k in range(8):
            self.assertEqual((SCRATCH / f"OUT{k}" / "y.npy").read_bytes(), self.wanted)
        self.assertEqual(len(self.files()), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
