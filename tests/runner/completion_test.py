#!/usr/bin/env python3
"""Completion of ferry's command line in bash and zsh, as a user presses the tab key: completion_test.py FERRY ADD_PB

Options and words of the help, entries, inputs, fetches and ops of the graph on the command line, benchmarks, and files by
kind. Without zsh, its script is only compared with the help.
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))
import cases

FERRY, ADD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
GOLDEN = ROOT / "tests" / "runner" / "golden"
FILES = ["x.npy", "y.npy", "model.onnx", "old.plan", "rules.txt", "mine.so", "cluster.pbtxt", "page.html", "photo.png"]


class Shell:
    """A folder with files of all kinds, and the completion scripts."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        subprocess.run([sys.executable, ROOT / "scripts" / "make_pages.py", "0", folder, FERRY], check=True)
        self.work = self.folder / "work"
        self.work.mkdir()
        for name in FILES:
            (self.work / name).write_text("")
        shutil.copy(ADD, self.work / "add.pb")
        shutil.copy(GOLDEN / "data_parallel.pbtxt", self.work / "g.pbtxt")
        (self.work / "folder").mkdir()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "ferry").symlink_to(FERRY)

    def completed(self, line):
        """What bash offers for the last word of a line. Bash makes words of their own of each "="."""
        words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
        script = (f'. {self.folder}/ferry.bash; compopt() {{ :; }}; COMP_WORDS=({" ".join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; '
                  '_ferry; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=self.work, check=True,
                              env={"PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder)})
        assert done.stderr == "", done.stderr
        return sorted(filter(None, done.stdout.splitlines()))


def equal(got, wanted):
    assert got == sorted(wanted), (got, wanted)


def words_of_the_help(shell):
    equal(shell.completed("ferry pl"), ["plan"])
    equal(shell.completed("ferry help qu"), ["quote"])
    equal(shell.completed("ferry run add.pb --chec"), ["--check-numerics", "--check-replicas", "--checkpoint", "--checkpoint-every", "--checkpoint-keep"])
    for line in "ferry run --device ", "ferry run add.pb --device=", "ferry run --tasks 3 --device ":
        equal(shell.completed(line), ["auto", "cpu", "gpu", "sim"])
    assert "reshard" in shell.completed("ferry plan add.pb --dump-after ")


def names_of_the_graph(shell):
    equal(shell.completed("ferry run add.pb --entry "), ["run"])
    equal(shell.completed("ferry explain g.pbtxt s"), ["scores"])
    equal(shell.completed("ferry explain g.pbtxt --tasks 2 --feed x=x.npy w"), ["weights"])
    equal(shell.completed("ferry run g.pbtxt --fetch lo"), ["loss"])
    equal(shell.completed("ferry run g.pbtxt --fetch loss,lo"), ["loss,loss"])
    equal(shell.completed("ferry run g.pbtxt --feed "), ["x="])
    equal(shell.completed("ferry run --entry "), [])


def files_by_kind(shell):
    equal(shell.completed("ferry run "), ["add.pb", "cluster.pbtxt", "folder", "g.pbtxt", "model.onnx", "old.plan"])
    equal(shell.completed("ferry run g.pbtxt --feed x="), ["folder", "x.npy", "y.npy"])
    equal(shell.completed("ferry run g.pbtxt --feed x=x"), ["x.npy"])
    equal(shell.completed("ferry run add.pb --devices "), ["folder", "rules.txt"])
    equal(shell.completed("ferry run add.pb --ops m"), ["mine.so"])
    equal(shell.completed("ferry plan add.pb --diff "), ["folder", "old.plan"])
    equal(shell.completed("ferry import "), ["folder", "model.onnx"])
    equal(shell.completed("ferry run add.pb --out "), ["folder"])


def benchmarks(shell):
    equal(shell.completed("ferry bench handov"), ["handover.16MB"])
    equal(shell.completed("ferry bench start handov"), ["handover.16MB"])


def names_are_not_run(shell):
    """A graph may come from anywhere: bash must not expand its names."""
    text = (GOLDEN / "data_parallel.pbtxt").read_text().replace('"scores"', '"s$(touch ran)"')
    (shell.work / "evil.pbtxt").write_text(text)
    equal(shell.completed("ferry explain evil.pbtxt s"), ["s\\$\\(touch\\ ran\\)"])
    assert not (shell.work / "ran").exists()


def zsh_has_all_options(shell):
    script = (shell.folder / "_ferry").read_text()
    commands = re.findall(r"^  ([a-z]+) ", subprocess.run([FERRY, "--help"], capture_output=True, text=True, check=True).stdout
                          .partition("Subcommands:")[2].partition("Examples:")[0], re.M)
    parts = dict(re.findall(r"^        ([a-z]+)\)\n(.*?);;", script, re.M | re.S))
    for name in commands:
        options = set(re.findall(r"^  (?:-[a-z], )?(--[a-z-]+)", subprocess.run([FERRY, name, "--help"], capture_output=True, text=True).stdout, re.M))
        equal(sorted(set(re.findall(r"^            '\*?(--[a-z-]+)[=\[]", parts[name], re.M))), options)
    assert "_ferry_names entries" in parts["run"] and "_ferry_benches" in parts["bench"] and '*.so' in parts["run"]
    for line in script.splitlines():
        assert len(re.sub(r"'\\''", "", line).replace("\\'", "").split("'")) % 2 == 1, line  # quotes are closed
    if shutil.which("zsh"):
        subprocess.run(["zsh", "-n", shell.folder / "_ferry"], check=True)


def in_shell(case):
    def run():
        with tempfile.TemporaryDirectory(prefix="ferry-completion-") as folder:
            case(Shell(folder))
    return run


CASES = [words_of_the_help, names_of_the_graph, files_by_kind, benchmarks, names_are_not_run, zsh_has_all_options]
sys.exit(cases.run([(case.__name__.replace("_", " "), in_shell(case)) for case in CASES], []))
