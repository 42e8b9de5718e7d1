#!/usr/bin/env python3
"""Checks that the pictures of README.md and docs/guide/parallel_strategies.md show the plans that ferry makes.

    pictures_test.py FERRY SAMPLES_FOLDER [--update]

--update draws all pictures again. The last line is "N passed, N failed, N skipped".
"""

import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

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


def drawn(name, picture):
    """The picture as ferry draws it now, which it writes into a file."""
    sample, *words = PLANS[name]
    command = [str(FERRY), "plan", str(SAMPLES / f"{sample}.pb"), *words, "--threads", "1", "--svg", str(picture)]
    subprocess.run(command, check=True)
    return picture.read_text()


def main():
    failed = 0
    for name in PLANS:
        picture = (ROOT / "docs" / "images" if name == IN_README else PICTURES) / f"{name}.svg"
        shown = picture.read_text() if picture.exists() else ""
        with tempfile.TemporaryDirectory() as folder:
            wanted = drawn(name, picture if "--update" in sys.argv else pathlib.Path(folder) / "new.svg")
        if "--update" in sys.argv or wanted == shown:
            continue
        failed += 1
        print(f"FAILED {picture} is out of date; pictures_test.py --update draws it again. Differences:")
        print("\n".join(list(difflib.unified_diff(shown.splitlines(), wanted.splitlines(), lineterm=""))[:20]))
    text = (ROOT / "docs" / "guide" / "parallel_strategies.md").read_text()
    for name in sorted({picture.stem for picture in PICTURES.glob("*.svg")} ^ set(re.findall(r"\(\.\./images/layouts/(\w+)\.svg\)", text))):
        failed += 1
        print(f"FAILED layouts/{name}.svg is shown in docs/guide/parallel_strategies.md and not there, or the other way round")
    print(f"{len(PLANS) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
