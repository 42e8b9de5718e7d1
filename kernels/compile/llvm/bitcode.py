#!/usr/bin/env python3
"""Compiles the functions of generated code to LLVM's bitcode: bitcode.py BITCODE.hpp FACTS.hpp DEPENDENCIES VERSION PLUGIN.cpp CLANG [OPTION…] FILE

BITCODE.hpp has the bitcode as a constant. FACTS.hpp has a text that changes with everything that determines compiled code: the
version of LLVM, the bitcode and the plug-in's source.
"""
import hashlib
import subprocess
import sys
from pathlib import Path


def write(file, constant):
    Path(file).write_text(f"#pragma once\n\nnamespace ferry {{\n\n{constant}\n\n}}  // namespace ferry\n", encoding="utf-8")


def main():
    output, facts, dependencies, version, plugin, *command = sys.argv[1:]
    compiled = Path(output + ".bc")
    subprocess.run([*command, "-emit-llvm", "-c", "-o", compiled, "-MD", "-MF", dependencies, "-MT", output], check=True)
    bitcode = compiled.read_bytes()
    compiled.unlink()
    write(output, f"inline constexpr unsigned char kBitcode[] = {{{','.join(map(str, bitcode))}}};")
    digest = hashlib.sha256(bitcode + Path(plugin).read_bytes()).hexdigest()[:16]
    write(facts, f'inline constexpr char kRegionCompilerFacts[] = "LLVM {version} {digest}";')


main()
