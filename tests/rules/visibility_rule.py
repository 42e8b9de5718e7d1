#!/usr/bin/env python3
"""Checks what libferry.so exports, at its source: prints each offence and ends with 1 if there is any.

    visibility_rule.py ROOT [PUBLIC_HEADER…]

All is compiled with hidden visibility. An installed header shows what it declares: its namespace stands between
`#pragma GCC visibility push(default)` and `pop`. No other file of the library has these lines.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import include_rule  # noqa: E402

PUSH, POP = "#pragma GCC visibility push(default)", "#pragma GCC visibility pop"
DECLARATION = re.compile(r'^(?:namespace ferry\b|extern "C" )')


def offences(name, lines, public):
    shown = False
    for number, line in enumerate(lines, 1):
        if line in (PUSH, POP):
            if not public:
                yield f"{name}:{number}: {line}\n    only installed headers are seen from outside: the header is not in its folder's ferry_headers"
                return
            shown = line == PUSH
        elif public and DECLARATION.match(line) and not shown:
            yield f"{name}:{number}: {line}\n    the header is installed: put this between {PUSH} and {POP}"
        elif public and line.startswith("#include") and shown:
            yield f"{name}:{number}: {line}\n    includes stand before {PUSH}"
    if shown:
        yield f"{name}:{len(lines)}: {POP} is missing"


def main(root, public):
    root = Path(root)
    public = {Path(header).resolve().relative_to(root.resolve()).as_posix() if Path(header).is_absolute() else header
              for header in public}
    files = [name for name in include_rule.sources(root) if not name.startswith("tests/")]
    found = [line for name in files
             for line in offences(name, (root / name).read_text(encoding="utf-8").splitlines(), name in public)]
    print("\n".join(found) if found else f"{len(files)} files keep the visibility rule")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
