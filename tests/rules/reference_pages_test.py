#!/usr/bin/env python3
"""scripts/reference_pages.py reads declarations, comments and defaults of headers."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import reference_pages  # noqa: E402

FUNCTIONS = """// Functions for a test. And more.
#pragma GCC visibility push(default)
namespace ferry {

/// The first (second) sentence, et al. 2020: with a colon. Not this one.
///
///     an example;
[[nodiscard]] Value first(const Value& x, std::int64_t axis = -1, source_location at = source_location::current());
inline Values second(Graph& graph, std::span<const Value> values, const Options& options = {.most = 3},
                     source_location at = source_location::current()) {

Value alone(const std::function<Value(const Values&)>& body);
}
"""
CLASSES = """/// A thing. It has parts.
///
///     Thing thing;
class Thing final : public Base {
 public:
  Thing() = default;
  /// Makes a thing.
  ///
  ///     Thing other(3);
  explicit Thing(int size, DType dtype = DType::float32);
  [[nodiscard]] bool empty() const { return size_ == 0; }
  bool operator==(const Thing&) const;
  std::vector<int> sizes, parts;  ///< of all tasks
  /// The most. In bytes.
  std::int64_t most = 3;
  std::int64_t (*count)(int) = nullptr;  ///< returns the number of them,
                                         ///< or 0
  enum class Kind : char {
    big,   ///< larger than 3
    small  ///< any other
  };
  /// A part.
  struct Part {
    double begin = 0;  ///< in seconds
    int bare;
  };

 private:
  int hidden() const;
  int size_ = 0;
  struct Hidden {
    int inside;
  };
};
/// Two colors.
enum class Color { red, green };
"""


class ReferencePages(unittest.TestCase):
    def test_functions(self):
        with tempfile.TemporaryDirectory() as folder:
            header = Path(folder) / "ops" / "math" / "few.hpp"
            header.parent.mkdir(parents=True)
            header.write_text(FUNCTIONS)
            (Path(folder) / "ferry.hpp").write_text("")
            page = reference_pages.page_of_functions(Path(folder))
        self.assertIn("### ops/few.hpp\n\nFunctions for a test. Not in `<ferry/ferry.hpp>`.\n", page)
        self.assertIn("| `first(x, axis = -1)`, `second(g, values, options = {.most = 3})` | "
                      "The first (second) sentence, et al. 2020: with a colon |\n", page)
        self.assertIn("| `alone(body)` |  |\n\n```cpp\nan example;\n```\n", page)

    def test_classes(self):
        with tempfile.TemporaryDirectory() as folder:
            header = Path(folder) / "thing.hpp"
            header.write_text(CLASSES)
            found = list(reference_pages.classes(header))
            missing = reference_pages.without_text(header)
        self.assertEqual(found, [
            ("Thing", "A thing", [
                ("Thing(size, dtype = float32)", "", "Makes a thing"), ("empty()", "bool", ""), ("sizes, parts", "std::vector<int>", "of all tasks"),
                ("most = 3", "std::int64_t", "The most. In bytes"), ("count = nullptr", "std::int64_t (*)(int)", "returns the number of them, or 0")],
             ["Thing thing;\n", "Thing other(3);\n"]),
            ("Thing::Kind", "", [("big", None, "larger than 3"), ("small", None, "any other")], []),
            ("Thing::Part", "A part", [("begin = 0", "double", "in seconds"), ("bare", "int", "")], []),
            ("Color", "Two colors", [("red", None, ""), ("green", None, "")], [])])
        self.assertEqual(missing, [f"{header}: the field Thing::Part::bare has no comment"])
        self.assertEqual(reference_pages.table_of("Color", found[3][2]), "| value | meaning |\n|---|---|\n| `red` |  |\n| `green` |  |\n")
        self.assertIn("| member | type | meaning |\n|---|---|---|\n| `begin = 0` | `double` | in seconds |", reference_pages.table_of("Thing::Part", found[2][2]))

    def test_examples(self):
        comment = ["Purpose:", "     a = b", "", "     first(a,", "           b);", "More:", "     c = d", "     e = f", "", "     second(a);"]
        found = reference_pages.examples(comment)
        self.assertEqual(found, ["first(a,\n      b);\n", "second(a);\n"])
        self.assertEqual(reference_pages.block(found), "\n```cpp\nfirst(a,\n      b);\n\nsecond(a);\n```\n")
        self.assertEqual(reference_pages.block(["first();\n", "second();\n"]), "\n```cpp\nfirst();\nsecond();\n```\n")
        self.assertEqual(reference_pages.block([]), "")


if __name__ == "__main__":
    unittest.main()
