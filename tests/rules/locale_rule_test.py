#!/usr/bin/env python3
"""locale_rule.py finds planted uses of the program's locale, and accepts what is allowed."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import locale_rule  # noqa: E402
import planted  # noqa: E402


def run(line, folder="graph"):
    """Exit code and output for a tree of one file with that line."""
    return planted.run(locale_rule, {f"{folder}/text.cpp": f"\n{line}\n"})


class LocaleRule(unittest.TestCase):
    def test_planted(self):
        for line in ['std::snprintf(text, sizeof text, "%.17g", value);', 'number("%10.3f ms");', 'text("%.*g", 3);', "std::stod(text);",
                     "strtod(text, &end);", "std::tolower(c);", "if (isspace(c))", "std::ostringstream out;", "#include <iomanip>",
                     "std::cout << 1000;", 'setlocale(LC_ALL, "");', "std::locale::classic();"]:
            code, out = run(line)
            self.assertEqual(code, 1, line)
            self.assertIn("graph/text.cpp:2: " + line, out)

    def test_allowed(self):
        for line in ['std::snprintf(text, sizeof text, "%d-%08x", process, random);', "digits_text(value, 17);", "std::strtol(text, &end, 10);",
                     '"100 % each";', '"%016llx"', "// std::stod()", "lower_case(text);"]:
            self.assertEqual(run(line)[0], 0, line)
        self.assertEqual(run("std::stod(text);", "tests")[0], 0)


if __name__ == "__main__":
    unittest.main()
