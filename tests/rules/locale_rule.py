#!/usr/bin/env python3
"""Checks that no number is written or read, and no letter is classified, by the locale that a program has set: it may differ from task
to task. Prints each offending line as file:line and ends with 1 if there is any. locale_rule.py ROOT
"""
import re
import sys
from pathlib import Path

FOLDERS = ["base", "graph", "ops", "kernels", "comm", "plan", "placement", "executor", "runner"]
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh"}
# Each with what to use instead.
FORBIDDEN = [
    (r'"[^"]*%[-+#0]*[\d*]*(\.[\d*]+)?[lL]?[aAeEfFgG](?![a-zA-Z])[^"]*"', "digits_text() or decimals_text() of base/number_text.hpp"),
    (r"\b(stod|stof|stold|strtod|strtof|strtold|atof)\b", "std::from_chars"),
    (r"\b(is(al(pha|num)|x?digit|space|upper|lower|print|punct)|to(lower|upper))\s*\(", "base/ascii.hpp"),
    (r"\bstd::(basic_)?[io]?stringstream\b|<(iomanip|iostream|regex|format)>|\bstd::c(out|err|log)\b",
     "base/number_text.hpp and std::string"),
    (r"\b(setlocale|uselocale)\b|\bstd::locale\b", "base/number_text.hpp"),
]


def offences(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                code = line.split("//")[0]
                for pattern, instead in FORBIDDEN:
                    if re.search(pattern, code):
                        yield f"{path.relative_to(root)}:{number}: {line.strip()}   use {instead}"


def main(root):
    found = list(offences(Path(root)))
    print("\n".join(found) if found else "nothing goes by the program's locale in " + ", ".join(FOLDERS))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
