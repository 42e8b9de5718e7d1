#include "graph/types/shape.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ferry {

std::string Dim::str() const {
  if (bounded_) return "<=" + std::to_string(size_);
  if (known()) return std::to_string(size_);
  return symbol_.empty() ? "?" : symbol_;
}

Shape::Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
Shape::Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
Shape::Shape(std::span<const std::int64_t> sizes) : dims_(std::vector<Dim>(sizes.begin(), sizes.end())) {}

Dim& Shape::operator[](int i) {
  return dims_.own()[i];
}

void Shape::push_back(Dim dim) {
  dims_.own().push_back(std::move(dim));
}

bool Shape::known() const {
  return std::all_of(dims_.begin(), dims_.end(), [](const Dim& d) { return d.known(); });
}

bool Shape::bounded() const {
  return std::any_of(dims_.begin(), dims_.end(), [](const Dim& d) { return d.bounded(); });
}

std::vector<std::int64_t> Shape::sizes() const {
  std::vector<std::int64_t> sizes;
  sizes.reserve(dims_.size());
  for (const Dim& dim : dims_) sizes.push_back(dim.size());
  return sizes;
}

std::int64_t Shape::count() const {
  return checked_count(sizes());
}

std::string Shape::str() const {
  std::string text = "[";
  for (const Dim& dim : dims_) text.append(text.size() > 1 ? "," : "").append(dim.str());
  return text + "]";
}

std::int64_t checked_count(std::span<const std::int64_t> sizes) {
  // A size of 0 makes the count 0. The product of the other sizes must not overflow either, because strides are
  // computed from it.
  std::int64_t count = 1;
  std::int64_t nonzero = 1;
  for (std::int64_t size : sizes) {
    if (size < 0) throw Error(Code::plan, "negative dim {}", size).hint("sizes are 0 or more");
    if (__builtin_mul_overflow(nonzero, std::max<std::int64_t>(size, 1), &nonzero))
      throw Error(Code::plan, "the product of the dims overflows 64 bits");
    count *= size == 0 ? 0 : 1;
  }
  return count == 0 ? 0 : nonzero;
}

std::int64_t Type::bytes() const {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.count(), static_cast<std::int64_t>(size_of(dtype)), &bytes))
    throw Error(Code::plan, str() + ": its size in bytes overflows 64 bits");
  return bytes;
}

std::string Type::str() const {
  return std::string(name_of(dtype)) + shape.str();
}

}  // namespace ferry
