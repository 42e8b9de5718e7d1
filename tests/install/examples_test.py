#!/usr/bin/env python3
"""The examples in the comments of public headers compile, and their results are right.

    examples_test.py SOURCE_ROOT INCLUDE_FOLDER SHARED_LIBRARY COMPILER

INCLUDE_FOLDER has the headers as ferry/…. An example is the indented code after an empty line of a comment. Each becomes a function
of one program, with the values of FRAME. A line that ends with a result (`exp(x);  // [1 2.71828]`, a tensor, a type, a number or a
text) is compared with it. Functions with results run, and so do all that make graphs.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT, INCLUDE, LIBRARY, CXX = sys.argv[1], sys.argv[2], Path(sys.argv[3]).resolve(), sys.argv[4]
sys.path.insert(0, str(Path(ROOT) / "scripts"))
import reference_pages  # noqa: E402

# Headers with examples that are on no page of scripts/reference_pages.py.
OTHERS = ["graph/file/graph_file.hpp", "ops/op_set.hpp", "plan/file/plan_file.hpp"]
MAKES_GRAPHS = ("ops/", "graph/")
NEEDS_MPI = "mpi.hpp"  # install_test.py compiles a program with it
FILES = {"data/points.csv": "1,2\n3,4\n5,6\n", "data/frames.raw": "0" * 24}
EXAMPLE = re.compile(r"^( *//+)\n((?:\1     .*\n)+)", re.MULTILINE)
RESULT = re.compile(r'^(\s*)(.+;)  +// (-?[\d.]+(?:e[-+]?\d+)?|true|false|".*"|\[.*\]|\{.*\}|(?:bool|b?float\d+|u?int\d+)\[.*\])$')
DECLARED = re.compile(r"\s*(?:const )?[\w:]+(?:<.*>)? (\w+) = ")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

FRAME = """#include <ferry/ferry.hpp>
#include <ferry/base/files.hpp>
#include <ferry/graph/graph_file.hpp>
#include <ferry/kernels/kernel.hpp>
#include <ferry/ops/microbatch.hpp>
#include <ferry/placement/equal.hpp>
#include <ferry/placement/plan_file.hpp>
#include <ferry/placement/plan_result.hpp>
#include <ferry/placement/plan_text.hpp>
#include <ferry/runner/run_main.hpp>
#include <functional>
#include <iostream>
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wreturn-type"
using namespace ferry;

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::string_view text) { return '"' + std::string(text) + '"'; }
std::string text_of(const Tensor& tensor) { return tensor.str(); }
template <Number T>
std::string text_of(T number) {
  return Tensor::scalar(static_cast<double>(number)).str();
}
template <class T>
std::string text_of(const std::vector<T>& numbers) {
  std::string text = "{";
  for (const T& number : numbers) text += (text.size() > 1 ? ", " : "") + text_of(number);
  return text + "}";
}

const Cluster& one_task() {
  static const Cluster cluster = Cluster::connect({.tasks = 1, .threads = 1});
  return cluster;
}

/// The names that examples use, and the results that they show.
struct Frame {
  Graph g;
  const Cluster& cluster = one_task();
  Value x = g.constant({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  Value y = g.constant({{1.0, 0.0, 0.0, 0.0}, {0.0, 1.0, 0.0, 0.0}});
  Value images = g.constant(Tensor(DType::float32, {8, 3, 32, 32}));
  Value logits = g.constant(Tensor(DType::float32, {8, 10}));
  Value labels = g.constant({0, 1, 2, 3, 4, 5, 6, 7});
  Value w = g.variable("frame/w", g.constant(Tensor(DType::float32, {3, 4})));
  Value b = g.variable("frame/b", g.constant(Tensor(DType::float32, {4})));
  Values weights = {w, b};
  Value loss = mean(square(matmul(x, w) + b - y));

  std::vector<std::pair<int, Value>> fetched;
  template <class T>
  void show(int number, const T& value) {
    std::cout << number << ' ' << ::text_of(value) << std::endl;
  }
  void show(int number, const Value& value) { fetched.emplace_back(number, value); }
  void show_type(int number, const Value& value) { std::cout << number << ' ' << value.type().str() << std::endl; }
  void show_type(int number, const Tensor& value) { std::cout << number << ' ' << value.type().str() << std::endl; }

  void run_graph() {
    if (fetched.empty()) return;
    Values values;
    for (const auto& [number, value] : fetched) values.push_back(value);
    Session session(g, cluster);
    const std::vector<Tensor> results = session.run(values);
    for (std::size_t i = 0; i < results.size(); ++i) show(fetched[i].first, results[i]);
  }
};

/// More names, for examples that are only compiled.
struct Declared : Frame {
  Declared();
  int argc;
  char** argv;
  Session& session;
  RunRequest request;
  Values updates;
  const Plan& plan;
  Tensor pixels, rows;
  TensorMap model;
  SourceLine line;
  std::vector<float> gradients, sums;
  Tensor next_batch(std::int64_t step);
  void prepare_next_batch();
};

int failed = 0;

template <class Example>
void run(const char* place) try {
  Example example;
  example();
  example.run_graph();
} catch (const Error& error) {
  std::cerr << place << ": " << error.text() << std::endl;
  ++failed;
}

namespace {
"""


class Example:
    def __init__(self, header, line, code):
        self.header, self.line, self.code = header, line, code
        self.is_program = "int main(" in code
        self.runs = not self.is_program and (header.startswith(MAKES_GRAPHS) or any(RESULT.match(one) for one in code.split("\n")))

    def __str__(self):
        return f"{self.header}:{self.line}"

    def function(self, number, results):
        """The example as C++. Adds (place, result) of each line that has one to `results`."""
        lines = []
        for at, line in enumerate(self.code.split("\n")):
            if not self.is_program and (found := RESULT.match(line)):
                shown = found[2]
                call = "show_type" if "[" in found[3] and found[3][0].isalpha() else "show"
                name = DECLARED.match(shown)
                if shown.startswith("}"):
                    raise AssertionError(f"{self}: a result behind a line that is not a whole statement")
                value = name[1] if name else shown[:-1]
                line = (shown + " " if name else "") + f"this->{call}({len(results)}, {value});"
                results.append((f"{self.header}:{self.line + at}", found[3]))
            lines.append(line)
        body = f'#line {self.line} "{self.header}"\n' + "\n".join(lines)
        if self.is_program:
            return f"}}\nnamespace program_{number} {{\n{body}}}\nnamespace {{\n"
        return f"struct Example{number} : {'Frame' if self.runs else 'Declared'} {{\nauto operator()() {{\n{body}}}\n}};\n"


def headers():
    found = [name for group in reference_pages.PROGRAMS.values() for name in group]
    found += [path.relative_to(ROOT).as_posix() for family in reference_pages.FAMILIES
              for path in sorted((Path(ROOT) / "ops" / family).glob("*.hpp")) if reference_pages.PUBLIC in path.read_text()]
    return [name for name in sorted({*found, *OTHERS}) if name != NEEDS_MPI]


def examples():
    for header in headers():
        text = (Path(ROOT) / header).read_text(encoding="utf-8")
        for found in EXAMPLE.finditer(text):
            code = re.sub(rf"(?m)^{found[1]}     ", "", found[2])
            yield Example(header, text.count("\n", 0, found.start(2)) + 1, code)


def program(all_examples, results):
    text = FRAME
    for number, example in enumerate(all_examples):
        text += example.function(number, results)
    calls = "".join(f'  run<Example{number}>("{example}");\n' for number, example in enumerate(all_examples) if example.runs)
    return text + f"}}\nint main() {{\n{calls}  return failed == 0 ? 0 : 1;\n}}\n"


def alike(got, wanted):
    """Whether both are one text, except for the last digits of numbers."""
    if NUMBER.sub("#", got) != NUMBER.sub("#", wanted):
        return False
    return all(abs(float(one) - float(other)) <= 2e-5 * abs(float(other)) + 1e-6
               for one, other in zip(NUMBER.findall(got), NUMBER.findall(wanted)))


class Examples(unittest.TestCase):
    def test_results(self):
        found, results = list(examples()), []
        self.assertGreater(len(found), 300)
        with tempfile.TemporaryDirectory() as folder:
            for name, content in FILES.items():
                (Path(folder) / name).parent.mkdir(exist_ok=True)
                (Path(folder) / name).write_text(content)
            built = Path(folder) / "examples"
            source = built.with_suffix(".cpp")
            source.write_text(program(found, results))
            self.output(CXX, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}", f"-I{ROOT}",
                        source, "-o", built, LIBRARY)
            printed = self.output(built, env=dict(os.environ, LD_LIBRARY_PATH=str(LIBRARY.parent)), cwd=folder)
        got = dict(line.split(" ", 1) for line in printed.splitlines())
        self.assertGreater(len(results), 250)
        wrong = [f"{place}: the comment says {wanted}, the result is {got.get(str(number), 'missing')}"
                 for number, (place, wanted) in enumerate(results) if not alike(got.get(str(number), ""), wanted)]
        self.assertEqual(wrong, [], "\n".join(wrong))

    def output(self, *command, **options):
        done = subprocess.run(command, capture_output=True, text=True, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
