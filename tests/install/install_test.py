#!/usr/bin/env python3
"""ferry as its users have it: installed, found by pkg-config, compiled against outside of the tree.

    install_test.py BUILD_FOLDER COMPILER
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

BUILD, CXX = sys.argv[1:3]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def output(*command, env=None, code=0):
    """Standard output of a command that must end with `code`."""
    done = subprocess.run(command, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != code:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


MPI_FLAGS = ["-DOMPI_SKIP_MPICXX=1", *output("pkg-config", "--cflags", "ompi").split()]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        output("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", str(cls.folder))
        cls.prefix = next(cls.folder.rglob("include")).parent
        cls.libdir = next(cls.prefix.rglob("libferry.so")).parent
        cls.env = dict(os.environ, PKG_CONFIG_PATH=str(cls.libdir / "pkgconfig"), LD_LIBRARY_PATH=str(cls.libdir))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def flags(self, *options):
        return output("pkg-config", *options, "ferry", env=self.env).split()

    def test_each_header_stands_alone(self):
        def compile_alone(header):
            source = self.folder / (header.replace("/", "_") + ".cpp")
            source.write_text(f"#include <{header}>\n")
            mpi = MPI_FLAGS if "mpi" in header else []
            output(CXX, "-fsyntax-only", *WARNINGS, *self.flags("--cflags"), *mpi, str(source))

        include = self.prefix / "include"
        headers = [path.relative_to(include).as_posix() for path in sorted(include.rglob("*.hpp"))]
        self.assertIn("ferry/ferry.hpp", headers)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(compile_alone, headers))

    def test_the_command_runs(self):
        self.assertIn("ferry", output(str(self.prefix / "bin" / "ferry"), "doctor"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
