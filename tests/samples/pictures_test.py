#!/usr/bin/env python3
"""Checks that the pictures of README.md and docs/guide/parallel_strategies.md show the plans that ferry makes.

    pictures_test.py FERRY SAMPLES_FOLDER [--update]

Compares boxes, with their text and colour, and arrows, but not where they are, which depends on graphviz's version. --update
draws all pictures anew (needs graphviz). The last line is "N passed, N failed, N skipped".
"""

import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

FERRY, SAMPLES = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "images" / "layouts"

IN_README = "add"
PLANS = {
    IN_README: ["add", "--tasks", "3"],
    "data_parallel": ["zero", "--entry", "data_parallel", "--tasks", "2"],
    "zero2": ["zero", "--entry", "zero2", "--tasks", "2"],
    "zero3": ["zero", "--entry", "zero3", "--tasks", "2"],
    "tensor_parallel": ["tensor_parallel", "--entry", "predict", "--tasks", "2"],
    "data_tensor": ["data_tensor", "--tasks", "4"],
    "sequence_split": ["sequence_split", "--tasks", "2"],
    "parameter_server": ["parameter_server", "--tasks", "3", "--jobs", "ps=0,worker=1-2"],
    "experts": ["experts", "--tasks", "2"],
    "matrix_product": ["matrix_product", "--fetch", "sum", "--tasks", "4"],
    "conjugate_gradient": ["conjugate_gradient", "--tasks", "2"],
    "k_means": ["k_means", "--tasks", "2"],
}


def planned(name, *options):
    sample, *words = PLANS[name]
    command = [str(FERRY), "plan", str(SAMPLES / f"{sample}.pb"), *words, "--threads", "1", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def of_dot(text):
    """The boxes and arrows of a drawing in graphviz's language."""
    boxes = {(box, tuple(re.sub(r"\\(.)", r"\1", line) for line in label.split("\\n")), fill) for box, label, fill in
             re.findall(r'^ +(\w+) \[label="((?:[^"\\]|\\.)*)",.*fillcolor="(#\w+)"\];$', text, re.M)}
    return boxes | {f"{a}->{b}" for a, b in re.findall(r"^ +(\w+) -> (\w+)", text, re.M)}


def of_svg(text):
    """The boxes and arrows of the picture that graphviz made of a drawing."""
    svg = "{http://www.w3.org/2000/svg}"
    found = set()
    for group in xml.fromstring(text).iter(f"{svg}g"):
        title = group.findtext(f"{svg}title")
        if group.get("class") == "edge":
            found.add(title)
        elif group.get("class") == "node":
            fills = [shape.get("fill") for shape in group.iter() if (shape.get("fill") or "none") != "none"]
            found.add((title, tuple(line.text for line in group.iter(f"{svg}text")), fills[0]))
    return found


def main():
    failed = 0
    for name in PLANS:
        picture = (ROOT / "docs" / "images" if name == IN_README else PICTURES) / f"{name}.svg"
        if "--update" in sys.argv:
            planned(name, "--svg", picture)
        wanted, shown = of_dot(planned(name, "--dot")), of_svg(picture.read_text()) if picture.exists() else set()
        if wanted and wanted == shown:
            continue
        failed += 1
        print(f"FAILED {picture} is out of date; pictures_test.py --update draws it anew. Differences:")
        print("\n".join(f"  {item}" for item in sorted(map(str, wanted ^ shown))[:12]))
    text = (ROOT / "docs" / "guide" / "parallel_strategies.md").read_text()
    for name in sorted({picture.stem for picture in PICTURES.glob("*.svg")} ^ set(re.findall(r"\(\.\./images/layouts/(\w+)\.svg\)", text))):
        failed += 1
        print(f"FAILED layouts/{name}.svg is shown in docs/guide/parallel_strategies.md and not there, or the other way round")
    print(f"{len(PLANS) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
