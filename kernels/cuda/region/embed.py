#!/usr/bin/env python3
"""Makes a C++ file of the headers that generated kernels include, so that the plug-in needs no files beside it.

usage: embed.py OUTPUT ROOT HEADER…
A header is known by its path from ROOT; one of region/std by its name alone.
"""
import pathlib
import sys

output, root, *headers = map(pathlib.Path, sys.argv[1:])
headers = [header.resolve() for header in headers if header.suffix != ".py"]
lines = ['#include "kernels/cuda/region/embedded.hpp"', "", "namespace ferry::cuda {", "",
         "std::span<const EmbeddedHeader> embedded_headers() {", "  static constexpr EmbeddedHeader kAll[] = {"]
for header in headers:
    name = header.name if header.parent.name == "std" else header.relative_to(root.resolve()).as_posix()
    lines.append(f'      {{"{name}", R"_({header.read_text(encoding="utf-8")})_"}},')
lines += ["  };", "  return kAll;", "}", "", "}  // namespace ferry::cuda", ""]
output.write_text("\n".join(lines), encoding="utf-8")
