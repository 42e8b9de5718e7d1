#!/usr/bin/env python3
"""Writes files as C++ constants: embed_files.py OUTPUT.hpp NAME=FILE,FILE… …

Each becomes `inline constexpr std::string_view NAME`, so that a program has the text of its files, one after another, in itself.
"""
import sys
from pathlib import Path

PIECE = 10_000  # compilers need not take longer literals


def literal(text):
    pieces = [text[at:at + PIECE] for at in range(0, len(text), PIECE)]
    assert ')~~~"' not in text
    return "\n    ".join(f'R"~~~({piece})~~~"' for piece in pieces)


def main():
    lines = ["#pragma once", "", "#include <string_view>", "", "namespace ferry {", ""]
    for word in sys.argv[2:]:
        name, _, files = word.partition("=")
        text = "\n".join(Path(file).read_text(encoding="utf-8") for file in files.split(","))
        lines.append(f"inline constexpr std::string_view {name} =\n    {literal(text)};")
    Path(sys.argv[1]).write_text("\n".join([*lines, "", "}  // namespace ferry", ""]), encoding="utf-8")


main()
