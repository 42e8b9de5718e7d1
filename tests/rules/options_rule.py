#!/usr/bin/env python3
"""Checks that options are not copied from struct to struct: prints each offence and ends with 1 if there is any.

    options_rule.py ROOT

In executor, runner, plan and placement at most two structs each may declare a field `deadline`, `seed` or `clock`. A third
one is a copy: it must embed the struct that declares the field, or refer to it. Members of classes end in "_" and do not
count.
"""
import re
import sys
from pathlib import Path

FOLDERS = ["executor", "runner", "plan", "placement"]
FIELDS = ["deadline", "seed", "clock"]
MOST = 2
# Records of files and wires are exempt: (file, struct, field) and the reason.
EXEMPT = {
    ("executor/state/checkpoint_format.hpp", "Manifest", "seed"): "a record of a checkpoint's file",
}

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'')
TYPE = re.compile(r"\b(?:struct|class|union)\s+(?:\[\[[^\]]*\]\]\s*)?([\w:]+)[^;(){}]*$")
FIELD = re.compile(r"(?:^|[\s*&>,])(" + "|".join(FIELDS) + r")\s*(?:=[^;]*|,[^;]*)?$")


def without_comments(text):
    return TEXT.sub('""', COMMENT.sub("", text))


def fields(text):
    """The fields of FIELDS that the structs of a source text declare, as (struct, field)."""
    found = []
    scopes = []  # the name of the struct of each open brace; None: it opens something else
    start = 0  # of the present declaration
    text = without_comments(text)
    for at, sign in enumerate(text):
        if sign == "{":
            head = text[start:at]
            match = TYPE.search(head)
            name = match[1] if match else None
            field = FIELD.search(head.rstrip()) if scopes and scopes[-1] and name is None else None
            if field:
                found.append((scopes[-1], field[1]))
            scopes.append(name)
            start = at + 1
        elif sign == "}":
            if scopes:
                scopes.pop()
            start = at + 1
        elif sign == ";":
            declaration = text[start:at].strip()
            start = at + 1
            if not scopes or scopes[-1] is None or "(" in declaration.split("=")[0]:
                continue
            match = FIELD.search(declaration)
            if match and not declaration.startswith(("using ", "friend ", "return ")):
                found.append((scopes[-1], match[1]))
    return found


def main(root):
    root = Path(root)
    declared = {field: [] for field in FIELDS}
    unused = set(EXEMPT)
    count = 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".cpp", ".hpp"}:
                continue
            count += 1
            file = path.relative_to(root).as_posix()
            for struct, field in fields(path.read_text(encoding="utf-8")):
                if (file, struct, field) in EXEMPT:
                    unused.discard((file, struct, field))
                else:
                    declared[field].append(f"{file}: {struct}")
    failed = bool(unused) or count == 0
    for field, structs in declared.items():
        if len(structs) > MOST:
            failed = True
            print(f"{len(structs)} structs declare `{field}`, at most {MOST} may:")
            for struct in structs:
                print(f"    {struct}")
    for file, struct, field in sorted(unused):
        print(f"remove it from EXEMPT: {file} has no {struct}::{field}")
    if not failed:
        print(f"{count} files: at most {MOST} structs each declare {', '.join(FIELDS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
