#!/usr/bin/env python3
"""tree_rule.py finds planted offences, and nothing in a tree without any."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tree_rule  # noqa: E402
import planted  # noqa: E402


def run(files):
    return planted.run(tree_rule, files)


class TreeRule(unittest.TestCase):
    def test_folders(self):
        self.assertEqual(run({f"graph/f{i}.cpp": "" for i in range(30)})[0], 0)
        code, out = run({f"graph/part/f{i}.cpp": "" for i in range(31)})
        self.assertEqual(code, 1)
        self.assertIn("graph/part: 31 files", out)

    def test_types(self):
        once = {"graph/a.hpp": "struct Part {\n};\nclass Whole;\n", "ops/b.hpp": "class Whole {\n};\n struct Part {\n };\n"}
        self.assertEqual(run(once)[0], 0)
        for again in "struct Part {\n};\n", "class Part final : public X {\n};\n", "using Part = int;\n", "enum class Part : int { a };\n":
            code, out = run({"graph/a.hpp": "struct Part {\n};\n", "ops/b.hpp": again})
            self.assertEqual(code, 1, again)
            self.assertIn("type Part is in graph/a.hpp and in ops/b.hpp", out)

    def test_addresses(self):
        self.assertEqual(run({"ops/a.cpp": "if (&def == &kConcat) {}\n", "runner/a.cpp": "// &def == &kConcat\n"})[0], 0)
        code, out = run({"placement/a.cpp": "int x;\nif (&def != &kConcat) {}\n"})
        self.assertEqual(code, 1)
        self.assertIn("placement/a.cpp:2", out)


if __name__ == "__main__":
    unittest.main()
