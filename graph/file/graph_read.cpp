#include "graph/file/graph_read.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "graph/legality.hpp"
#include "graph/op/infer.hpp"

namespace ferry::graph_read {
namespace {

[[noreturn]] void fail(const std::string& why) {
  throw Error(Code::file, why);
}

DType dtype(file::DType from) {
  for (DType known : kDTypes)
    if (static_cast<int>(known) == static_cast<int>(from)) return known;
  fail("a dtype is missing or unknown");
}

Dim dim(const file::Dim& from) {
  if (!from.has_size()) {
    if (from.bounded()) fail("a bounded dim has no bound");
    return from.symbol().empty() ? Dim::unknown() : Dim(std::string_view(from.symbol()));
  }
  if (from.size() < 0) fail("negative dim " + std::to_string(from.size()));
  if (from.has_symbol()) fail(formatted("a dim has both a size and the symbol {:?}", from.symbol()));
  return from.bounded() ? Dim::at_most(from.size()) : Dim(from.size());
}

/// Converts `number` to an element of type T. Floats may be NaN and infinities. Throws Error(file) if T cannot hold it.
template <class T, class Number>
T element(Number number) {
  if constexpr (is_float(dtype_of<T>())) {
    const double value = static_cast<double>(number);
    if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<T>::max()))
      fail("the number " + digits_text(value, 6) + " is no " + std::string(name_of(dtype_of<T>())));
    return static_cast<T>(number);
  } else if constexpr (std::is_integral_v<Number>) {
    if (static_cast<Number>(static_cast<T>(number)) != number || (number < 0 && !std::is_signed_v<T>))
      fail("the number " + std::to_string(number) + " is no " + std::string(name_of(dtype_of<T>())));
    return static_cast<T>(number);
  } else {
    fail("a tensor of " + std::string(name_of(dtype_of<T>())) + " needs ints, not floats");
  }
}

/// Returns a tensor from the field `ints` or `floats`.
template <class Numbers>
Tensor from_numbers(DType type, std::vector<std::int64_t> sizes, const Numbers& numbers) {
  if (checked_count(sizes) != numbers.size())
    fail("a tensor " + Type{type, Shape(std::span<const std::int64_t>(sizes))}.str() + " has " +
         std::to_string(numbers.size()) + " numbers");
  Tensor result(type, std::move(sizes));
  dispatch(type, [&](auto zero) {
    using T = decltype(zero);
    std::transform(numbers.begin(), numbers.end(), result.mutable_data<T>().begin(),
                   [](auto number) { return element<T>(number); });
  });
  return result;
}

Tensor from_beside(const file::Tensor& from, DType type, const std::vector<std::int64_t>& sizes,
                   const TensorBeside& beside) {
  Tensor tensor = beside ? beside(from.beside()) : Tensor();
  if (!tensor.defined()) fail(formatted("the tensor {:?} is not in the .safetensors file beside it", from.beside()));
  if (tensor.dtype() != type || tensor.sizes() != sizes)
    fail(formatted("the tensor {:?} should be {}, the .safetensors file has {}", from.beside(),
                   as_is(Type{type, Shape(std::span<const std::int64_t>(sizes))}.str()), as_is(tensor.type().str())));
  if (hash64(tensor.bytes()) != from.beside_hash())
    fail(formatted("the tensor {:?} in the .safetensors file is damaged, or belongs to another graph", from.beside()));
  return tensor;
}

AttrValue attr_value(const file::Attr& from, const TensorBeside& beside,
                     const std::function<SubgraphRef(std::uint32_t)>& body) {
  switch (from.value_case()) {
    case file::Attr::kBool:
      return from.bool_();
    case file::Attr::kInt:
      return static_cast<std::int64_t>(from.int_());
    case file::Attr::kFloat:
      return from.float_();
    case file::Attr::kString:
      return from.string();
    case file::Attr::kInts:
      return Ints(from.ints().value().begin(), from.ints().value().end());
    case file::Attr::kFloats:
      return Floats(from.floats().value().begin(), from.floats().value().end());
    case file::Attr::kDtype:
      return dtype(from.dtype());
    case file::Attr::kShape:
      return shape(from.shape());
    case file::Attr::kTensor:
      return tensor(from.tensor(), beside);
    case file::Attr::kBody:
      return body(from.body());
    case file::Attr::VALUE_NOT_SET:
      break;
  }
  fail(formatted("the attribute {:?} has no value that this ferry knows", from.name()));
}

}  // namespace

Shape shape(const file::Shape& from) {
  if (from.dim_size() > kMaxRank)
    fail("a shape of " + std::to_string(from.dim_size()) + " dims; at most " + std::to_string(kMaxRank) +
         " are allowed");
  Shape result;
  for (const file::Dim& one : from.dim()) result.push_back(dim(one));
  return result;
}

Type type(const file::Type& from) {
  return {dtype(from.dtype()), shape(from.shape())};
}

Tensor tensor(const file::Tensor& from, const TensorBeside& beside) {
  if (from.size_size() > kMaxRank)
    fail("a tensor of " + std::to_string(from.size_size()) + " dims; at most " + std::to_string(kMaxRank) +
         " are allowed");
  if (from.has_bytes() + from.has_ints() + from.has_floats() + from.has_beside() != 1)
    fail("a tensor needs exactly one of bytes, ints, floats and beside");
  const DType type = dtype(from.dtype());
  std::vector<std::int64_t> sizes(from.size().begin(), from.size().end());
  static_cast<void>(Type{type, Shape(std::span<const std::int64_t>(sizes))}.bytes());  // throws when it overflows
  if (from.has_ints()) return from_numbers(type, std::move(sizes), from.ints().value());
  if (from.has_floats()) return from_numbers(type, std::move(sizes), from.floats().value());
  if (from.has_beside()) return from_beside(from, type, sizes, beside);
  return Tensor::copy_of(type, std::move(sizes), std::as_bytes(std::span(from.bytes().data(), from.bytes().size())));
}

Mesh mesh(const file::Mesh& from) {
  Mesh result;
  for (const file::Mesh::Axis& axis : from.axis()) {
    check_name(axis.name(), "the name of a mesh's axis");
    if (axis.has_size() && axis.size() < 1) fail("a mesh's axis has the size " + std::to_string(axis.size()));
    result.axes.push_back({axis.name(), axis.has_size() ? axis.size() : Mesh::kOpen});
  }
  result.devices = DeviceSpec::parse(from.devices());
  return result;
}

Layout layout(const file::Layout& from) {
  Layout result;
  for (const file::Layout::Axis& axis : from.axis()) {
    switch (axis.kind()) {
      case file::Layout::Axis::REPLICATED:
        result.push_back(replicated());
        break;
      case file::Layout::Axis::SPLIT:
        if (axis.dim() >= kMaxRank) fail("a layout splits dim " + std::to_string(axis.dim()));
        result.push_back(split(static_cast<int>(axis.dim())));
        break;
      case file::Layout::Axis::PARTIAL: {
        const Reduce joins[] = {Reduce::sum, Reduce::max, Reduce::min};
        const auto* found = std::find_if(std::begin(joins), std::end(joins),
                                         [&](Reduce reduce) { return name_of(reduce) == axis.reduce(); });
        if (found == std::end(joins))
          fail(formatted("a partial layout joined by {:?}: sum, max or min", axis.reduce()));
        result.push_back(partial(*found));
        break;
      }
    }
  }
  return result;
}

Attrs attrs(const file::Op& from, const TensorBeside& beside, const std::function<SubgraphRef(std::uint32_t)>& body) {
  if (from.attr_size() > kMaxAttrs) fail("it has " + std::to_string(from.attr_size()) + " attributes");
  Attrs result;
  for (const file::Attr& one : from.attr()) {
    if (result.has(one.name())) fail(formatted("the attribute {:?} is there twice", one.name()));
    result.set(one.name(), attr_value(one, beside, body));
  }
  return result;
}

Reference reference(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return {text, 0};
  const std::string_view digits = text.substr(colon + 1);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return {text, 0};
  std::uint32_t output = std::numeric_limits<std::uint32_t>::max();  // the value if from_chars overflows
  std::from_chars(digits.data(), digits.data() + digits.size(), output);
  return {text.substr(0, colon), output};
}

}  // namespace ferry::graph_read
