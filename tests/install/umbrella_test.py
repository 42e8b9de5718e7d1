#!/usr/bin/env python3
"""<ferry/ferry.hpp> brings what programs need to build and run graphs and no more, so that they compile fast.

    umbrella_test.py INCLUDE_FOLDER SOURCE_ROOT COMPILER

INCLUDE_FOLDER has the headers as ferry/….
"""
import re
import subprocess
import sys
import unittest
from pathlib import Path

INCLUDE, ROOT, CXX = sys.argv[1:4]
MOST_LINES = 60_000  # 59,011 with GCC 12, and 68,999 with all that is below
# What programs that use it include themselves.
HAVE_A_HEADER_OF_THEIR_OWN = [
    "base/system/clock.hpp", "comm/transport.hpp", "kernels/device.hpp", "kernels/kernel.hpp", "kernels/traits.hpp",
    "plan/plan.hpp", "placement/planner.hpp", "plan/schedule/schedule.hpp",
    "<algorithm>", "<chrono>", "<filesystem>", "<iostream>", "<regex>", "<sstream>", "<thread>"]
PROGRAM = """#include <ferry/ferry.hpp>
#include <chrono>
int main() {
  using namespace std::chrono_literals;
  ferry::Graph g;
  const ferry::Value c = g.constant({1, 2}) + g.constant({3, 4});
  const auto cluster = ferry::Cluster::connect({.tasks = 2, .deadline = 5s});
  ferry::Session session(g, cluster, {.run = {.seed = 7}});
  const std::chrono::milliseconds deadline = cluster.options().deadline;
  return session.run({c})[0].count() == 2 && deadline == std::chrono::seconds(5) ? 0 : 1;
}
"""


def compiled(text, *options):
    done = subprocess.run([CXX, "-std=c++20", f"-I{INCLUDE}", f"-I{ROOT}", *options, "-x", "c++", "-"],
                          input=text, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{CXX} {' '.join(options)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def reached(text):
    """The headers that are read: ours named from the root, those of the system as <name>."""
    paths = {Path(found) for found in re.findall(r'^# \d+ "([^"<]+)"', text, re.MULTILINE)}
    ours = {path.relative_to(ROOT).as_posix() for path in paths if path.is_relative_to(ROOT)}
    return ours | {f"<{path.name}>" for path in paths}


class Umbrella(unittest.TestCase):
    def test_it_brings_no_header_that_has_a_home_of_its_own(self):
        headers = reached(compiled("#include <ferry/ferry.hpp>\n", "-E"))
        for name in "graph/graph.hpp", "ops/nn/layers.hpp", "executor/session/session.hpp", "<vector>":
            self.assertIn(name, headers)
        self.assertEqual([name for name in HAVE_A_HEADER_OF_THEIR_OWN if name in headers], [])

    def test_it_is_short(self):
        lines = compiled("#include <ferry/ferry.hpp>\n", "-E", "-P").count("\n")
        self.assertLess(lines, MOST_LINES, "preprocessed lines")

    def test_programs_that_set_some_options_get_no_warning(self):
        compiled(PROGRAM, "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
