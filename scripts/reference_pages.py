#!/usr/bin/env python3
"""Makes pages of docs/reference from the public headers, with the first sentences of their comments and the examples in them:
functions.md has the functions of ops/, classes.md the classes and functions of programs.

An example is the indented code after an empty line of a comment. tests/install/examples_test.py compiles and runs it.

    reference_pages.py ROOT            ends with 1 if a page is out of date
    reference_pages.py ROOT --write    writes them
"""
import re
import sys
import textwrap
from pathlib import Path

REFERENCE = Path("docs") / "reference"
# Folders of ops/ and their titles, in the order of the page.
FAMILIES = {"math": "Arithmetic", "array": "Arrays", "control": "Control flow and state", "data": "Data", "image": "Images",
            "nn": "Neural networks", "train": "Training", "gradient": "Gradients"}
# Functions of those headers that programs do not call.
NOT_CALLED = {"are_bools", "checked_count", "name_of", "devices_of", "simulation_seed", "mpi_transport_over", "as_error", "assertion_failed"}
CODE = "     "  # what a line of code in a comment begins with
PUBLIC = "#pragma GCC visibility push(default)"
DECLARATION = re.compile(r"(?:\[\[\w+\]\] )?(?:inline |constexpr )*[\w:<>]+ (\w+)\(")
# Headers of classes.md, by section, with the classes that it leaves out.
PROGRAMS = {
    "Graphs": ["graph/graph.hpp", "graph/value.hpp"],
    "Tensors, shapes and layouts": ["graph/types/tensor.hpp", "graph/file/tensor_file.hpp", "graph/types/shape.hpp",
                                    "graph/types/layout.hpp"],
    "Sessions": ["executor/session/session.hpp", "executor/session/session_types.hpp", "executor/execution_options.hpp",
                 "plan/planning_options.hpp", "executor/session/checkpoints.hpp", "executor/state/checkpoint_options.hpp"],
    "Jobs": ["executor/job/cluster_options.hpp", "executor/cluster.hpp", "executor/direct/collectives.hpp", "mpi.hpp"],
    "Programs": ["runner/run/run_main.hpp", "runner/run/training_loop.hpp", "runner/options/program_options.hpp",
                 "runner/run/session_options.hpp", "runner/files/saved_model.hpp"],
    "Layers": ["ops/nn/layers.hpp"],
    "Errors": ["base/error.hpp"],
}
LEFT_OUT = {"RunCheckpoints", "PassReport", "DirectCall", "Scope", "SourceLine"}
ENDS_GROUP = re.compile(r"\s*$|(?:struct|class|enum|using|namespace|#)")
CLASS = re.compile(r"(class|struct) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: : [^;]*)? \{$")
HEAD_OF_CLASSES = """# Classes

This page lists the classes and functions of programs, by header. Use it to find a member; its comment in the header has
errors and thread safety. `scripts/reference_pages.py . --write` makes this page from the headers; a test
fails if it is out of date. [functions.md](functions.md) lists the functions that add ops to a graph.

Members without text are described by their names, or by the member before. In the examples, `g` is a graph, `x` a
float32[2,3], `loss` a scalar, `weights` the variables on which it depends, and `updates` the result of an optimizer.
`cluster` is a cluster, `session` a session of `g`. `// [4 6]` is the result of a line.
"""
HEAD = """# Functions

This page lists the C++ functions that add ops to a graph, by header. Use it to find a function; its comment in the
header has shapes, dtypes and errors. `scripts/reference_pages.py . --write` makes this page from the headers; a test
fails if it is out of date.

- `<ferry/ferry.hpp>` includes all these headers, except where a section says otherwise.
- Every function also takes the source line of the caller, by default.
- `x`, `a` and `b` are values, `g` is a graph. Operators (`+`, `-`, `*`, `/`, `<`, `>`, …) and most functions of two
  operands also take numbers.
- In the examples, `x` is a float32[2,3], `y` a float32[2,4], `images` a float32[8,3,32,32], `logits` a float32[8,10],
  `labels` an int32[8], `loss` a scalar, and `weights` are the variables on which it depends.
- `// [4 6]` and `// int32[2]` are the result of a line, or its dtype and shape. A test compares them.
- [ops.md](ops.md) lists dtypes, gradients and layouts.
"""


def first_sentence(comment):
    text = " ".join(" ".join(line for line in comment if not line.startswith(CODE)).split())
    end = re.search(r"(?<!et al)\.(?= |$)|:$", text)
    return (text[:end.start()] if end else text).replace("|", "\\|")


def examples(comment):
    """The examples of a comment, as text. Code after a line that is not empty is a formula."""
    found, inside, before = [], False, ""
    for line in comment:
        inside = line.startswith(CODE) and (inside or not before.strip())
        if inside and not before.strip():
            found.append("")
        if inside:
            found[-1] += line[len(CODE):].rstrip() + "\n"
        before = line
    return found


def block(found):
    """The block of code of examples; an empty line separates examples of several lines."""
    text = ""
    for one, following in zip(found, [*found[1:], ""]):
        text += one + ("\n" if following and "\n" in one[:-1] + following[:-1] else "")
    return f"\n```cpp\n{text}```\n" if text else ""


def parameter(text):
    """The name of a parameter, with its default."""
    declared, _, default = text.partition("=")
    name = re.findall(r"\w+", declared)[-1]
    default = re.sub(r"^(?:\w+::)+", "", default.strip())
    return f"{name} = {default}" if default else name


def parameters(declaration):
    """What stands between the brackets of a declaration, divided at its commas."""
    parts, depth, start = [], 0, declaration.index("(") + 1
    for at in range(start, len(declaration)):
        sign = declaration[at]
        if sign in "(<{":
            depth += 1
        elif depth and sign in ")>}":
            depth -= 1
        elif not depth and sign in ",)":
            parts.append(declaration[start:at].strip())
            start = at + 1
            if sign == ")":
                return [part for part in parts if part]
    return parts


def signature(declaration):
    name = DECLARATION.match(declaration)[1]
    shown = [parameter(part) for part in parameters(declaration) if "source_location" not in part]
    return f"{name}({', '.join('g' if one == 'graph' else one for one in shown)})"


def functions(header):
    """Yields ([signatures], sentence, examples) of declarations that have one comment."""
    comment, group, lines = [], [], header.read_text(encoding="utf-8").splitlines()
    for at, line in enumerate([*lines, ""]):
        if group and (line.startswith("///") or ENDS_GROUP.match(line)):
            yield group, first_sentence(comment), examples(comment)
            comment, group = [], []
        if line.startswith("///"):
            comment.append(line[3:].rstrip())
        elif found := DECLARATION.match(line):
            text = " ".join(part.strip() for part in lines[at:at + 8])
            if found[1] in NOT_CALLED:
                comment = []
            elif signature(text) not in group:
                group.append(signature(text))
        elif ENDS_GROUP.match(line):
            comment = []


def about(header):
    """The first sentence of a header's head."""
    head = []
    for line in header.read_text(encoding="utf-8").splitlines():
        if not line.startswith("// "):
            break
        head.append(line[3:])
    return re.split(r"(?<=\.) ", " ".join(head))[0].rstrip(".:") + "."


def members(lines):
    """Yields (member, sentence, examples) of the public members in the body of a class."""
    public, comment, at = lines[0].startswith("struct"), [], 0
    while at + 1 < len(lines):
        at += 1
        line = lines[at]
        if label := re.match(r" (public|private|protected):", line):
            public, comment = label[1] == "public", []
        elif re.match(r"  ///(?!<)", line):
            comment.append(line.strip()[3:])
        elif not line.strip():
            comment = []
        elif re.match(r"  \S", line) and not line.startswith(("  }", "  //", "  template", "  friend", "  using", "  #", "  requires")):
            said = line.strip()
            while not re.search(r"[;{}](?:\s*//.*)?$", said) and at + 1 < len(lines):
                at += 1
                said += " " + lines[at].strip()
            said, _, after = said.partition("///<")
            if public and (shown := member(said)):
                yield shown, first_sentence([after] if after.strip() else comment), examples(comment)
            comment = []


def member(said):
    """A member as the page shows it; empty for what users do not call."""
    said = re.sub(r"\[\[\w+\]\] |\b(?:virtual|explicit|inline|static|constexpr|mutable) ", "", said.strip())
    called = re.match(r"(?:[^=({]*?[ &*>])?(~?\w+)\(", said)
    if re.search(r"\boperator\b|= delete|= default|~|^(?:struct|class|enum|private|friend)\b", said):
        return ""
    if called:
        shown = [parameter(part) for part in parameters(said) if "source_location" not in part]
        return f"{called[1]}({', '.join(shown)})"
    field = re.match(r"(?:const )?[\w:]+(?:<.*>)?[&*]? [&*]?(\w.*?);", said)
    return re.sub(r"(?<=\w)\{.*\}$| = \{\}", "", field[1]) if field and not field[1].endswith("_") else ""


def once(found):
    """The members, overloads with the same names of parameters once, and the examples of all."""
    known, code = {}, []
    for one, said, examples_of_one in found:
        known[one] = known.get(one) or said
        code += examples_of_one
    return list(known.items()), code


def classes(header):
    """Yields (class, sentence, its members, examples), and ("", "", free functions, examples)."""
    lines, comment = header.read_text(encoding="utf-8").splitlines(), []
    free, code = once(("`, `".join(group), sentence, found) for group, sentence, found in functions(header))
    if free:
        yield "", "", free, code
    for at, line in enumerate(lines):
        if line.startswith("///"):
            comment.append(line[3:])
        elif (found := CLASS.match(line)) and found[2] not in LEFT_OUT:
            end = next(i for i in range(at, len(lines)) if lines[i].startswith("}"))
            inside, code = once(members(lines[at:end]))
            yield found[2], first_sentence(comment), inside, examples(comment) + code
            comment = []
        elif not line.startswith("template"):
            comment = []


def page_of_classes(root):
    parts = [HEAD_OF_CLASSES]
    for title, headers in PROGRAMS.items():
        parts.append(f"\n## {title}\n")
        for name in headers:
            folder, file = name.partition("/")[0], Path(name).name
            shown = "ferry/" + (file if "/" not in name else f"{'placement' if folder == 'plan' else folder}/{file}")
            for kind, sentence, found, code in classes(root / name):
                if not found:
                    continue
                parts.append(f"\n### {kind or f'Functions of {file}'}\n\n`<{shown}>`" + (f": {sentence}." if sentence else "") + "\n\n")
                parts[-1] = "\n".join(textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False)
                                      for line in parts[-1].split("\n"))
                parts.append("| member | meaning |\n|---|---|\n" if kind else "| function | meaning |\n|---|---|\n")
                for one, said in found:
                    parts.append(f"| `{one}` | {said} |\n")
                parts.append(block(code))
    return "".join(parts)


def page_of_functions(root):
    umbrella = (root / "ferry.hpp").read_text(encoding="utf-8")
    parts = [HEAD]
    for folder, title in FAMILIES.items():
        parts.append(f"\n## {title}\n")
        for header in sorted((root / "ops" / folder).glob("*.hpp")):
            if PUBLIC not in header.read_text(encoding="utf-8") or not (groups := list(functions(header))):
                continue
            inside = re.search(r"namespace ferry::(\w+)", header.read_text(encoding="utf-8"))
            notes = [about(header)]
            if inside:
                notes.append(f"In namespace `ferry::{inside[1]}`.")
            if f'"ops/{folder}/{header.name}"' not in umbrella:
                notes.append("Not in `<ferry/ferry.hpp>`.")
            parts.append(f"\n### ops/{header.name}\n\n" + textwrap.fill(" ".join(notes), 120, break_long_words=False, break_on_hyphens=False) + "\n\n")
            parts.append("| function | result |\n|---|---|\n")
            for signatures, sentence, _ in groups:
                parts.append(f"| {', '.join(f'`{one}`' for one in signatures)} | {sentence} |\n")
            parts.append(block([one for *_, found in groups for one in found]))
    return "".join(parts)


def main(root, *options):
    root, code = Path(root), 0
    for name, made in ("functions.md", page_of_functions(root)), ("classes.md", page_of_classes(root)):
        file = root / REFERENCE / name
        if options == ("--write",):
            file.write_text(made, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != made:
            print(f"{REFERENCE / name} is out of date: python3 scripts/reference_pages.py . --write")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
