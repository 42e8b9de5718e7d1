"""Tries each option of `ferry run` on each entry of samples; those that must not change the results must give the same bits.

usage: options_test.py FERRY SAMPLES_FOLDER DATA_FOLDER [all]
With `all` it tries each option on every sample, and every pair of options on the samples in QUICK; otherwise each option on the
samples in QUICK. A new option must be entered in OPTIONS or ELSEWHERE. The last line is "N passed, N failed, N skipped".
"""

import itertools
import json
import re
import sys

from samples_test import SAMPLES, check_stats, data_of, fed, jobs_of, run, run_all

ALL = "all" in sys.argv[4:]
QUICK = ("add", "jacobi", "tensor_parallel", "zero")  # less than a second each
TASKS = {"add": 3, "jacobi": 3, "pipeline": 4}  # the tasks that they are made for; others run on 2
STEPS = 2


class Entry:
    """An entry of a sample, and where its runs leave their files."""

    def __init__(self, sample, name, folder, entries):
        self.name, self.folder, self.entries = name, folder, entries
        self.file, self.tasks = SAMPLES / f"{sample}.pb", TASKS.get(sample, 2)
        self.jobs = jobs_of(sample, self.tasks)
        steps = 1 if sample == "async_server" else STEPS  # later ones have the bits of the order in which workers are ready
        self.words = ["--entry", name, "--data", data_of(sample), "--steps", steps]
        self.words += fed(folder, self.file, "--tasks", self.tasks, *self.jobs, *self.words)
        self.fetches = self.run("plain")
        self.variables = "init" in entries

    def run(self, where, *options):
        """Runs the entry with these options; returns the bytes of each fetch's file, by name."""
        words = [] if "--invariant" in str(options) else ["--tasks", self.tasks]
        threads = [] if "--threads" in options else ["--threads", 1]
        jobs = [] if "--jobs" in options else self.jobs
        out = self.folder / where / "out"
        run("run", self.file, *self.words, *words, *threads, *jobs, "--out", out, *options)
        return {file.name: file.read_bytes() for file in out.glob("*.npy")}

    def model(self):
        """A saved model of the sample, made by its entry `init`."""
        folder = self.folder / "model"
        if not folder.exists():
            run("run", self.file, *self.words[2:4], "--entry", "init", "--tasks", self.tasks, "--threads", 1, *self.jobs, "--save", folder)
        return folder


class Option:
    """words(entry, folder): the words of the command line. same: the results must be those of a run without it. fits(entry):
    whether the entry can have it. check(folder): checks what it wrote."""

    def __init__(self, words, same=True, fits=lambda entry: True, check=lambda folder: None):
        self.words, self.same, self.fits, self.check = words, same, fits, check


def written(path, form):
    def check(folder):
        form((folder / path))
    return check


def not_written(path):
    def check(folder):
        assert not (folder / path).exists(), path
    return check


def is_plan(path):
    devices = ["--device", "sim"] if "queues" in run("plan", path, "--json") else []
    assert "PASS" in run("check", path, *devices)


def has_steps(path):
    steps = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["step"] for line in steps] == list(range(1, len(steps) + 1)) and steps, steps


def has_events(folder):
    """Walks the records of each file; tests/runner/tensorboard_test.py reads them as TensorBoard does."""
    files = list((folder / "board").glob("*/events.out.tfevents.*"))
    assert files
    for file in files:
        content, at, records = file.read_bytes(), 0, 0
        while at < len(content):
            at, records = at + 16 + int.from_bytes(content[at:at + 8], "little"), records + 1
        assert at == len(content) and records > 2, (file, at, records)


def has_lines(path):
    path.write_text("# places nothing\n")
    return path


def has_usual_costs(path):
    path.write_text('host { name: "h" }\ncompute { product_flop_ps: 10 }\n')
    return path


OPTIONS = {
    "--cluster": Option(lambda e, f: ["--cluster", has_usual_costs(f / "costs.pbtxt")]),
    "--check-numerics": Option(lambda e, f: ["--check-numerics"]),
    "--no-compile": Option(lambda e, f: ["--no-compile"]),
    "--check-replicas": Option(lambda e, f: ["--check-replicas", 1]),
    "--place": Option(lambda e, f: ["--place", "auto"], same=False),
    "--place annotated": Option(lambda e, f: ["--place", "annotated"]),
    "--print-annotations": Option(lambda e, f: ["--place", "auto", "--print-annotations"], same=False),
    "--no-equal": Option(lambda e, f: ["--place", "auto", "--no-equal"], same=False),
    "--sync-gpu": Option(lambda e, f: ["--sync-gpu"]),
    "--threads": Option(lambda e, f: ["--threads", 2]),
    "--threads 3": Option(lambda e, f: ["--threads", 3]),
    "--trace": Option(lambda e, f: ["--trace", f / "trace.json"], check=written("trace.json", lambda p: json.loads(p.read_text()))),
    "--flight-recorder": Option(lambda e, f: ["--flight-recorder", f / "last.json"], check=not_written("last.json")),
    "--stats": Option(lambda e, f: ["--stats", f / "stats.json"], check=written("stats.json", check_stats)),
    "--report": Option(lambda e, f: ["--report", f / "run.html"], check=written("run.html", lambda p: p.read_text().index('class="run"'))),
    "--metrics": Option(lambda e, f: ["--metrics", f / "metrics.jsonl"], check=written("metrics.jsonl", has_steps)),
    "--tensorboard": Option(lambda e, f: ["--tensorboard", f / "board"], fits=lambda e: e.name == "train", check=has_events),
    "--print-every": Option(lambda e, f: ["--print-every", 1]),
    "--deadline": Option(lambda e, f: ["--deadline", 30]),
    "--invariant": Option(lambda e, f: [f"--invariant={e.tasks}", "--tasks", 1], same=False),
    "--tune": Option(lambda e, f: ["--tune"]),
    "--save": Option(lambda e, f: ["--save", f / "saved"], fits=lambda e: e.variables),
    "--save-plan": Option(lambda e, f: ["--save-plan", f / "run.plan"], check=written("run.plan", is_plan)),
    "--model": Option(lambda e, f: ["--model", e.model()], fits=lambda e: e.variables and e.name != "init"),
    "--seed": Option(lambda e, f: ["--seed", 7], same=False),
    "--checkpoint": Option(lambda e, f: ["--checkpoint", f / "checkpoints"], fits=lambda e: e.variables),
    "--checkpoint-every": Option(lambda e, f: ["--checkpoint", f / "every", "--checkpoint-every", 1, "--checkpoint-keep", 1],
                                 fits=lambda e: e.variables),
    "--resume": Option(lambda e, f: ["--checkpoint", f / "resumed", "--resume"], fits=lambda e: e.variables),
    "--eval-every": Option(lambda e, f: ["--eval-every", 1], fits=lambda e: e.name == "train" and "eval" in e.entries, same=False),
    "--fetch-to": Option(lambda e, f: ["--fetch-to", 1]),
    "--device": Option(lambda e, f: ["--device", "cpu"]),
    "--device sim": Option(lambda e, f: ["--device", "sim"]),
    "--device sim:7": Option(lambda e, f: ["--device", "sim:7"]),
    "--devices": Option(lambda e, f: ["--devices", has_lines(f / "rules.txt")]),
    "--soft-placement": Option(lambda e, f: ["--soft-placement"]),
    "--balance": Option(lambda e, f: ["--balance"], fits=lambda e: e.file.stem == "pipeline"),
    "--budget": Option(lambda e, f: ["--budget", "bytes=1GB,messages=1000000,memory=8GB"]),
    "--memory": Option(lambda e, f: ["--memory", "64GB"]),
    "--gpu-memory": Option(lambda e, f: ["--gpu-memory", "64GB"]),
    "--transport": Option(lambda e, f: ["--transport", "inproc"]),
    "--jobs": Option(lambda e, f: ["--jobs", f"worker=0-{e.tasks - 1}"], fits=lambda e: not e.jobs),
}
# Options that all runs here have, that are part of another option above, or that have tests of their own.
ELSEWHERE = {"--help", "--entry", "--tasks", "--steps", "--out", "--data", "--checkpoint-keep",
             "--fetch", "--feed", "--feed-part", "--dim", "--epochs", "--ops", "--interface", "--record-turns", "--replay-turns",
             "--graph"}
APART = ({"--place", "--no-equal"}, {"--place", "--print-annotations"}, {"--no-equal", "--print-annotations"}, {"--place annotated", "--place"},
         {"--place annotated", "--no-equal"}, {"--place annotated", "--print-annotations"}, {"--invariant", "--jobs"}, {"--invariant", "--fetch-to"}, {"--threads", "--threads 3"}, {"--checkpoint", "--checkpoint-every"},
         {"--device", "--device sim"}, {"--device", "--device sim:7"}, {"--device sim", "--device sim:7"}, {"--checkpoint", "--resume"}, {"--checkpoint-every", "--resume"}, {"--model", "--resume"})


def entries_of(sample):
    return re.findall(r"^entry (\w+):", run("show", SAMPLES / f"{sample}.pb"), re.M)


def tried(entry, names):
    folder = entry.folder / "+".join(names).replace(" ", "")
    folder.mkdir()
    options = [OPTIONS[name] for name in names]
    words = [word for option in options for word in option.words(entry, folder)]
    try:
        fetches = entry.run(folder.name, *words)
        for option in options:
            option.check(folder)
    except Exception as error:
        raise AssertionError(f"--entry {entry.name} {' '.join(map(str, words))}: {error}") from error
    same = all(option.same for option in options)
    assert not same or fetches == entry.fetches, f"--entry {entry.name} {' '.join(map(str, words))} changes what is fetched"


def together(one, other):
    return {one, other} not in APART


def crossed(sample, folder):
    entries = entries_of(sample)
    for name in entries:
        entry = Entry(sample, name, folder / name, entries)
        fitting = [option for option in OPTIONS if OPTIONS[option].fits(entry)]
        for option in fitting:
            tried(entry, [option])
        if ALL and sample in QUICK:
            for pair in itertools.combinations(fitting, 2):
                if together(*pair):
                    tried(entry, pair)


def every_option_is_tried(folder):
    shown = set(re.findall(r"(--[a-z-]+)", " ".join(re.findall(r"^  (?:-h, )?--\S+", run("run", "--help"), re.M))))
    tried_here = {name.split()[0] for name in OPTIONS} | ELSEWHERE
    assert shown == tried_here, f"not tried: {shown - tried_here}; no options: {tried_here - shown}"


def cases():
    yield "every option is tried", every_option_is_tried
    for file in sorted(SAMPLES.glob("*.pb")):
        if ALL or file.stem in QUICK:
            there = data_of(file.stem).exists()
            yield file.stem, (lambda folder, sample=file.stem: crossed(sample, folder)) if there else None


if __name__ == "__main__":
    sys.exit(run_all(cases()))
