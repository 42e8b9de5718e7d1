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

TEST_CASE("a tensor is made of a vector, read by indices, and copied into a vector") {
  const std::vector<float> six{1, 2, 3, 4, 5, 6};
  const Tensor matrix = Tensor::of<float>({2, 3}, six);
  CHECK(matrix.at(1, 0) == 4);
  CHECK(matrix.at(0, 2) == 3);
  CHECK(matrix.to_vector<float>() == six);
  CHECK(Tensor::of(six).type().str() == "float32[6]");
  CHECK(Tensor::of<std::int64_t>({7, 8}).at(1) == 8);
  CHECK(Tensor::of<bool>({2}, {true, false}).to_vector<bool>() == std::vector<bool>{true, false});
  CHECK(Tensor::scalar(2.5).at() == 2.5);
  CHECK(Tensor(DType::float32, {0, 3}).to_vector<float>().empty());
}

TEST_CASE("elements that are not there, and elements as another type, are errors that name the tensor's type") {
  const Tensor t = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  for (const std::int64_t i : {std::int64_t{4}, std::int64_t{-1}, std::int64_t{1} << 62}) {
    CHECK(test::says(test::error_of([&] { static_cast<void>(t.number(i)); }),
                     "a tensor float32[2,2] has no element " + std::to_string(i)));
    CHECK(test::error_of([&] { static_cast<void>(t.integer(i)); }).code() == Code::usage);
  }
  for (const auto& none :
       {test::error_of([&] { static_cast<void>(t.at(0, 2)); }), test::error_of([&] { static_cast<void>(t.at(-1, 0)); }),
        test::error_of([&] { static_cast<void>(t.at(1)); })})
    CHECK(test::says(none, "a tensor float32[2,2] has no element at ["));
  const Error other = test::error_of([&] { static_cast<void>(t.data<std::int64_t>()); });
  CHECK(test::says(other, "the elements of a tensor float32[2,2] are not int64\n  try: "));
  CHECK(test::says(test::error_of([] {
                     static_cast<void>(Tensor::of<float>({3}, {1, 2}));
                   }),
                   "2 values are given for a tensor float32[3]\n  try: give 3"));
}

}  // namespace
}  // namespace ferry
