#include "ops/onnx/tensor.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstring>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/files/open_file.hpp"
#include "base/format.hpp"
#include "graph/file/graph_file.hpp"
#include "graph/op/infer.hpp"
#include "ops/onnx/dtypes.hpp"

namespace ferry::onnx {
namespace {

using onnx_file::TensorProto;

[[noreturn]] void fail(const std::string& why) {
  throw Error(Code::file, why);
}

std::vector<std::int64_t> sizes_of(const google::protobuf::RepeatedField<std::int64_t>& dims) {
  if (dims.size() > kMaxRank)
    fail(std::to_string(dims.size()) + " dims; at most " + std::to_string(kMaxRank) + " are allowed");
  std::vector<std::int64_t> sizes(dims.begin(), dims.end());
  for (const std::int64_t size : sizes)
    if (size < 0) fail("negative dim " + std::to_string(size));
  return sizes;
}

std::uint64_t bytes_of(DType dtype, const std::vector<std::int64_t>& sizes) {
  const auto bytes = tensor_bytes(sizes, size_of(dtype));
  if (!bytes) fail("its dims overflow: " + Type{dtype, Shape(std::span<const std::int64_t>(sizes))}.str());
  return *bytes;
}

/// The number with this key in the tensor's list external_data, or `otherwise` if the key is absent.
std::uint64_t number(const TensorProto& from, std::string_view key, std::uint64_t otherwise) {
  for (const auto& entry : from.external_data()) {
    if (entry.key() != key) continue;
    std::uint64_t value = 0;
    const char* end = entry.value().data() + entry.value().size();
    if (const auto [at, error] = std::from_chars(entry.value().data(), end, value); error != std::errc() || at != end)
      fail(formatted("its external {} is {:?}", as_is(key), entry.value()));
    return value;
  }
  return otherwise;
}

/// Whether the number is in the dtype's range; then its low bits are the element. int32_data has the bits of float16
/// and bfloat16 as integers.
template <std::integral Number>
bool is_in_range(DType dtype, Number number) {
  switch (dtype) {
    case DType::int8:
      return std::in_range<std::int8_t>(number);
    case DType::uint8:
      return std::in_range<std::uint8_t>(number);
    case DType::int16:
      return std::in_range<std::int16_t>(number);
    case DType::uint16:
    case DType::float16:
    case DType::bfloat16:
      return std::in_range<std::uint16_t>(number);
    case DType::uint32:
      return std::in_range<std::uint32_t>(number);
    case DType::boolean:
      return number == 0 || number == 1;
    default:
      return true;
  }
}
bool is_in_range(DType, double) {
  return true;
}

/// Makes a tensor from the numbers of a field, which may be wider than the dtype.
template <class Numbers>
Tensor from_numbers(DType dtype, std::vector<std::int64_t> sizes, const Numbers& numbers) {
  const std::size_t width = size_of(dtype);
  if (static_cast<std::uint64_t>(numbers.size()) * width != bytes_of(dtype, sizes))
    fail(std::to_string(numbers.size()) + " numbers for " +
         Type{dtype, Shape(std::span<const std::int64_t>(sizes))}.str());
  Tensor tensor(dtype, std::move(sizes));
  std::byte* to = tensor.mutable_bytes().data();
  for (const auto element : numbers) {
    if (dtype == DType::boolean && !is_in_range(dtype, element)) fail("a bool that is neither 0 nor 1");
    if (!is_in_range(dtype, element)) fail(std::to_string(element) + " is no number of " + std::string(name_of(dtype)));
    std::memcpy(to, &element, width);
    to += width;
  }
  return tensor;
}

bool has_numbers(const TensorProto& from) {
  return from.float_data_size() + from.double_data_size() + from.int32_data_size() + from.int64_data_size() +
             from.uint64_data_size() >
         0;
}

/// Makes a tensor from raw_data, or from the field that ONNX has for the dtype.
Tensor with_bytes(const TensorProto& from, DType dtype, std::vector<std::int64_t> sizes) {
  if (from.has_raw_data() && has_numbers(from)) fail("it has raw_data and a list of numbers");
  if (from.has_raw_data())
    return Tensor::copy_of(dtype, std::move(sizes),
                           std::as_bytes(std::span(from.raw_data().data(), from.raw_data().size())));
  switch (from.data_type()) {
    case TensorProto::FLOAT:
      return from_numbers(dtype, std::move(sizes), from.float_data());
    case TensorProto::DOUBLE:
      return from_numbers(dtype, std::move(sizes), from.double_data());
    case TensorProto::INT64:
      return from_numbers(dtype, std::move(sizes), from.int64_data());
    case TensorProto::UINT32:
    case TensorProto::UINT64:
      return from_numbers(dtype, std::move(sizes), from.uint64_data());
    default:
      return from_numbers(dtype, std::move(sizes), from.int32_data());
  }
}

}  // namespace

FileBytes ExternalData::read(const std::string& location) const {
  const bool goes_up = ("/" + location + "/").find("/../") != std::string::npos;
  const std::string real = goes_up ? "" : real_path(folder_ + "/" + location);
  const bool follows_link = real != normal_path(real_path(folder_) + "/" + location);
  if (follows_link && !real_folder_.empty() && real.starts_with(real_folder_ + "/"))
    return files_.read_beneath(real_folder_, std::string_view(real).substr(real_folder_.size() + 1));
  return files_.read_beneath(folder_, location);
}

std::shared_ptr<const FileBytes> ExternalData::file(const std::string& location) {
  auto& known = read_[location];
  if (!known) known = std::make_shared<const FileBytes>(read(location));
  return known;
}

Tensor ExternalData::tensor(const TensorProto& from, DType dtype, std::vector<std::int64_t> sizes) {
  if (from.has_raw_data() || has_numbers(from)) fail("it has external data and data of its own");
  std::string location;
  for (const auto& entry : from.external_data()) {
    if (entry.key() != "location") continue;
    if (!location.empty()) fail("its external data have two locations");
    location = entry.value();
  }
  if (location.empty()) fail("its external data have no location");
  if (location.find('\0') != std::string::npos)
    fail(formatted("the location {:?} of its external data has NUL", location));
  const std::shared_ptr<const FileBytes> bytes = file(location);
  const std::uint64_t wanted = bytes_of(dtype, sizes);
  const std::uint64_t offset = number(from, "offset", 0);
  const std::uint64_t length = number(from, "length", wanted);
  if (length != wanted)
    fail("its external data are " + std::to_string(length) + " bytes, " +
         Type{dtype, Shape(std::span<const std::int64_t>(sizes))}.str() + " has " + std::to_string(wanted));
  if (offset > bytes->size() || wanted > bytes->size() - offset)
    fail(formatted("its external data, {} bytes from {}, are not in {:?} of {} bytes", wanted, offset, location,
                   bytes->size()));
  const auto part = bytes->span().subspan(offset, wanted);
  if (offset % size_of(dtype) != 0 || dtype == DType::boolean) return Tensor::copy_of(dtype, std::move(sizes), part);
  return {dtype, std::move(sizes), bytes, part};
}

std::optional<Tensor> tensor_of(const TensorProto& from, ExternalData& external) {
  const auto dtype = dtype_of_number(from.data_type());
  std::vector<std::int64_t> sizes = sizes_of(from.dims());
  if (!dtype) return std::nullopt;
  static_cast<void>(bytes_of(*dtype, sizes));
  if (from.data_location() == TensorProto::EXTERNAL) return external.tensor(from, *dtype, std::move(sizes));
  return with_bytes(from, *dtype, std::move(sizes));
}

std::optional<Tensor> tensor_of(const onnx_file::SparseTensorProto& from, ExternalData& external) {
  const auto values = tensor_of(from.values(), external);
  if (!values) return std::nullopt;
  const auto indices = tensor_of(from.indices(), external);
  const std::vector<std::int64_t> sizes = sizes_of(from.dims());
  if (bytes_of(values->dtype(), sizes) > kMaxGraphBytes) fail("its dims overflow");
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (!indices || indices->dtype() != DType::int64 || values->rank() != 1) fail("it is no sparse tensor");
  const bool flat = indices->rank() == 1;
  if (indices->count() != values->count() * (flat ? 1 : rank)) fail("it has not one index for each of its values");
  Tensor dense(values->dtype(), sizes);
  const std::size_t width = size_of(values->dtype());
  std::set<std::int64_t> set;
  for (std::int64_t i = 0; i < values->count(); ++i) {
    std::int64_t at = flat ? indices->integer(i) : 0;
    for (std::int64_t d = 0; d < rank && !flat; ++d) {
      const std::int64_t index = indices->integer(i * rank + d);
      if (index < 0 || index >= sizes[d]) fail("index " + std::to_string(index));
      at = at * sizes[d] + index;
    }
    if (at < 0 || at >= dense.count()) fail("index " + std::to_string(at) + " is outside");
    if (!set.insert(at).second) fail("two values for the element " + std::to_string(at));
    std::memcpy(dense.mutable_bytes().data() + static_cast<std::size_t>(at) * width,
                values->bytes().data() + static_cast<std::size_t>(i) * width, width);
  }
  return dense;
}

}  // namespace ferry::onnx
