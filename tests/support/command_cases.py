"""Cases that run the `ferry` command, which is the program's first argument: graphs as text, what a run must end with and say,
and a main program that runs all functions named case_…."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FERRY = sys.argv[1]
MPIRUN = shutil.which("mpirun")
SECONDS = 60  # limit for a command that hangs; none takes as long otherwise
FOLDER = Path(tempfile.mkdtemp(prefix="ferry-faults-"))


def op(name, kind, inputs=(), device="", attrs=""):
    text = f'op {{ name: "{name}" op: "{kind}" '
    text += "".join(f'input: "{i}" ' for i in inputs) + attrs
    return text + (f' device: "{device}"' if device else "") + f' file: 1 line: {len(name)} }}\n'


def graph(*ops, fetches=()):
    named = "".join(f'fetch {{ name: "{f}" value: "{f}" }} ' for f in fetches)
    return f'version: 1\ngraph {{\n{"".join(ops)}}}\nentry {{ name: "run" {named}}}\nfile: "model.cpp"\n'


def ints(values):
    return ('attr { name: "value" tensor { dtype: INT32 size: %d ints { %s } } }'
            % (len(values), " ".join(f"value: {v}" for v in values)))


def typed(dtype, *sizes):
    dims = " ".join(f"dim {{ size: {s} }}" for s in sizes)
    return f'attr {{ name: "dtype" dtype: {dtype} }} attr {{ name: "shape" shape {{ {dims} }} }}'


def add(a="/task:0", b="/task:1", c="/task:2", third=3):
    return graph(op("a", "Constant", device=a, attrs=ints([1, 2, third])), op("b", "Constant", device=b, attrs=ints([10, 20, 30])),
                 op("c", "Add", ["a", "b"], device=c), fetches=["c"])


FED = graph(op("x", "Input", attrs=typed("FLOAT32", 2, 3)), op("y", "Add", ["x", "x"]), fetches=["y"])


def write(name, content):
    path = FOLDER / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "SLURM_", "NO_COLOR"))}
    return dict(env, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **more)


def run(*words, env=None):
    done = subprocess.run([FERRY, *words], capture_output=True, text=True, timeout=SECONDS, env=environment(**(env or {})))
    return done.returncode, done.stdout, done.stderr


class Failed(Exception):
    pass


def expect(result, code, *parts):
    got, _, errors = result
    if got != code:
        raise Failed(f"exit code {got}, not {code}; it said:\n{errors}")
    for part in parts:
        if part not in errors:
            raise Failed(f"{part!r} is not in:\n{errors}")
    if len(errors.splitlines()) > 45:
        raise Failed(f"more than a screen:\n{errors}")


def refused(code, parts, *words, env=None):
    """Checks that the command fails with this code and these parts in its text, and writes no output."""
    out, stats = FOLDER / "out", FOLDER / "stats.json"
    expect(run("run", *words, "--out", str(out), "--stats", str(stats), env=env), code, *parts)
    if out.exists() or stats.exists():
        raise Failed("a run that failed has written a file")


def two_files(one, other, settings=((), ()), words=()):
    """Runs two tasks by mpirun, each with its own file and environment variables. Gives exit code, stdout, stderr."""
    tasks = [["-np", "1", "env", *setting, FERRY, "run", file, *words] for setting, file in zip(settings, (one, other))]
    done = subprocess.run([MPIRUN, "--oversubscribe", *tasks[0], ":", *tasks[1]],
                          capture_output=True, text=True, timeout=SECONDS, env=environment())
    return done.returncode, done.stdout, done.stderr


def run_cases(functions):
    """`functions`: globals() of the program. A case returns why it was skipped, if it was. Returns the exit code."""
    failed = 0
    for name, case in sorted(functions.items()):
        if not name.startswith("case_"):
            continue
        try:
            skipped = case()
            print(f"[skip] {name[5:]}: {skipped}" if skipped else f"ok {name[5:]}")
        except (Failed, subprocess.TimeoutExpired) as why:
            failed += 1
            print(f"FAILED {name[5:]}: {why}")
    shutil.rmtree(FOLDER)
    return 1 if failed else 0
