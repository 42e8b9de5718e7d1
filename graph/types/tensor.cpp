#include "graph/types/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/number_text.hpp"

namespace ferry {
namespace {

int shown_digits(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 4;
    case DType::bfloat16:
      return 3;
    case DType::float32:
      return 6;
    default:
      return 10;
  }
}

void append_element(std::string& text, const Tensor& tensor, std::int64_t i) {
  if (tensor.dtype() == DType::boolean) {
    text += tensor.integer(i) != 0 ? "true" : "false";
  } else if (tensor.dtype() == DType::uint64) {
    text += std::to_string(static_cast<std::uint64_t>(tensor.integer(i)));
  } else if (is_integer(tensor.dtype())) {
    text += std::to_string(tensor.integer(i));
  } else {
    text += digits_text(tensor.number(i), shown_digits(tensor.dtype()));
  }
}

void append_dim(std::string& text, const Tensor& tensor, std::size_t dim, std::int64_t offset, std::int64_t stride,
                int limit) {
  if (dim == tensor.sizes().size()) return append_element(text, tensor, offset);
  const std::int64_t size = tensor.sizes()[dim];
  const std::int64_t inner = size == 0 ? 0 : stride / size;
  text += '[';
  for (std::int64_t i = 0; i < size; ++i) {
    if (i > 0) text += ' ';
    if (size > limit && i == limit - limit / 2) {
      text += "… ";
      i = size - limit / 2;
    }
    append_dim(text, tensor, dim + 1, offset + i * inner, inner, limit);
  }
  text += ']';
}

}  // namespace

Tensor::Tensor(DType dtype, std::vector<std::int64_t> sizes) : dtype_(dtype), sizes_(std::move(sizes)) {
  const Type type{dtype, Shape(std::span<const std::int64_t>(sizes_))};
  const std::int64_t bytes = type.bytes();
  try {
    auto storage = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes));
    data_ = storage->data();
    byte_count_ = storage->size();
    owner_ = std::move(storage);
  } catch (const std::bad_alloc&) {
    throw Error(Code::resource, "out of memory: a tensor " + type.str() + " needs " + std::to_string(bytes) + " bytes");
  } catch (const std::length_error&) {
    throw Error(Code::resource, "out of memory: a tensor " + type.str() + " needs " + std::to_string(bytes) + " bytes");
  }
}

Tensor::Tensor(DType dtype, std::vector<std::int64_t> sizes, std::shared_ptr<const void> owner,
               std::span<const std::byte> bytes)
    : dtype_(dtype),
      sizes_(std::move(sizes)),
      owner_(std::move(owner)),
      data_(bytes.data()),
      byte_count_(bytes.size()) {
  if (static_cast<std::int64_t>(byte_count_) != type().bytes())
    throw Error(Code::file, "a tensor " + type().str() + " needs " + std::to_string(type().bytes()) + " bytes, " +
                                std::to_string(byte_count_) + " are there");
}

Tensor Tensor::copy_of(DType dtype, std::vector<std::int64_t> sizes, std::span<const std::byte> bytes) {
  const Type type{dtype, Shape(std::span<const std::int64_t>(sizes))};
  if (static_cast<std::int64_t>(bytes.size()) != type.bytes())
    throw Error(Code::file, "a tensor " + type.str() + " needs " + std::to_string(type.bytes()) + " bytes, " +
                                std::to_string(bytes.size()) + " are there");
  if (dtype == DType::boolean && !are_bools(bytes))
    throw Error(Code::file, "a bool tensor has bytes other than 0 and 1");
  Tensor tensor(dtype, std::move(sizes));
  std::copy(bytes.begin(), bytes.end(), tensor.mutable_bytes().begin());
  return tensor;
}

Tensor Tensor::of_values(DType dtype, std::vector<std::int64_t> sizes, std::span<const std::byte> values) {
  Tensor tensor(dtype, std::move(sizes));
  if (tensor.byte_count_ != values.size())
    throw Error(Code::plan, std::to_string(values.size() / size_of(dtype)) + " values are given for a tensor " +
                                tensor.type().str())
        .hint("give {}, the product of the sizes", tensor.count());
  std::copy(values.begin(), values.end(), tensor.mutable_bytes().begin());
  return tensor;
}

Tensor Tensor::fetched_to(std::int32_t task) {
  Tensor tensor;
  tensor.fetched_to_ = task;
  return tensor;
}

std::int64_t Tensor::count() const {
  return checked_count(sizes());
}

Type Tensor::type() const {
  return {dtype(), Shape(std::span<const std::int64_t>(sizes_))};
}

const std::byte* Tensor::element(std::int64_t i) const {
  if (const std::size_t all = bytes().size() / size_of(dtype_); i < 0 || static_cast<std::size_t>(i) >= all)
    throw Error(Code::usage, "a tensor " + type().str() + " has no element " + std::to_string(i))
        .hint("its elements have the numbers from 0 to count() - 1, over all dims");
  return data_ + static_cast<std::size_t>(i) * size_of(dtype_);
}

std::int64_t Tensor::position(std::span<const std::int64_t> index) const {
  const std::vector<std::int64_t>& all = sizes();
  bool is_there = index.size() == all.size();
  std::int64_t position = 0;
  for (std::size_t d = 0; is_there && d < all.size(); ++d) {
    is_there = index[d] >= 0 && index[d] < all[d];
    position = position * all[d] + index[d];
  }
  if (is_there) return position;
  throw Error(Code::usage, "a tensor " + type().str() + " has no element at " + Shape(index).str())
      .hint("at() takes an index for each dim, from 0 to its size - 1");
}

double Tensor::number(std::int64_t i) const {
  return dispatch(dtype_, [&](auto zero) {
    decltype(zero) value;
    std::memcpy(&value, element(i), sizeof value);
    return static_cast<double>(value);
  });
}

std::int64_t Tensor::integer(std::int64_t i) const {
  return dispatch(dtype_, [&](auto zero) {
    decltype(zero) value;
    std::memcpy(&value, element(i), sizeof value);
    return static_cast<std::int64_t>(value);
  });
}

std::string Tensor::str(int limit) const {
  std::string text;
  append_dim(text, *this, 0, 0, count(), limit);
  return text;
}

bool Tensor::same_bits(const Tensor& other) const {
  return dtype() == other.dtype() && sizes_ == other.sizes_ && std::ranges::equal(bytes(), other.bytes());
}

void Tensor::check_dtype(DType wanted) const {
  if (wanted == dtype()) return;
  throw Error(Code::plan, "the elements of a tensor " + type().str() + " are not " + std::string(name_of(wanted)))
      .hint("data<T>() and mutable_data<T>() take the C++ type of " + std::string(name_of(dtype_)) +
            "; number(i), integer(i) and at(i, j) convert an element");
}

void Tensor::reject_undefined() const {
  if (fetched_to_ >= 0)
    throw Error(Code::usage, "this value was fetched to task {}, which another process runs: it is not here",
                fetched_to_)
        .hint(
            "use the value on that task only (where Tensor::defined() is true), or set RunRequest::fetch_to to the "
            "task "
            "that needs it");
  throw Error(Code::usage, "this tensor is undefined: it was made without a value, or it was moved from")
      .hint("assign a tensor that has a value; Tensor::defined() tells");
}

bool are_bools(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
}

}  // namespace ferry
