#!/usr/bin/env python3
"""Makes pages of docs/reference from the public headers, with the first sentences of their comments and the examples in them:
functions.md has the functions of ops/ and their structs, classes.md the classes and functions of programs. Every field of a struct
has a type, its default, and a text.

An example is the indented code after an empty line of a comment. tests/install/examples_test.py compiles and runs it.

    reference_pages.py ROOT            ends with 1 if a page is out of date, a field has no comment, or a header is on no page
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
NOT_CALLED = {"are_bools", "checked_count", "name_of", "devices_of", "simulation_seed", "mpi_transport_over", "as_error", "assertion_failed",
              "safetensors_name", "tensors_of"}
CODE = "     "  # what a line of code in a comment begins with
PUBLIC = "#pragma GCC visibility push(default)"
DECLARATION = re.compile(r"(?:\[\[\w+\]\] )?(?:inline |constexpr )*[\w:<>]+ (\w+)\(")
# Headers of classes.md, by section, with the classes that it leaves out.
PROGRAMS = {
    "Graphs": ["graph/graph.hpp", "graph/value.hpp", "graph/budget.hpp"],
    "Tensors, shapes and layouts": ["graph/types/tensor.hpp", "graph/file/tensor_file.hpp", "graph/types/shape.hpp",
                                    "graph/types/layout.hpp", "graph/types/device_spec.hpp"],
    "Sessions": ["executor/session/session.hpp", "executor/session/session_types.hpp", "executor/execution_options.hpp",
                 "plan/planning_options.hpp", "plan/plan_result.hpp", "executor/session/checkpoints.hpp",
                 "executor/state/checkpoint_options.hpp", "executor/watch/straggler.hpp", "executor/watch/slow_link.hpp",
                 "plan/device_work.hpp", "plan/traffic.hpp"],
    "Jobs": ["executor/job/cluster_options.hpp", "executor/cluster.hpp", "executor/direct/collectives.hpp",
             "plan/topology/topology.hpp", "mpi.hpp"],
    "Programs": ["runner/run/run_main.hpp", "runner/run/training_loop.hpp", "runner/options/program_options.hpp",
                 "runner/run/session_options.hpp", "runner/files/saved_model.hpp"],
    "Layers": ["ops/nn/layers.hpp"],
    "Custom ops": ["graph/op/op_def.hpp", "kernels/kernel.hpp", "kernels/traits.hpp", "kernels/user_ops.hpp"],
    "Errors": ["base/error.hpp"],
}
LEFT_OUT = {"RunCheckpoints", "PassReport", "DirectCall", "Scope", "SourceLine",
            # for ferry's own kernels and devices
            "BoundKernel", "ChainStep", "DeviceEpilogue", "ElementLoop", "Finish", "FusedKernels", "Piece", "Shift", "Shifts"}
ENDS_GROUP = re.compile(r"\s*$|(?:struct|class|enum|using|namespace|#)")
CLASS = re.compile(r"( *)(class|struct|enum class|enum) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: : [^;{]*)? \{(.*)$")
HEAD_OF_CLASSES = """# Classes

This page lists the classes and functions of programs, by header. Use it to find a member; its comment in the header has
errors and thread safety. `scripts/reference_pages.py . --write` makes this page from the headers; a test
fails if it is out of date. [functions.md](functions.md) lists the functions that add ops to a graph.

The column *type* has the type of a field, or the type that a function returns. Functions without text are described by
their names, or by the function before. In the examples, `g` is a graph, `x` a float32[2,3], `loss` a scalar, `weights`
the variables on which it depends, and `updates` the result of an optimizer. `cluster` is a cluster, `session` a session
of `g`. `// [4 6]` is the result of a line.
"""
HEAD = """# Functions

This page lists the C++ functions that add ops to a graph, by header, and the fields of their options and results. Use
it to find a function; its comment in the header has shapes, dtypes and errors. `scripts/reference_pages.py . --write`
makes this page from the headers; a test fails if it is out of date.

- `<ferry/ferry.hpp>` includes all these headers, except where a section says otherwise.
- Every function also takes the source line of the caller, by default.
- `x`, `a` and `b` are values, `g` is a graph. Operators (`+`, `-`, `*`, `/`, `<`, `>`, …) and most functions of two
  operands also take numbers.
- In the examples, `x` is a float32[2,3], `y` a float32[2,4], `images` a float32[8,3,32,32], `logits` a float32[8,10],
  `labels` an int32[8], `loss` a scalar, and `weights` are the variables on which it depends.
- `// [4 6]` and `// int32[2]` are the result of a line, or its dtype and shape. A test compares them.
- [ops.md](ops.md) lists dtypes, gradients and layouts.
"""


def text_of(comment):
    return " ".join(" ".join(line for line in comment if not line.startswith(CODE)).split()).replace("|", "\\|")


def first_sentence(comment):
    text = text_of(comment)
    end = re.search(r"(?<!et al)\.(?= |$)|:$", text)
    return text[:end.start()] if end else text


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
    """Yields ((member, type), text, examples) of the public members in the body of a class or enum. The text is the whole comment of
    a field, the first sentence for a function. Values of an enum have no type: None."""
    kind = lines[0].split()[0]
    public, comment, at = kind != "class", [], 0
    if kind == "enum" and "}" in lines[0]:
        lines = [lines[0], *(f"  {value.strip()}," for value in re.split("[{},;]", lines[0])[1:] if value.strip())]
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
            while kind != "enum" and not re.search(r"[;{}](?:\s*//.*)?$", said) and at + 1 < len(lines):
                at += 1
                said += " " + lines[at].strip()
            said, _, after = said.partition("///<")
            while after and at + 1 < len(lines) and (more := re.match(r" +///< ?(.*)", lines[at + 1])):
                at, after = at + 1, f"{after} {more[1]}"
            shown = enumerator(said) if kind == "enum" else member(said)
            if public and shown:
                about_it = [after] if after.strip() else comment
                yield shown, first_sentence(about_it) if "(" in shown[0] else text_of(about_it).rstrip("."), examples(comment)
            comment = []


def enumerator(said):
    return (re.match(r"\w*", said)[0], None)


def member(said):
    """A member as the page shows it, and its type; nothing for members that users do not call."""
    said = re.sub(r"\[\[\w+\]\] |\b(?:virtual|explicit|inline|static|constexpr|mutable) ", "", said.strip())
    called = re.match(r"([^=({]*?[ &*>])?(~?\w+)\(", said)
    if re.search(r"\boperator\b|= delete|= default|~|^(?:struct|class|enum|private|friend)\b", said):
        return None
    if pointer := re.match(r"(.*)\(\*(\w+)\)(\(.*\)) = (.*);", said):  # a field: a pointer to a function
        return f"{pointer[2]} = {pointer[4]}", f"{pointer[1]}(*){pointer[3]}"
    if called:
        shown = [parameter(part) for part in parameters(said) if "source_location" not in part]
        return f"{called[2]}({', '.join(shown)})", (called[1] or "").strip()
    field = re.match(r"((?:const )?[\w:]+(?:<.*>)?[&*]?(?: const)?[&*]? ?[&*]?)\b(\w.*?);", said)
    if not field or field[2].endswith("_"):
        return None
    return re.sub(r"(?<=\w)(\{.+\})$", r" = \1", re.sub(r"(?<=\w)(?: = )?\{\}$", "", field[2])), field[1].strip()


def once(found):
    """The members, overloads with the same names of parameters once, and the examples of all."""
    known, code = {}, []
    for (one, kind), said, examples_of_one in found:
        before = known.get(one, ("", ""))
        known[one] = (before[0] or kind, before[1] or said)
        code += examples_of_one
    return [(one, *about_it) for one, about_it in known.items()], code


def body_of(lines, at, indented):
    """The lines of a class that begins at a line, without their indentation."""
    if "}" in lines[at]:
        return [lines[at][len(indented):]]
    end = next(i for i in range(at, len(lines)) if lines[i].startswith(indented + "}"))
    return [line[len(indented):] for line in lines[at:end]]


def classes(header):
    """Yields (class, sentence, its members, examples), for classes within classes too, and ("", "", free functions, examples).
    A member is (name, type, sentence)."""
    lines, comment, outer, hidden = header.read_text(encoding="utf-8").splitlines(), [], "", False
    free, code = once((("`, `".join(group), ""), sentence, found) for group, sentence, found in functions(header))
    if free:
        yield "", "", free, code
    for at, line in enumerate(lines):
        if label := re.match(r" (public|private|protected):", line):
            hidden = label[1] != "public"
        if re.match(" *///(?!<)", line):
            comment.append(line.strip()[3:])
        elif found := CLASS.match(line):
            name = found[3]
            if found[1]:
                name = f"{outer}::{name}"
            else:
                outer, hidden = (name, found[2] == "class")
            if not LEFT_OUT & {found[3], outer} and len(found[1]) <= 2 and not (found[1] and hidden):
                inside, code = once(members(body_of(lines, at, found[1])))
                yield name, first_sentence(comment), inside, examples(comment) + code
            comment = []
        elif not line.strip().startswith("template"):
            comment = []


def table_of(kind, found):
    """The table of a class, of an enum or of functions."""
    if kind and found[0][1] is not None:
        lines = ["| member | type | meaning |", "|---|---|---|"]
        lines += [f"| `{one}` | {f'`{of}`' if of else ''} | {said} |" for one, of, said in found]
    else:
        lines = [f"| {'value' if kind else 'function'} | meaning |", "|---|---|"]
        lines += [f"| `{one}` | {said} |" for one, _, said in found]
    return "\n".join(lines) + "\n"


def filled(text):
    return "\n".join(textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))


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
                parts.append(filled(f"\n### {kind or f'Functions of {file}'}\n\n`<{shown}>`" + (f": {sentence}." if sentence else "") + "\n\n"))
                parts.append(table_of(kind, found) + block(code))
    return "".join(parts)


def page_of_functions(root):
    umbrella = (root / "ferry.hpp").read_text(encoding="utf-8")
    parts, title = [HEAD], ""
    for name in headers_of_functions(root):
        header, family = root / name, FAMILIES[name.split("/")[1]]
        if family != title:
            title = family
            parts.append(f"\n## {title}\n")
        inside = re.search(r"namespace ferry::(\w+)", header.read_text(encoding="utf-8"))
        notes = [about(header)]
        if inside:
            notes.append(f"In namespace `ferry::{inside[1]}`.")
        if f'"{name}"' not in umbrella:
            notes.append("Not in `<ferry/ferry.hpp>`.")
        parts.append(filled(f"\n### ops/{header.name}\n\n{' '.join(notes)}\n\n"))
        groups = list(functions(header))
        parts.append("| function | result |\n|---|---|\n")
        for signatures, sentence, _ in groups:
            parts.append(f"| {', '.join(f'`{one}`' for one in signatures)} | {sentence} |\n")
        parts.append(block([one for *_, found in groups for one in found]))
        if name in headers_of_classes():
            continue
        for kind, sentence, found, code in classes(header):
            if kind and found:
                parts.append(filled(f"\n#### {kind}\n\n" + (f"{sentence}.\n\n" if sentence else "")) + table_of(kind, found) + block(code))
    return "".join(parts)


def headers_of_classes():
    return [name for group in PROGRAMS.values() for name in group]


def headers_of_functions(root):
    """The headers of ops/ with functions, by folder."""
    return [header.relative_to(root).as_posix() for folder in FAMILIES for header in sorted((root / "ops" / folder).glob("*.hpp"))
            if PUBLIC in header.read_text(encoding="utf-8") and list(functions(header))]


def without_text(header):
    """The fields of a header's classes that have no comment."""
    return [f"{header}: the field {kind}::{one} has no comment" for kind, _, found, _ in classes(header)
            for one, of, said in found if kind and of is not None and "(" not in one.split(" = ")[0] and not said]


def main(root, *options):
    root = Path(root)
    listed = [*headers_of_classes(), *headers_of_functions(root)]
    problems = [problem for name in listed for problem in without_text(root / name)]
    for name in re.findall(r'#include "(.*)"', (root / "ferry.hpp").read_text(encoding="utf-8")):
        if name not in listed and list(classes(root / name)):
            problems.append(f"{name}: ferry.hpp includes it, but it is on no page")
    print("".join(f"{problem}\n" for problem in problems), end="")
    code = 1 if problems else 0
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
