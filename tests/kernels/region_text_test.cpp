// The texts of regions that are compiled. tests/executor/compiled_test.cpp runs them.

#include <doctest/doctest.h>

#include <vector>

#include "kernels/compiled_region.hpp"

namespace ferry {
namespace {

TEST_CASE("generated code computes ops for the dtypes that their functors take") {
  const DType f = DType::float32, i = DType::int64, b = DType::boolean, h = DType::float16;
  struct Row {
    const char* op;
    std::vector<DType> inputs;
    DType output;
    const char* function;
  };
  for (const Row& row :
       {Row{"Add", {f, f}, f, "Add.float32"}, Row{"Add", {i, i}, i, "Add.int64"}, Row{"Add", {h, h}, h, ""},
        Row{"Add", {f, i}, f, ""}, Row{"Exp", {i}, i, ""}, Row{"Less", {i, i}, b, "Less.int64"},
        Row{"Less", {f, f}, f, ""}, Row{"Select", {b, f, f}, f, "Select.float32"}, Row{"Select", {f, f, f}, f, ""},
        Row{"Not", {b}, b, "Not.bool"}, Row{"Cast", {f}, i, "Cast.float32.int64"}, Row{"Cast", {h}, f, ""},
        Row{"Div", {i, i}, i, ""}, Row{"Pow", {f, f}, f, ""}, Row{"Add", {}, f, ""}}) {
    CAPTURE(row.op);
    CHECK(function_of(row.op, row.inputs, row.output) == row.function);
  }
}

TEST_CASE("the text of a region numbers the arrays first, then the calls") {
  RegionText text;
  const RegionText::Value x = text.array(DType::float32, "each");
  const RegionText::Value doubled = text.call("Add.float32", {x, x}), made = text.call("Exp.float32", {doubled});
  text.store(made, text.array(DType::float32, "written"));
  CHECK(text.str() ==
        "array float32 each\narray float32 written\ncall Add.float32 0 0\ncall Exp.float32 2\nstore 3 1\n");
}

}  // namespace
}  // namespace ferry
