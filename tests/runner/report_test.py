"""What --report writes: its data against the run's own numbers, what is refused before the run, two runs side by side, and, where there
is a browser, the page as that shows it.

usage: report_test.py FERRY SAMPLES_FOLDER DATA_FOLDER
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases
from browser import BROWSER, opened, runs_in, shown

FERRY, SAMPLES, DATA = (pathlib.Path(word).resolve() for word in sys.argv[1:4])


def ferry(*words, code=0):
    done = subprocess.run([FERRY, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stderr


def train(*words):
    ferry("run", SAMPLES / "digits.pb", "--entry", "train", "--data", DATA, *words)


def adds_up(run):
    for use in run["time"]:
        parts = [part for name, part in use.items() if name != "waiting"] + [part for _, part in use["waiting"]]
        assert min(parts) > -1e-7 and abs(sum(parts) / run["seconds"] - 1) < 1e-6, (use, run["seconds"])
    assert abs(sum(run["path"]["kinds"].values()) / run["seconds"] - 1) < 1e-6, run["path"]["kinds"]


def agrees(folder, sample, *words, tasks):
    """The report against --stats and --metrics of the same run."""
    page, stats = folder / "run.html", folder / "stats.json"
    ferry("run", SAMPLES / f"{sample}.pb", "--tasks", tasks, *words, "--report", page, "--stats", stats, "--metrics", folder / "metrics.jsonl")
    run, = runs_in(page)
    numbers = json.loads(stats.read_text())
    assert run["stats"] == numbers, run["stats"]
    assert "--report" in run["command"] and run["version"], run["command"]
    assert len(run["time"]) == tasks
    adds_up(run)
    entry = {step[4] for step in run["steps"]} - {""}
    assert len(entry) == 1, entry
    steps = [step for step in run["steps"] if step[4] and step[3] != "setup"]
    assert len(steps) == tasks * numbers["steps"], len(steps)
    for sender, receiver, messages, size, planned, planned_size in run["links"]:
        assert (messages, size) == (planned, planned_size), run["links"]
    for task in numbers["tasks"]:
        number = task["task"]
        sent = [link for link in run["links"] if link[0] == number]
        total = sum(link[2] for link in sent), sum(link[3] for link in sent)
        assert total == (task["sent_messages"] * numbers["steps"], task["sent_bytes"] * numbers["steps"]), (total, task)
        assert sum(step + state for _, step, state in run["memory"][number]) == task["planned"]["peak_bytes"], run["memory"]
    plan, = run["plans"]
    assert {plan["entry"]} == entry and plan["columns"][0][0] == 0, plan["columns"]
    for step in run["step_memory"]:
        assert step["entry"] == plan["entry"] and 0 < max(step["bytes"]) <= step["planned"] <= step["arena"], step
        assert step["times"] == sorted(step["times"]) and step["times"][-1] <= step["duration"], step
    arenas = {device: step for device, step, _ in run["memory"][0]}
    for step in run["step_memory"]:
        assert step["tasks"] != run["step_memory"][0]["tasks"] or step["arena"] == arenas[step["device"]], (step, arenas)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for curve in run["curves"]:
        assert curve["values"] == [line["values"][curve["name"]] for line in lines], curve
    events = sum(len(thread["begin"]) for thread in run["threads"])
    return f"{events} events, {len(run['messages'])} messages"


def one_task(folder):
    return agrees(folder, "digits", "--data", DATA, "--entry", "train", "--steps", 4, tasks=1)


def two_tasks(folder):
    return agrees(folder, "digits", "--data", DATA, "--entry", "train", "--steps", 4, tasks=2)


def four_tasks(folder):
    return agrees(folder, "digits", "--data", DATA, "--entry", "train", "--steps", 4, tasks=4)


def a_loop(folder):
    return agrees(folder, "jacobi", tasks=4)


def on_devices(folder):
    """What queues were given is in their rows, and there alone."""
    said = agrees(folder, "digits", "--data", DATA, "--entry", "train", "--steps", 4, "--device", "sim", tasks=2)
    run, = runs_in(folder / "run.html")
    launching = run["activities"].index("launching")
    for task in range(2):
        rows = [thread for thread in run["threads"] if thread["task"] == task]
        queues = {thread["queue"] for thread in rows if "queue" in thread}
        assert {"gpu:0.compute", "gpu:0.in", "gpu:0.out"} <= queues, queues
        first = rows[0]
        given = sorted(run["strings"][name] for name, kind in zip(first["name"], first["activity"]) if kind == launching)
        done = sorted("launch " + run["strings"][name] for thread in rows if "queue" in thread for name in thread["name"])
        assert given == done, (given, done)
    assert {step["device"] for step in run["step_memory"]} == {"cpu:0", "gpu:0"}, run["step_memory"]
    return said


def evaluated(folder):
    train("--tasks", 2, "--steps", 4, "--eval-every", 2, "--report", folder / "run.html")
    run, = runs_in(folder / "run.html")
    adds_up(run)
    assert {step[4] for step in run["steps"]} == {"", "train", "eval"}, run["steps"]
    assert {plan["entry"] for plan in run["plans"]} == {step["entry"] for step in run["step_memory"]} == {"train", "eval"}
    assert {(curve["entry"], curve["name"]) for curve in run["curves"]} == {("train", "loss"), ("train", "accuracy"), ("eval", "accuracy")}
    planned = [sum(step + state for _, step, state in arenas) for arenas in run["memory"]]
    assert planned == [task["planned"]["peak_bytes"] for task in run["stats"]["tasks"]], planned


def of_a_plan(folder):
    ferry("plan", SAMPLES / "add.pb", "--tasks", 3, "--save", folder / "add.plan")
    ferry("run", folder / "add.plan", "--report", folder / "run.html")
    run, = runs_in(folder / "run.html")
    adds_up(run)
    assert {step[4] for step in run["steps"]} == {"plan"}, run["steps"]


def refused(folder):
    graph = folder / "add.pb"
    shutil.copy(SAMPLES / "add.pb", graph)
    (folder / "link.html").symlink_to(graph)
    (folder / "folder").mkdir()
    for file, code, says in ((folder / "none" / "run.html", 3, "its folder is not there"), (folder / "folder", 3, "this is a folder"),
                             (graph, 2, "which it would overwrite"), (folder / "link.html", 2, "which it would overwrite")):
        said = ferry("run", graph, "--tasks", 3, "--report", file, code=code)
        assert says in said, said
    assert graph.read_bytes() == (SAMPLES / "add.pb").read_bytes()


def not_after_a_failure(folder):
    ferry("run", SAMPLES / "digits.pb", "--entry", "train", "--data", folder, "--tasks", 2, "--report", folder / "run.html", code=3)
    assert not (folder / "run.html").exists()


def compared(folder):
    train("--tasks", 1, "--steps", 3, "--report", folder / "one.html", "--trace", folder / "one.json")
    train("--tasks", 2, "--steps", 3, "--report", folder / "two.html")
    ferry("report", folder / "one.html", folder / "two.html", "--out", folder / "both.html")
    one, two = runs_in(folder / "both.html")
    assert one == runs_in(folder / "one.html")[0] and two == runs_in(folder / "two.html")[0]
    ferry("report", folder / "one.json", "--out", folder / "trace.html")
    run, = runs_in(folder / "trace.html")
    assert run["threads"] == one["threads"] and run["stats"] is None
    for words, says in (((folder / "both.html", "--out", folder / "x.html"), "compares two runs"),
                        ((SAMPLES / "add.pb", "--out", folder / "x.html"), "no trace of ferry")):
        assert says in ferry("report", *words, code=3)
    assert "which it would overwrite" in ferry("report", folder / "one.html", "--out", folder / "one.html", code=2)


def curves(folder):
    """The same picture from what --metrics wrote and from the report; what has no curves is refused."""
    page, metrics = folder / "run.html", folder / "run.jsonl"
    train("--steps", 5, "--eval-every", 2, "--report", page, "--metrics", metrics)
    for file in (page, metrics):
        ferry("report", file, "--out", folder / f"{file.suffix[1:]}.svg")
    picture = (folder / "html.svg").read_text()
    assert picture == (folder / "jsonl.svg").read_text()
    for title in ("train: loss", "train: accuracy", "eval: accuracy"):
        assert f">{title}</text>" in picture, picture
    (folder / "empty.jsonl").write_text("")
    for words, says, code in (([metrics] * 3 + ["--out", page.with_name("x.html")], "--out FILE.svg draws the curves of up to 8 runs", 2),
                              ([SAMPLES / "add.pb", "--out", folder / "x.svg"], "this is no line of --metrics", 3),
                              ([folder / "empty.jsonl", "--out", folder / "x.svg"], "there are no values to draw", 3)):
        assert says in ferry("report", *words, code=code), words


def in_a_browser(folder):
    train("--tasks", 2, "--steps", 3, "--report", folder / "run.html")
    opened(folder / "run.html")
    ferry("report", folder / "run.html", folder / "run.html", "--out", folder / "both.html")
    text = shown(folder / "both.html")
    assert "<h2>Side by side</h2>" in text and text.count("<canvas") == 2


PRESS = """
const {dataset} = document.body, boxes = () => document.querySelectorAll(".plan .box").length;
dataset.folded = boxes();
const fold = document.querySelector(".plan .opens"), number = fold.dataset.fold;
fold.focus();
const press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
press("Enter");
dataset.opened = boxes();
dataset.focused = document.activeElement.dataset.fold === number && document.activeElement.getAttribute("aria-expanded");
press(" ");
dataset.again = boxes();
[...document.querySelectorAll(".tools button")].find(({textContent}) => textContent === "open all").click();
dataset.all = boxes();
"""


def a_fold_opens(folder):
    """A plan begins with a box for each fold; keys and buttons open them."""
    train("--tasks", 2, "--steps", 2, "--report", folder / "run.html")
    run, = runs_in(folder / "run.html")
    plan, = run["plans"]
    text = shown(folder / "run.html", PRESS)
    said = dict(re.findall(r'data-(folded|opened|focused|again|all)="(\w+)"', text))
    assert int(said["folded"]) == int(said["again"]) == len(plan["folds"]) < int(said["opened"]) < int(said["all"]) == len(plan["boxes"]), said
    assert said["focused"] == "true", said


OPENED = """
document.body.dataset.first = document.querySelectorAll("h2")[1].textContent;
document.body.dataset.lanes = document.querySelector("canvas").getAttribute("aria-label");
"""


def opens_on_a_step(folder):
    """Curves are first, and the timeline opens on one step of median duration. A run longer than its trace has no red numbers."""
    ferry("run", SAMPLES / "digits.pb", "--entry", "train", "--data", DATA, "--tasks", 2, "--steps", 30, "--report", folder / "run.html")
    run, = runs_in(folder / "run.html")
    text = shown(folder / "run.html", OPENED)
    assert 'data-first="Curves"' in text
    (_, steps, _, median, _), = run["step_times"]
    label = re.search(r'data-lanes="(timeline of all tasks, from [^"]*)"', text)[1]
    begin, end = (float(number.replace(",", "")) * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}[unit]
                  for number, unit in re.findall(r"([\d.,]+) (ns|µs|ms|s)\b", label))
    assert steps == 30 and median <= end - begin <= 1.2 * median, (begin, end, median)
    assert 'class="number bad"' not in text
    assert re.search(r"begun 20\d\d-\d\d-\d\d \d\d:\d\d", text), text[:2000]


ELEMENTS = 'document.body.dataset.elements = document.querySelectorAll("*").length;'


def stays_small(folder):
    """Of many events and a plan of thousands of boxes, the page has less than 3 MB, and the browser makes few elements of it."""
    ferry("run", SAMPLES / "charlm.pb", "--data", "/usr/share/common-licenses", "--tasks", 4, "--steps", 30, "--report", folder / "run.html")
    run, = runs_in(folder / "run.html")
    events = sum(len(thread["begin"]) for thread in run["threads"])
    assert events > 30_000 and sum(len(plan["boxes"]) for plan in run["plans"]) > 2000, events
    assert (folder / "run.html").stat().st_size < 3_000_000, (folder / "run.html").stat().st_size
    assert run["shown_seconds"] < run["seconds"]
    elements = int(re.search(r'data-elements="(\d+)"', shown(folder / "run.html", ELEMENTS))[1])
    assert elements < 3000, elements
    return f"{events} events, {elements} elements"


def in_folder(case):
    def run():
        with tempfile.TemporaryDirectory() as name:
            return case(pathlib.Path(name).resolve())
    return run


CASES = [one_task, two_tasks, four_tasks, a_loop, on_devices, evaluated, of_a_plan, refused, not_after_a_failure, compared, curves, *[in_a_browser, a_fold_opens, opens_on_a_step, stays_small] * bool(BROWSER)]
sys.exit(cases.run([(case.__name__.replace("_", " "), in_folder(case)) for case in CASES],
                   [] if BROWSER else [("the report in a browser", "there is no chromium here")]))
