#!/usr/bin/env python3
"""Makes man pages and completion for shells from the help of ferry and of its commands: make_pages.py VERSION FOLDER FERRY…

FERRY… is the command line that starts ferry: one word, or an emulator and its arguments first.
Writes ferry.1, ferry-COMMAND.1 for each command, ferry.bash and _ferry (for zsh).
"""
import re
import subprocess
import sys
from pathlib import Path

import completion


def helped(ferry, *words):
    return subprocess.run([*ferry, *words, "--help"], check=True, capture_output=True, text=True).stdout


def sections(text):
    """The first line, and {heading: the lines below it}."""
    about, rest = text.split("\n", 1)
    found, heading = {}, None
    for line in rest.splitlines():
        if match := re.match(r"(\w[\w ]*):(?: (\S.*))?$", line):
            heading = match[1]
            found[heading] = [match[2]] if match[2] else []
        elif heading and line.strip():
            found[heading].append(line)
    return about, found


def entries(lines):
    """[option or command, its text] for each entry of a section; the text is a second column or indented lines below."""
    result = []
    for line in lines:
        if line.startswith("   "):
            result[-1][1] = (result[-1][1] + " " + line.strip()).strip()
        else:
            what, _, text = line.strip().partition("  ")
            result.append([what, text.strip()])
    return result


def roff(text):
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("…", "...")
    return "\\&" + text if text.startswith((".", "'")) else text


def man_page(name, about, found, others):
    lines = [f'.TH {name.upper()} 1 "" "ferry {VERSION}" "ferry"', ".SH NAME", f"{roff(name)} \\- {roff(about.rstrip('.'))}",
             ".SH SYNOPSIS", ".nf", *(roff(line.strip()) for line in found["Usage"]), ".fi"]
    for heading in found:
        if heading in ("Usage", "Examples", "Exit codes"):
            continue
        lines.append(f".SH {'COMMANDS' if heading == 'Subcommands' else heading.upper()}")
        for what, text in entries(found[heading]):
            lines += [".TP", f"\\fB{roff(what)}\\fR", roff(text)]
    if "Examples" in found:
        lines += [".SH EXAMPLES", ".nf", *(roff(line.strip()) for line in found["Examples"]), ".fi"]
    if "Exit codes" in found:
        lines.append(".SH EXIT STATUS")
        for line in found["Exit codes"]:
            code, text = line.split(maxsplit=1)
            lines += [".TP", code, roff(text)]
    if others:
        lines += [".SH SEE ALSO", ", ".join(f"\\fB{roff(other)}\\fR(1)" for other in others)]
    return "\n".join(lines) + "\n"


def command_of(name, about, found):
    """The options and positionals of a command, for its completion."""
    groups = [lines for heading, lines in found.items() if heading not in ("Usage", "Positionals", "Subcommands", "Examples", "Exit codes")]
    options = []
    for what, text in (entry for lines in groups for entry in entries(lines)):
        short, option, value = re.match(r"(?:(-\w), )?(--[a-z][a-z-]*)\s?(\S*)", what).groups()
        options.append(completion.Option(option, short or "", text, completion.value_of(option, value, text) if value and not value.startswith("[") else None))
    return completion.Command(about, options, [completion.positional_of(name, what, text) for what, text in entries(found.get("Positionals", []))])


def main(ferry, folder):
    about, found = sections(helped(ferry))
    names = [what for what, _ in entries(found["Subcommands"])]
    pages = {name: sections(helped(ferry, name)) for name in names}
    folder.mkdir(parents=True, exist_ok=True)
    whole = [f"ferry-{name}" for name in names]
    (folder / "ferry.1").write_text(man_page("ferry", about, found, whole))
    for name, (text, parts) in pages.items():
        parts["Exit codes"] = found["Exit codes"]
        (folder / f"ferry-{name}.1").write_text(man_page(f"ferry-{name}", text, parts, ["ferry"]))
    commands = {name: command_of(name, text, parts) for name, (text, parts) in pages.items()}
    (folder / "ferry.bash").write_text(completion.bash(commands))
    (folder / "_ferry").write_text(completion.zsh(commands))


VERSION = sys.argv[1]
main(sys.argv[3:], Path(sys.argv[2]))
