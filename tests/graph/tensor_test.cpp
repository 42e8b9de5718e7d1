#include "graph/types/tensor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>

#include "base/files/files.hpp"
#include "graph/file/tensor_file.hpp"
#include "graph/graph.hpp"
#include "tests/support/temp_folder.hpp"
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

TEST_CASE("tensors of every dtype come back from files") {
  const test::TempFolder folder;
  NamedTensors all;
  for (DType dtype : kDTypes) {
    Tensor tensor(dtype, {3, 2});
    std::ranges::fill(tensor.mutable_bytes(), std::byte{1});
    if (dtype != DType::bfloat16) {
      write_tensor(folder / "x.npy", tensor);
      CHECK(read_tensor(folder / "x.npy").same_bits(tensor));
    }
    all.emplace(name_of(dtype), tensor);
  }
  write_tensors(folder / "x.safetensors", all);
  const NamedTensors read = read_tensors(folder / "x.safetensors");
  CHECK(read.size() == all.size());
  for (const auto& [name, tensor] : all) CHECK(read.at(name).same_bits(tensor));
  const Tensor scalar = Tensor::scalar(2.5);
  write_tensor(folder / "x.npy", scalar);  // replaces the file
  CHECK(read_tensor(folder / "x.npy").same_bits(scalar));
}

TEST_CASE("the header of an npy file is checked before its elements are read") {
  const test::TempFolder folder;
  write_tensor(folder / "x.npy", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  std::string seen;
  const auto reject = [&](const Type& type) {
    seen = type.str();
    throw Error(Code::usage, "not this one");
  };
  CHECK(test::error_of([&] { static_cast<void>(read_tensor(folder / "x.npy", reject)); }).text() == "not this one");
  CHECK(seen == "float32[2,3]");
  std::string fortran(local_files().read(folder / "x.npy").text());
  fortran.replace(fortran.find("False,"), 6, "True, ");
  local_files().write(folder / "fortran.npy", fortran);
  CHECK(read_tensor(folder / "fortran.npy").str() == "[[1 3 5] [2 4 6]]");
  std::string complex = fortran;
  complex.replace(complex.find("<f4"), 3, "<c8");
  local_files().write(folder / "complex.npy", complex + fortran.substr(fortran.size() - 24));
  const Error other = test::error_of([&] { static_cast<void>(read_tensor(folder / "complex.npy")); });
  CHECK(other.code() == Code::file);
  CHECK(test::says(other,
                   "complex.npy: elements are <c8, which ferry does not compute with\n  try: convert it to one of "));
}

TEST_CASE("tensors that no file can have, and files that cannot be used, are errors with the file's name") {
  const test::TempFolder folder;
  const Error bfloat16 = test::error_of([&] { write_tensor(folder / "x.npy", Tensor(DType::bfloat16, {2})); });
  CHECK(bfloat16.code() == Code::usage);
  CHECK(test::says(bfloat16,
                   "x.npy\": npy files have no bfloat16\n  try: cast it to float32, or write a safetensors file"));
  for (const auto& write :
       std::initializer_list<std::function<void()>>{[&] { write_tensor(folder / "x.npy", Tensor()); },
                                                    [&] {
                                                      write_tensors(folder / "x", {{"x", Tensor()}});
                                                    }})
    CHECK(test::error_of(write).code() == Code::usage);
  CHECK(local_files().list(folder.path()).empty());
  CHECK(test::says(test::error_of([&] { write_tensor(folder / "none/x.npy", Tensor::scalar(1)); }), "none/x.npy"));
  for (const auto& read :
       std::initializer_list<std::function<void()>>{[&] { static_cast<void>(read_tensor(folder / "none")); },
                                                    [&] { static_cast<void>(read_tensors(folder / "none")); }}) {
    CHECK(test::error_of(read).code() == Code::file);
    CHECK(test::says(test::error_of(read), "/none\": cannot be opened"));
  }
}

}  // namespace
}  // namespace ferry
