#!/usr/bin/env python3
"""visibility_rule.py finds planted violations, and nothing in a tree without any."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import planted  # noqa: E402
import visibility_rule  # noqa: E402

SHOWN = "#pragma GCC visibility push(default)\nnamespace ferry {\n}\n#pragma GCC visibility pop\n"


class VisibilityRule(unittest.TestCase):
    def found(self, path, text):
        code, out = planted.run(visibility_rule, {path: text}, ["base/error.hpp"])
        self.assertEqual(code, 1 if "keep the visibility rule" not in out else 0, out)
        return out

    def test_a_tree_that_keeps_it(self):
        self.assertIn("1 files keep", self.found("base/error.hpp", "#include <vector>\n" + SHOWN))
        self.assertIn("1 files keep", self.found("base/text.hpp", "namespace ferry {\n}\n"))

    def test_what_breaks_it(self):
        self.assertIn("base/error.hpp:1: namespace ferry", self.found("base/error.hpp", "namespace ferry {\n}\n"))
        self.assertIn('base/error.hpp:5: extern "C"', self.found("base/error.hpp", SHOWN + 'extern "C" void f();\n'))
        self.assertIn("base/error.hpp:2: #include", self.found("base/error.hpp", SHOWN.replace("\n", "\n#include <vector>\n", 1)))
        self.assertIn("pop is missing", self.found("base/error.hpp", SHOWN.rpartition("#pragma")[0]))
        self.assertIn("base/text.hpp:1", self.found("base/text.hpp", SHOWN))


if __name__ == "__main__":
    unittest.main()
