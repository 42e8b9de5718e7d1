#!/usr/bin/env python3
"""Checks that no files include each other in a cycle: prints each offence and ends with 1 if there is any.

    cycle_rule.py ROOT

A header and the source beside it are one file: b.cpp includes a.hpp and a.cpp includes b.hpp is a cycle, although the
compiler accepts it. In a cycle no file can be understood or tested before the others.
"""
import os
import re
import sys
from pathlib import Path

FOLDERS = ["base", "graph", "ops", "kernels", "plan", "placement", "comm", "executor", "runner", "bench", "samples"]
# Folders whose subfolders may need each other, so that only files side by side are compared: the gradient of an op is made of
# ops of other families.
ACROSS = ["ops"]
SUFFIXES = {".cpp", ".hpp", ".h", ".cc", ".cu", ".cuh", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def stem(path):
    return path.rsplit(".", 1)[0]


def compared(file, target):
    return file.split("/")[0] not in ACROSS or os.path.dirname(file) == os.path.dirname(target)


def includes(root):
    """{file without suffix: the files that it includes}"""
    found = {}
    for top in FOLDERS:
        for where, _, names in os.walk(root / top):
            for name in names:
                path = Path(where) / name
                if path.suffix not in SUFFIXES:
                    continue
                own = stem(path.relative_to(root).as_posix())
                headers = INCLUDE.findall(path.read_text(encoding="utf-8"))
                found.setdefault(own, set()).update(stem(header) for header in headers if stem(header) != own)
    return {file: sorted(target for target in targets if target in found and compared(file, target))
            for file, targets in found.items()}


def cycles(graph):
    """The sets of files that reach each other, by Tarjan's algorithm without recursion."""
    number, lowest, stack, result = {}, {}, [], []
    for start in sorted(graph):
        if start in number:
            continue
        work = [(start, iter(graph[start]))]
        number[start] = lowest[start] = len(number)
        stack.append(start)
        while work:
            file, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[file])
                if lowest[file] == number[file]:
                    at = stack.index(file)
                    if len(stack) - at > 1:
                        result.append(sorted(stack[at:]))
                    del stack[at:]
            elif target not in number:
                number[target] = lowest[target] = len(number)
                stack.append(target)
                work.append((target, iter(graph[target])))
            elif target in stack:
                lowest[file] = min(lowest[file], number[target])
    return sorted(result)


def main(root):
    graph = includes(Path(root))
    found = cycles(graph)
    for cycle in found:
        print("a cycle of includes:")
        for file in cycle:
            print(f"    {file} includes {', '.join(target for target in graph[file] if target in cycle)}")
    if not found:
        print(f"{len(graph)} files include each other in no cycle")
    return 1 if found or not graph else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
