"""Tries every command line option that takes a number with values that it must refuse: number_options_test.py FERRY GRAPH TRAINING_SAMPLE

The options are read from the help texts, so that a new one is tried as well. Each value must be refused with exit code 2 and
a text that names the option and the value, before anything runs.
"""
import re
import subprocess
import sys

FERRY, GRAPH, SAMPLE = sys.argv[1:4]
SECONDS = 60
NUMBERS = r"^  (--[a-z-]+)(?:\[=S\]| (?:N\|Ns|(?:N|TASK|SECONDS|BYTES|U?INT|FLOAT)\b))"
HOSTILE = ["", "x", "-1", "nan", "inf", "1e308", "0x10", "1 2", "3.5.1", "99999999999999999999", "-99999999999999999999", "18446744073709551616"]
# Options that others need beside them.
WITH = {"--checkpoint-every": ["--checkpoint", "c"], "--checkpoint-keep": ["--checkpoint", "c"]}
COMMANDS = [[FERRY, command] for command in ("run", "plan", "check", "explain", "conformance")] + [[SAMPLE]]


def said(words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, done.stdout, done.stderr


def main():
    failures, tried = [], set()
    for command in COMMANDS:
        options = re.findall(NUMBERS, said([*command, "--help"])[1], re.MULTILINE)
        for option in options:
            for value in HOSTILE[1 if option == "--invariant" else 0:]:  # its value may be left out
                file = [] if command == [SAMPLE] else [GRAPH]
                code, out, errors = said([*command, *file, *WITH.get(option, []), f"{option}={value}"])
                tried.add(option)
                if code != 2 or option not in errors or value not in errors or out:
                    failures.append(f"{' '.join(command[-1:])} {option}={value}: exit code {code}: {errors or out}")
    for needed in ("--steps", "--epochs", "--seed", "--memory", "--deadline", "--tasks", "--threads", "--invariant", "--hosts", "--fetch-to",
                   "--checkpoint-every", "--checkpoint-keep", "--eval-every", "--print-every", "--batch"):
        if needed not in tried:
            failures.append(f"{needed} was not tried: {sorted(tried)}")
    print("\n".join(failures) or f"{len(tried)} options refuse what is no number")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
