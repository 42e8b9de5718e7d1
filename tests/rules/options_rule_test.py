#!/usr/bin/env python3
"""options_rule.py finds planted copies of options, and counts only fields of structs."""
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
import options_rule  # noqa: E402
import planted  # noqa: E402


def run(*structs):
    """Exit code and output for a tree with these texts, each in a file of its own."""
    with mock.patch.object(options_rule, "EXEMPT", {}):
        return planted.run(options_rule, {f"executor/run/file_{i}.hpp": text for i, text in enumerate(structs)})


class OptionsRule(unittest.TestCase):
    def test_planted(self):
        for field in ["Clock& clock;", "Clock* clock = nullptr;  ///< of the job", "Duration deadline{};", "std::uint64_t seed = 0;",
                      "const std::uint64_t seed;", "std::uint64_t seed = 0, other = 1;"]:
            text = "struct Options {\n  " + field + "\n};\n"
            self.assertEqual(run(text, text)[0], 0, field)
            code, out = run(text, text, text)
            self.assertEqual(code, 1, field)
            self.assertIn("3 structs declare", out)
            self.assertIn("executor/run/file_2.hpp: Options", out)

    def test_other_declarations(self):
        for text in ["struct Job {\n  [[nodiscard]] Clock& clock() const { return clock_; }\n  Clock& clock_;\n};",
                     "void run() {\n  Clock& clock = system_clock();\n}", "void run(Clock& clock);",
                     "struct Job {\n  void run() {\n    const Deadline deadline = now();\n    auto seed = 1;\n  }\n};",
                     "struct Job {\n  // Clock& clock;\n  std::string text = \"seed\";\n};"]:
            self.assertEqual(run(text, text, text)[0], 0, text)

    def test_exempt(self):
        text = "struct Manifest {\n  std::uint64_t seed = 0;\n};"
        exempt = {("plan/a.hpp", "Manifest", "seed"): "a record of a file"}
        with mock.patch.object(options_rule, "EXEMPT", exempt):
            self.assertEqual(planted.run(options_rule, {f"plan/{name}.hpp": text for name in "abc"})[0], 0)
            code, out = planted.run(options_rule, {"plan/b.hpp": text})
            self.assertEqual(code, 1)
            self.assertIn("remove it from EXEMPT: plan/a.hpp has no Manifest::seed", out)


if __name__ == "__main__":
    unittest.main()
