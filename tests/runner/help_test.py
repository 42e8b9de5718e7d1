#!/usr/bin/env python3
"""The help of ferry as users ask for it, and in terminals of several widths: help_test.py FERRY"""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cases

FERRY = str(pathlib.Path(sys.argv[1]).resolve())
ARTEFACTS = ("REQUIRED", "Excludes:", "Needs:", "TEXT", "{", "\n\n\n", "SUBCOMMAND")  # of the library that parses options


def printed(*words, code=0):
    done = subprocess.run([FERRY, *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stderr if code else done.stdout


def in_terminal(columns, *words):
    """What a command prints in a terminal of a width."""
    child, terminal = pty.fork()
    if child == 0:
        sys.stdin.read(1)  # until the terminal has its width
        os.execv(FERRY, [FERRY, *words])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.write(terminal, b"\n")
    text = b""
    while True:
        try:
            text += os.read(terminal, 65536)
        except OSError:  # the command has ended
            break
    os.waitpid(child, 0)
    return text.decode().replace("\r\n", "\n").lstrip("\n")


def commands():
    return re.findall(r"^  ([a-z]+) ", printed("--help").partition("Subcommands:")[2].partition("Examples:")[0], re.M)


def all_ways():
    whole = printed("--help")
    assert "ferry help COMMAND" in whole
    assert printed() == printed("help") == printed("-h") == whole
    assert printed("-v") == printed("--version") and re.fullmatch(r"ferry \d+\.\d+\.\d+\n", printed("-v"))
    for command in commands():
        assert printed("help", command) == printed(command, "--help"), command


def unknown_commands():
    for words in (["rnu"], ["help", "rnu"], ["rnu", "--help"]):
        said = printed(*words, code=2)
        assert said == 'error: unknown command "rnu"\n  try: run?\n', said


def without_artefacts():
    for command in ["", *commands()]:
        text = printed(*filter(None, ["help", command]))
        for artefact in ARTEFACTS:
            assert artefact not in text.replace("{task}", ""), (command, artefact)


def widths():
    """Lines end at the width of the terminal, between 60 and 120 columns; words that are longer stand alone."""
    for columns, most in (60, 60), (80, 80), (200, 120):
        text = in_terminal(columns, "help", "run").partition("Examples:")[0]
        lines = text.splitlines()
        assert all(len(line) <= most or " " not in line.strip() or len(line.split()) <= 3 for line in lines), \
            (columns, [line for line in lines if len(line) > most])
        assert max(map(len, lines)) > most - 15, (columns, max(map(len, lines)))


sys.exit(cases.run([(case.__name__.replace("_", " "), case) for case in (all_ways, unknown_commands, without_artefacts, widths)]))
