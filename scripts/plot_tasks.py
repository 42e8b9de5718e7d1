#!/usr/bin/env python3
"""Draws what planning takes by the number of tasks, from the lines of `ferry bench plan.tasks --json`.

    build/ferry bench plan.tasks --json | scripts/plot_tasks.py > docs/images/plan_tasks.svg

Two diagrams, times and memory, both axes logarithmic.
"""
import collections
import json
import math
import sys

WIDTH, HEIGHT, LEFT, TOP = 330, 220, 70, 60
COLOURS = {"training": "#3b78b5", "chain": "#c8503f"}
NAMES = {"training": "a training step on a mesh", "chain": "a chain with an op on each task"}
DASHES = {"": "", "start": "5 3", "run": "1 3", "peak": ""}
MEANINGS = {"": "planned and verified", "start": "ferry check, from its start to its end", "run": "ferry run of a step, all tasks in one process"}
DIAGRAMS = [("Milliseconds", ["", "start", "run"]), ("MiB that planning takes", ["peak"])]
LEAST = 0.1  # what is less is drawn there


def curves(lines):
    """{(graph, part): [(tasks, value)]} of names such as plan.tasks.chain.64.start."""
    found = collections.defaultdict(list)
    for line in lines:
        figure = json.loads(line)
        _, _, graph, tasks, *part = figure["name"].split(".")
        found[graph, "".join(part)].append((int(tasks), max(figure["ferry"], LEAST)))
    return found


class Axis:
    """Powers of ten from the one below `least` to the one above `most`, over so many pixels."""

    def __init__(self, least, most, pixels):
        self.first = math.floor(math.log10(least))
        self.last = max(math.ceil(math.log10(most)), self.first + 1)
        self.pixels = pixels

    def place(self, value):
        return self.pixels * (math.log10(value) - self.first) / (self.last - self.first)

    def marks(self):
        return [10.0**power for power in range(self.first, self.last + 1)]


def text(x, y, words, more=""):
    return f'<text x="{x:g}" y="{y:g}"{more}>{words}</text>'


def diagram(found, title, parts, left):
    points = [point for (_, part), line in found.items() if part in parts for point in line]
    across = Axis(min(x for x, _ in points), max(x for x, _ in points), WIDTH)
    up = Axis(min(y for _, y in points), max(y for _, y in points), HEIGHT)
    bottom = TOP + HEIGHT
    out = [text(left, TOP - 12, title, ' font-weight="bold"')]
    for mark in up.marks():
        y = bottom - up.place(mark)
        out.append(f'<line x1="{left}" y1="{y:g}" x2="{left + WIDTH}" y2="{y:g}" stroke="#dfe3e6"/>')
        out.append(text(left - 6, y + 4, f"{mark:,g}", ' text-anchor="end" fill="#68737d"'))
    for mark in across.marks():
        x = left + across.place(mark)
        out.append(f'<line x1="{x:g}" y1="{bottom}" x2="{x:g}" y2="{bottom + 4}" stroke="#68737d"/>')
        out.append(text(x, bottom + 18, f"{mark:,.0f}", ' text-anchor="middle" fill="#68737d"'))
    out.append(text(left + WIDTH / 2, bottom + 36, "tasks", ' text-anchor="middle" fill="#68737d"'))
    for (graph, part), line in found.items():
        if part in parts:
            path = " ".join(f"{left + across.place(x):.1f},{bottom - up.place(y):.1f}" for x, y in sorted(line))
            dash = f' stroke-dasharray="{DASHES[part]}"' if DASHES[part] else ""
            out.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[graph]}" stroke-width="1.6"{dash}/>')
    return out


def legend():
    out = []
    for k, (graph, colour) in enumerate(COLOURS.items()):
        out.append(f'<rect x="{LEFT}" y="{8 + 16 * k}" width="18" height="4" fill="{colour}"/>')
        out.append(text(LEFT + 26, 14 + 16 * k, NAMES[graph]))
    for k, (part, meaning) in enumerate(MEANINGS.items()):
        dash = f' stroke-dasharray="{DASHES[part]}"' if DASHES[part] else ""
        y = TOP + HEIGHT + 56 + 16 * k
        out.append(f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + 30}" y2="{y}" stroke="#444444" stroke-width="1.6"{dash}/>')
        out.append(text(LEFT + 38, y + 4, meaning))
    return out


def main():
    found = curves(sys.stdin)
    step = LEFT + WIDTH + 40
    out = legend()
    for k, (title, parts) in enumerate(DIAGRAMS):
        out += diagram(found, title, parts, LEFT + k * step)
    size = f'width="{len(DIAGRAMS) * step}" height="{TOP + HEIGHT + 104}"'
    print(f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">')
    print('<rect width="100%" height="100%" fill="#ffffff"/>')
    print("\n".join(out))
    print("</svg>")


if __name__ == "__main__":
    main()
