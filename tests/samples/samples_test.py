"""Runs the samples as a user would: their graph files through the ferry command, in-process and under mpirun.

usage: samples_test.py FERRY SAMPLES_FOLDER DATA_FOLDER
The last line is "N passed, N failed, N skipped".
"""

import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from npy import write_npy

FERRY, SAMPLES, DATA = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
MPIRUN = shutil.which("mpirun")
TEXTS = pathlib.Path("/usr/share/common-licenses")
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
SAMPLES_SOURCE = DATA.parent
FILES = {"fashion": FASHION, "async server": FASHION, "charlm": TEXTS / "GPL-3", "pipeline": TEXTS / "GPL-3"}  # needed by cases with that word in their names

# For a sample, or the entries of one that begin with a word: the numbers of tasks that it is made for, and what the error says on others.
REFUSED = {
    "add": (lambda tasks: tasks > 2, "is not there"),  # task 2 adds
    "async_server": (lambda tasks: tasks > 1, "is not there"),
    "charlm": (lambda tasks: tasks % 2 == 0, "does not fit"),  # meshes of two columns or rows
    "data_tensor": (lambda tasks: tasks % 2 == 0, "does not fit"),
    "heat": (lambda tasks: tasks % 2 == 0, "does not fit"),
    "matrix_product": (lambda tasks: tasks % 2 == 0, "does not fit"),
    "parameter_server": (lambda tasks: tasks > 1, "is not there"),
    "pipeline two": (lambda tasks: tasks > 1, "is not there"),
    "pipeline four": (lambda tasks: tasks > 3, "is not there"),
    "pipeline init": (lambda tasks: tasks > 3, "is not there"),
}


SERVED = {"async_server", "parameter_server"}  # samples with servers


def refusal(sample, entry, tasks):
    """What the error says of a run of the entry on so many tasks; None: the sample is made for them."""
    of_entry = f"{sample} {entry.split('_')[0]}"
    fits, reason = REFUSED.get(of_entry, REFUSED.get(sample, (lambda tasks: True, None)))
    return None if fits(tasks) else reason


def data_of(sample):
    """The folder of its data."""
    return {"async_server": FASHION, "fashion": FASHION, "fashion_cnn": FASHION, "charlm": TEXTS, "pipeline": TEXTS}.get(sample, DATA)


def jobs_of(sample, tasks):
    """Options that name the jobs of a run on so many tasks."""
    workers = f",worker=1-{tasks - 1}" if tasks > 1 else ""
    return ["--jobs", f"ps=0{workers}"] if sample in SERVED else []


ADOPTED = """\
ferry: sum of squares 328350
MPI: 11 of 11 own messages as they were sent, on every rank
"""


def run(*arguments, ranks=0, code=0, program=FERRY):
    """Output of `ferry …`, under mpirun when `ranks` are given; the exit code must be `code`."""
    command = [str(program), *map(str, arguments)]
    if ranks:
        command = [MPIRUN, "--oversubscribe", "-np", str(ranks), *command]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == code, f"{' '.join(command)} ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def fed(folder, *words):
    """Options that feed `ferry run WORDS…` zeros for the inputs that it needs; sizes that are open are 8."""
    folder.mkdir(parents=True, exist_ok=True)
    show = subprocess.run([FERRY, "show", words[0]], capture_output=True, text=True, check=True).stdout
    inputs = {name: (dtype, sizes) for name, dtype, sizes in re.findall(r"^(\S+) = Input\(.* : (\w+)\[(.*?)\]", show, re.M)}
    options = []
    for _ in inputs:
        done = subprocess.run([str(FERRY), "run", *map(str, words), *options], env=ENVIRONMENT, capture_output=True, text=True)
        needed = re.search(r"the input '(\S+)' is needed and not fed", done.stderr)
        if not needed:
            break
        dtype, sizes = inputs[needed[1]]
        descr = {"bool": "|b1", "int8": "|i1", "uint8": "|u1"}.get(dtype) or f"<{dtype[0]}{int(dtype.lstrip('uintfloat')) // 8}"
        shape = tuple(int(size) if size.isdigit() else 8 for size in sizes.split(","))
        file = folder / f"{needed[1]}.npy"
        write_npy(file, descr, shape, bytes(math.prod(shape) * int(descr[2:])))
        options += ["--feed", f"{needed[1]}={file}"]
    return options


def value(output, name):
    """The number after "name = "."""
    return float(re.search(rf"^{name} = (\S+)", output, re.M).group(1))


def check_stats(path):
    for task in json.loads(path.read_text())["tasks"]:
        planned = task["planned"]
        for field in ("sent_messages", "sent_bytes", "received_messages", "received_bytes", "copies", "collective_bytes"):
            assert task[field] == planned[field], f"task {task['task']}: {field} {task[field]}, planned {planned[field]}"
        assert task["peak_bytes"] <= planned["peak_bytes"], f"task {task['task']}: peak_bytes"
        for device in task["devices"]:
            given, said = device["planned"], f"task {task['task']}, {device['device']}"
            for field in given.keys() - {"replays", "peak_bytes"}:
                assert device[field] == given[field], f"{said}: {field} {device[field]}, planned {given[field]}"
            for field in ("replays", "peak_bytes"):
                assert device[field] <= given[field], f"{said}: {field} {device[field]}, planned {given[field]}"
        copies = sum(device[f"copies_{way}"] for device in task["devices"] for way in ("in", "out", "within"))
        assert copies <= task["copies"], f"task {task['task']}: {copies} copies of devices"


def weights(folder):
    """A hash of the saved variables."""
    digest = hashlib.sha256()
    for file in sorted(pathlib.Path(folder).rglob("*.safetensors")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def add(folder, ranks):
    tasks = [] if ranks else ["--tasks", 3]
    assert "[11 22 33]" in run("run", SAMPLES / "add.pb", "--stats", folder / "stats.json", *tasks, ranks=ranks)
    check_stats(folder / "stats.json")


def counters_without_fetches(folder):
    graph = folder / "target.pbtxt"
    graph.write_text('version: 1 graph { op { name: "a" op: "Constant" attr { name: "value" tensor { dtype: FLOAT32 '
                     'floats { value: 1 } } } } } entry { name: "run" target: "a" }')
    assert run("run", graph, "--stats", folder / "stats.json") == ""
    check_stats(folder / "stats.json")


def add_in_process(folder):
    add(folder, 0)


def add_over_mpi(folder):
    add(folder, 3)


def add_on_too_few_tasks(folder):
    assert "'/task:2' is not there" in run("run", SAMPLES / "add.pb", "--tasks", 2, code=4)


def hello(tasks):
    return "".join(f"hello from task {task} of {tasks} on {socket.gethostname()}\n" for task in range(tasks))


def hello_ranks_in_process(folder):
    for tasks in (1, 2, 5):
        output = run("--tasks", tasks, program=SAMPLES / "hello_ranks")
        assert output == hello(tasks), output


def hello_ranks_over_mpi(folder):
    for ranks in (2, 3):
        output = run(ranks=ranks, program=SAMPLES / "hello_ranks")
        assert output == hello(ranks), output


def adopt_over_mpi(folder):
    for ranks in (1, 3):
        output = run(ranks=ranks, program=SAMPLES / "adopt")
        assert output == ADOPTED, output


def jacobi_equals_one_task(folder):
    assert value(run("run", SAMPLES / "jacobi.pb", "--tasks", 3, "--stats", folder / "stats.json"), "difference") == 0
    check_stats(folder / "stats.json")


def heat_is_the_same_in_any_blocks(folder):
    found = set()
    for tasks in (2, 4, 6):
        found.add(run("run", SAMPLES / "heat.pb", "--tasks", tasks, "--stats", folder / "stats.json"))
        check_stats(folder / "stats.json")
    assert len(found) == 1 and "warmest = 3.04492" in found.pop(), found


def pipeline_has_the_same_bits_by_all_schedules(folder):
    found = {}
    for entry in ("four", "four_gpipe", "four_zero_bubble"):
        run("run", SAMPLES / "pipeline.pb", "--entry", entry, "--tasks", 4, "--data", TEXTS, "--steps", 3, "--save", folder / entry,
            "--stats", folder / "stats.json")
        check_stats(folder / "stats.json")
        found[entry] = weights(folder / entry)
    if MPIRUN:
        run("run", SAMPLES / "pipeline.pb", "--entry", "four", "--data", TEXTS, "--steps", 3, "--save", folder / "mpi", ranks=4)
        found["mpi"] = weights(folder / "mpi")
    assert len(set(found.values())) == 1, sorted(found)


def pipeline_has_the_same_bits_cut_anew(folder):
    def trained(where, *words, ranks=0):
        run("run", SAMPLES / "pipeline.pb", "--entry", "four", "--data", TEXTS, "--steps", 3, "--save", folder / where, *words, ranks=ranks)
        return weights(folder / where)

    found = {tasks: trained(str(tasks), "--tasks", tasks, "--balance") for tasks in (1, 2, 3, 6)}
    found["as annotated"] = trained("annotated", "--tasks", 4)
    if MPIRUN:
        found["mpi"] = trained("mpi", "--balance", ranks=2)
    assert len(set(found.values())) == 1, found
    graph = folder / "graph.pb"
    refused = run("--save-graph", graph, "--balance", program=SAMPLES / "pipeline", code=2)
    assert "--save-graph writes the graph as the program makes it" in refused and not graph.exists(), refused


def pipeline_learns(folder):
    for entry in ("two", "two_in_turn"):
        output = run("run", SAMPLES / "pipeline.pb", "--entry", entry, "--tasks", 2, "--data", TEXTS, "--epochs", 3)
        assert value(output, "loss") < 2.9, output


def async_server(folder, *options, tasks=4, ranks=0, entry="train", steps=40):
    here = [] if ranks else ["--tasks", tasks]
    run("run", SAMPLES / "async_server.pb", "--entry", entry, "--data", FASHION, *jobs_of("async_server", tasks), *here, "--steps", steps,
        "--save", folder, *options, ranks=ranks)
    return weights(folder)


def async_server_repeats_its_turns(folder):
    for name, options in {"threads": ["--threads", 2], "devices": ["--device", "sim"]}.items():
        turns = folder / f"{name}.turns"
        first = async_server(folder / name, "--record-turns", turns, *options)
        assert first == async_server(folder / f"{name} again", "--replay-turns", turns), f"another run has other bits: {name}"
        if MPIRUN:
            assert first == async_server(folder / f"{name} over mpi", "--replay-turns", turns, ranks=4), f"other bits over MPI: {name}"


def async_server_repeats_over_mpi(folder):
    turns = folder / "turns"
    first = async_server(folder / "first", "--record-turns", turns, "--checkpoint", folder / "saved", "--checkpoint-every", 15, ranks=4)
    assert first == async_server(folder / "again", "--replay-turns", turns), "another run has other bits"


def async_server_goes_on_with_other_workers(folder):
    options = ["--checkpoint", folder / "saved", "--resume"]
    for tasks, steps in ((4, 30), (2, 50), (3, 80)):
        async_server(folder / "model", *options, tasks=tasks, steps=steps)
    assert (folder / "saved" / "step-0000000080").is_dir()


def async_server_learns_as_when_all_wait(folder):
    found = {}
    for entry in ("train", "synchronous"):
        async_server(folder / entry, entry=entry, steps=400)
        output = run("run", SAMPLES / "async_server.pb", "--entry", "eval", "--data", FASHION, *jobs_of("async_server", 4), "--tasks", 4,
                     "--model", folder / entry)
        found[entry] = value(output, "accuracy")
    assert min(found.values()) > 0.75, found


def power_iteration_on_any_number_of_tasks(folder):
    found = {value(run("run", SAMPLES / "power_iteration.pb", "--tasks", n), "eigenvalue") for n in (1, 2, 4)}
    assert max(found) - min(found) < 1e-9 and abs(max(found) - 3.99989108) < 1e-3, found


def train_digits(folder, *options, epochs=2, ranks=0):
    run("run", SAMPLES / "digits.pb", "--data", DATA, "--epochs", epochs, "--save", folder, *options, ranks=ranks)
    return weights(folder)


def digits_has_the_same_bits_on_threads_and_transports(folder):
    one = train_digits(folder / "one", "--tasks", 2, "--threads", 1)
    assert one == train_digits(folder / "two", "--tasks", 2, "--threads", 2), "weights differ on 1 and 2 threads"
    if MPIRUN:
        assert one == train_digits(folder / "mpi", ranks=2), "weights differ in-process and over MPI"


def digits_learns(folder):
    train_digits(folder / "model", "--tasks", 2, epochs=40)
    output = run("run", SAMPLES / "digits.pb", "--data", DATA, "--entry", "eval", "--model", folder / "model")
    assert value(output, "accuracy") >= 0.905, output


def three_lines_over_mpi(folder):
    alone = run(program=SAMPLES / "three_lines")
    assert re.fullmatch(r"step 20: loss 0\.\d+, accuracy 0\.\d+\n(step .*\n){2}", alone), alone
    for ranks in (2, 3):
        output = run(ranks=ranks, program=SAMPLES / "three_lines")
        assert output == alone, output
    assert "direct calls need one process for each task" in run("--tasks", 2, program=SAMPLES / "three_lines", code=2)


def train_fashion_cnn(folder, *options, ranks=0):
    output = run("run", SAMPLES / "fashion_cnn.pb", "--data", FASHION, "--steps", 40, "--print-every", 20, "--save", folder, *options, ranks=ranks)
    lines = re.findall(r"^step (\d+)/40: loss = (\S+) accuracy = (\S+), [\d.,]+ samples/s$", output, re.M)
    assert [int(step) for step, _, _ in lines] == [20, 40], output
    (_, first, _), (_, last, right) = lines
    assert float(last) < 0.8 * float(first) and float(right) > 0.6, output
    return weights(folder)


def fashion_cnn_learns(folder):
    train_fashion_cnn(folder / "model", "--tasks", 2)
    output = run("run", SAMPLES / "fashion_cnn.pb", "--data", FASHION, "--entry", "eval", "--model", folder / "model")
    assert value(output, "accuracy") > 0.5, output


def fashion_cnn_has_the_same_bits_over_mpi(folder):
    assert train_fashion_cnn(folder / "here", "--tasks", 2) == train_fashion_cnn(folder / "there", ranks=2)


def charlm(folder, *options, ranks=0):
    output = run("run", SAMPLES / "charlm.pb", "--data", TEXTS, "--steps", 6, "--print-every", 3, "--save", folder, *options, ranks=ranks)
    first, last = (float(loss) for loss in re.findall(r"^step [36]/6: loss = ([\d.]+), ", output, re.M))
    assert last < 0.9 * first, output
    return last


def charlm_learns_and_writes(folder):
    rows, whole = charlm(folder / "rows", "--tasks", 4), charlm(folder / "model", "--tasks", 2)
    assert abs(rows - whole) < 1e-3, f"losses {rows} on 4 tasks, {whole} on 2"
    run("run", SAMPLES / "charlm.pb", "--entry", "write", "--tasks", 2, "--model", folder / "model", "--out", folder)
    written = (folder / "text.npy").read_bytes()[-300:]
    assert max(written) < 128 and len(set(written)) > 10, written


def charlm_over_mpi(folder):
    assert abs(charlm(folder / "model", ranks=2) - charlm(folder / "here", "--tasks", 2)) == 0


def resnet50(folder, *options, steps=12, ranks=0):
    """The mean losses of the first and the second half of some steps."""
    tasks = [] if ranks else ["--tasks", 2]
    output = run("--size", 32, "--batch", 8, "--steps", steps, "--print-every", steps // 2, "--threads", 1, "--out", folder, *tasks, *options,
                 ranks=ranks, program=SAMPLES / "resnet50")
    losses = re.findall(r"^step \d+/\d+: loss = ([\d.]+) accuracy = [\d.]+ rate = \S+ scale = 65536(?:, [\d.,]+ samples/s)?$", output, re.M)
    assert len(losses) == 2, output
    return [float(loss) for loss in losses]


def resnet50_learns(folder):
    first, last = resnet50(folder)
    assert last < 0.95 * first, f"{first}, then {last}"


def resnet50_has_the_same_bits_over_mpi(folder):
    resnet50(folder / "here", steps=2), resnet50(folder / "there", steps=2, ranks=2)
    assert (folder / "here" / "loss.npy").read_bytes() == (folder / "there" / "loss.npy").read_bytes()


def resnet50_sends_16_bits(folder):
    sent = {}
    for dtype in ("float32", "float16"):
        run("--dtype", dtype, "--save-graph", folder / "graph.pb", program=SAMPLES / "resnet50")
        plan = run("plan", folder / "graph.pb", "--tasks", 2, "--threads", 1)
        sent[dtype] = int(re.search(r"a step sends \d+ messages of (\d+) bytes", plan).group(1))
    assert sent["float32"] > 2 * 4 * 25557032 and sent["float16"] < 0.51 * sent["float32"], sent


def image_shards(*arguments, code=0):
    return run(SAMPLES_SOURCE / "image_shards.py", *arguments, code=code, program=sys.executable)


def resnet50_reads_shards(folder):
    for part, count in (("train", 24), ("test", 16)):
        assert image_shards(folder / "data" / part, "--size", 32, "--synthetic", count, "--shard", 10) == f"{count} images of 32 x 32\n"
    graph = folder / "shards.pb"
    run("--size", 32, "--batch", 8, "--data", folder / "data", "--save-graph", graph, program=SAMPLES / "resnet50")
    data = ["--data", folder / "data", "--tasks", 2, "--threads", 1]
    assert "step 3/3: loss = " in run("run", graph, *data, "--epochs", 1, "--print-every", 3, "--save", folder / "model")
    output = run("run", graph, *data, "--entry", "eval", "--epochs", 1, "--print-every", 2, "--model", folder / "model")
    assert re.search(r"^step 2/2: accuracy = ", output, re.M), output
    output = run("--size", 48, "--batch", 8, *data, program=SAMPLES / "resnet50", code=3)
    assert "train/images/" in output, output


def shards_hold_the_pixels_of_folders(folder):
    for name, pixels in (("b/1", range(18)), ("a/2", range(100, 118))):
        path = folder / "in" / f"{name}.ppm"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"P6\n# 3 wide, of which the middle\n3 2\n255\n" + bytes(pixels))
    image_shards(folder / "out", folder / "in", "--size", 2)
    middle = [0, 3, 9, 12, 1, 4, 10, 13, 2, 5, 11, 14]  # plane by plane, without the third column
    assert list((folder / "out" / "images" / "00000.raw").read_bytes()) == [100 + p for p in middle] + middle
    assert (folder / "out" / "labels" / "00000.raw").read_bytes() == bytes([0, 0, 0, 0, 1, 0, 0, 0])
    (folder / "in" / "a" / "3.ppm").write_bytes(b"P6 3 2 255 short")
    assert "a/3.ppm: 5 bytes of pixels; 3 x 2 has 18" in image_shards(folder / "bad", folder / "in", "--size", 2, code=1)


CASES = [counters_without_fetches, add_in_process, add_over_mpi, add_on_too_few_tasks, hello_ranks_in_process, hello_ranks_over_mpi, adopt_over_mpi,
         jacobi_equals_one_task, heat_is_the_same_in_any_blocks, pipeline_has_the_same_bits_by_all_schedules, pipeline_has_the_same_bits_cut_anew, pipeline_learns,
         async_server_repeats_its_turns,
         async_server_repeats_over_mpi, async_server_goes_on_with_other_workers, async_server_learns_as_when_all_wait, power_iteration_on_any_number_of_tasks, digits_has_the_same_bits_on_threads_and_transports, digits_learns,
         three_lines_over_mpi, fashion_cnn_learns, fashion_cnn_has_the_same_bits_over_mpi,
         charlm_learns_and_writes, charlm_over_mpi, resnet50_learns, resnet50_has_the_same_bits_over_mpi, resnet50_sends_16_bits,
         resnet50_reads_shards, shards_hold_the_pixels_of_folders]


def cases():
    for case in CASES:
        name = case.__name__.replace("_", " ")
        missing = [file for word, file in FILES.items() if word in name and not file.exists()]
        yield name, case if (MPIRUN or not name.endswith("over mpi")) and not missing else None


def run_all(named_cases):
    """Runs cases, pairs (name, function of a folder) with None for a case that cannot run here; returns the exit code."""
    passed = failed = skipped = 0
    for name, case in named_cases:
        if case is None:
            needs = [str(file) for word, file in FILES.items() if word in name]
            print(f"[skip] {name}: needs {' and '.join(['mpirun', *needs])}")
            skipped += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(pathlib.Path(folder))
                passed += 1
            except Exception as error:  # a case that breaks counts as failed, the others go on
                print(f"FAILED {name}: {error}")
                failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run_all(cases()))
