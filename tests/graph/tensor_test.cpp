#include "graph/types/tensor.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "graph/graph.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

void check_unreadable(Tensor tensor, std::string_view text) {
  const Tensor one = Tensor::of<float>({1}, {1});
  const std::function<void()> reads[] = {
      [&] { static_cast<void>(tensor.dtype()); },
      [&] { static_cast<void>(tensor.sizes()); },
      [&] { static_cast<void>(tensor.rank()); },
      [&] { static_cast<void>(tensor.count()); },
      [&] { static_cast<void>(tensor.type()); },
      [&] { static_cast<void>(tensor.bytes()); },
      [&] { static_cast<void>(tensor.mutable_bytes()); },
      [&] { static_cast<void>(tensor.data<float>()[0]); },
      [&] { static_cast<void>(tensor.data<std::int64_t>()); },
      [&] { static_cast<void>(tensor.mutable_data<float>()); },
      [&] { static_cast<void>(tensor.number(0)); },
      [&] { static_cast<void>(tensor.integer(0)); },
      [&] { static_cast<void>(tensor.str()); },
      [&] { static_cast<void>(tensor.same_bits(one)); },
      [&] { static_cast<void>(one.same_bits(tensor)); },
      [&] {
        Graph g;
        static_cast<void>(g.constant(tensor));
      },
  };
  for (std::size_t i = 0; i < std::size(reads); ++i) {
    CAPTURE(i);
    const Error error = test::error_of(reads[i]);
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, text));
  }
  const Tensor copy = tensor;
  CHECK(!copy.defined());
  CHECK(copy.owners() == 0);
  tensor = one;
  CHECK(tensor.number(0) == 1);
}

TEST_CASE("an undefined tensor can be copied and assigned to, and all else is an error that says where the value is") {
  check_unreadable(Tensor(), "this tensor is undefined");
  check_unreadable(Tensor::fetched_to(2), "this value was fetched to task 2");
  check_unreadable(Tensor::fetched_to(2), "set RunRequest::fetch_to to the task that needs it");
  Tensor given = Tensor::of<float>({1}, {1});
  const Tensor taken = std::move(given);
  CHECK(test::says(test::error_of([&] { static_cast<void>(given.bytes()); }), "it was moved from"));  // NOLINT
  CHECK(Tensor(DType::float32, {0}).str() == "[]");
}

TEST_CASE("elements that are not there, and elements as another type, are errors that name the tensor's type") {
  const Tensor t = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  for (const std::int64_t i : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{1} << 62}) {
    CHECK(test::says(test::error_of([&] { static_cast<void>(t.number(i)); }),
                     "a tensor float32[2,2] has no element " + std::to_string(i)));
    CHECK(test::error_of([&] { static_cast<void>(t.integer(i)); }).code() == Code::usage);
  }
  const Error other = test::error_of([&] { static_cast<void>(t.data<std::int64_t>()); });
  CHECK(test::says(other, "the elements of a tensor float32[2,2] are not int64\n  try: "));
  CHECK(test::says(test::error_of([] {
                     static_cast<void>(Tensor::of<float>({3}, {1, 2}));
                   }),
                   "2 values are given for a tensor float32[3]\n  try: give 3"));
}

}  // namespace
}  // namespace ferry
