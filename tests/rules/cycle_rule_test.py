#!/usr/bin/env python3
"""cycle_rule.py finds planted cycles, and nothing in a tree without any."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import cycle_rule  # noqa: E402
import planted  # noqa: E402


def run(files):
    return planted.run(cycle_rule, files)


def include(*headers):
    return "".join(f'#include "{header}"\n' for header in headers)


CYCLE = {"graph/a.hpp": "", "graph/a.cpp": include("graph/a.hpp", "graph/b.hpp"), "graph/b.hpp": include("graph/a.hpp")}


class CycleRule(unittest.TestCase):
    def test_no_cycle(self):
        code, out = run({"graph/a.hpp": "", "graph/a.cpp": include("graph/a.hpp", "graph/b.hpp", "base/none.hpp"),
                         "graph/b.hpp": "", "graph/b.cpp": include("graph/b.hpp")})
        self.assertEqual((code, "in no cycle" in out), (0, True), out)

    def test_a_source_closes_a_cycle(self):
        code, out = run(CYCLE)
        self.assertEqual(code, 1)
        self.assertIn("graph/a includes graph/b\n", out)
        self.assertIn("graph/b includes graph/a\n", out)

    def test_a_cycle_across_folders(self):
        code, out = run({"plan/a.hpp": include("plan/x/b.hpp"), "plan/x/b.hpp": include("plan/y/c.hpp"),
                         "plan/y/c.cpp": include("plan/a.hpp"), "plan/y/c.hpp": "", "plan/d.cpp": include("plan/a.hpp")})
        self.assertEqual(code, 1)
        self.assertIn("plan/y/c includes plan/a\n", out)
        self.assertNotIn("plan/d", out)

    def test_families_of_ops_may_need_each_other(self):
        files = {"ops/x/a.hpp": "", "ops/x/a.cpp": include("ops/y/b.hpp"), "ops/y/b.hpp": include("ops/x/a.hpp")}
        self.assertEqual(run(files)[0], 0)
        self.assertEqual(run({path.replace("/y/", "/x/"): text.replace("/y/", "/x/") for path, text in files.items()})[0], 1)

    def test_an_empty_tree_does_not_pass(self):
        self.assertEqual(run({})[0], 1)


if __name__ == "__main__":
    unittest.main()
