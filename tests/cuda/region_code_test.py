"""The kernels that are generated for the tile regions of every sample on GPUs: NVRTC compiles them, without a GPU, to code that keeps
all values in registers and reads and writes 16 bytes at once.

usage: region_code_test.py FERRY SAMPLES_FOLDER DATA_FOLDER REGION_TEXTS [COMPILE_TEXTS]
FERRY: one that has kernels for GPUs. COMPILE_TEXTS is left out where there is no CUDA toolkit, and the test is skipped then, and where
NVRTC cannot be loaded. The last line is "N passed, N failed, N skipped".
"""

import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "samples"))
import plans_test
from samples_test import SAMPLES, run

SKIPPED = 77
TASKS = (2,)
# Generated kernels have 256 threads a block, of which an H100 holds 2048 at once with 32 registers, 512 with 128.
MOST_REGISTERS = 128
BYTES = {"bool": 1, "double": 8, "std::int64_t": 8, "std::uint64_t": 8, "Float16": 2, "BFloat16": 2, "std::int16_t": 2, "std::uint16_t": 2,
         "std::int8_t": 1, "std::uint8_t": 1}  # others: 4


def plans_of(name, folder):
    graph, file = SAMPLES / f"{name}.pb", folder / "cluster.pbtxt"
    for tasks in TASKS:
        file.write_text(plans_test.cluster(name, tasks))
        for entry in re.findall(r"^entry (\w+):", run("show", graph), re.M):
            plan = folder / f"{name}-{entry}-{tasks}.plan"
            if plans_test.made("plan", graph, "--entry", entry, "--cluster", file, "--save", plan).returncode == 0:
                yield plan


def look_at(text, said):
    """What is wrong with a kernel, by what compile_texts says."""
    group = int(re.search(r"kGroup = (\d+)", text)[1])
    reads, writes = map(int, re.search(r"(\d+) reads, (\d+) writes", said).groups())
    if "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" not in said:
        yield "values are not in registers"
    if int(re.search(r"Used (\d+) registers", said)[1]) > MOST_REGISTERS:
        yield "it uses too many registers"
    for function, count in (("read_each", reads), ("write_each", writes)):
        groups = [group * BYTES.get(dtype, 4) for dtype in re.findall(function + r"<kGroup, ([\w:]+)>", text)]
        if 16 in groups and count == 0:
            yield f"{function} is not of 16 bytes at once"


def main(region_texts, compile_texts=None):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        plans = [plan for sample in sorted(SAMPLES.glob("*.pb")) for plan in plans_of(sample.stem, folder)]
        print(subprocess.run([region_texts, folder, *plans], check=True, capture_output=True, text=True).stdout, end="")
        texts = sorted(folder.glob("*.cu"))
        assert texts, "no plan has a region on a GPU"
        if compile_texts is None:
            print("there is no CUDA toolkit\n0 passed, 0 failed, 1 skipped")
            return SKIPPED
        done = subprocess.run([compile_texts, *texts], capture_output=True, text=True)
        if done.returncode == SKIPPED:
            print(f"there is no NVRTC: {done.stdout}0 passed, 0 failed, 1 skipped")
            return SKIPPED
        assert done.returncode == 0, done.stderr
        failed = 0
        for path, said in zip(texts, done.stdout.split("== ")[1:]):
            text = path.read_text()
            if wrong := list(look_at(text, said)):
                print(f"{', '.join(wrong)}: {said}\n{text}")
                failed += 1
        print(f"{len(texts) - failed} passed, {failed} failed, 0 skipped")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[4:]))
