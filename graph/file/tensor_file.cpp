#include "graph/file/tensor_file.hpp"

#include <memory>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/files/npy.hpp"
#include "base/files/safetensors.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::pair<DType, std::string_view> kNames[] = {
    {DType::boolean, "BOOL"}, {DType::uint8, "U8"},    {DType::uint16, "U16"},    {DType::uint32, "U32"},
    {DType::uint64, "U64"},   {DType::int8, "I8"},     {DType::int16, "I16"},     {DType::int32, "I32"},
    {DType::int64, "I64"},    {DType::float16, "F16"}, {DType::bfloat16, "BF16"}, {DType::float32, "F32"},
    {DType::float64, "F64"}};

DType dtype_of_npy(std::string_view descr, const std::string& path) {
  for (DType dtype : kDTypes)
    if (npy_dtype(descr) == npy_dtype(npy_descr_of(dtype))) return dtype;
  throw Error(Code::file, "{}: elements are {}, which ferry does not compute with", path, descr)
      .hint("convert it to one of " + kAnyType.str());
}

DType dtype_of(const SafeTensor& tensor, const std::string& path) {
  for (const auto& [dtype, name] : kNames)
    if (name == tensor.dtype) return dtype;
  std::vector<std::string> known;
  for (const auto& [dtype, name] : kNames) known.emplace_back(name);
  throw Error(Code::file, "{:.400}: the tensor {:?} is of {}; ferry has {}", path, tensor.name, tensor.dtype,
              as_is(join(known, ", ")));
}

}  // namespace

std::string_view safetensors_name(DType wanted) {
  for (const auto& [dtype, name] : kNames)
    if (dtype == wanted) return name;
  return {};
}

Tensor read_tensor(const std::string& path, const std::function<void(const Type&)>& accept) {
  DType dtype = DType::float32;
  const auto look = [&](std::string_view descr, std::span<const std::int64_t> shape) {
    dtype = dtype_of_npy(descr, path);
    if (accept) accept({dtype, Shape(shape)});
  };
  auto array = std::make_shared<NpyArray>(read_npy(local_files(), path, kNoLimit, look));
  return Tensor(dtype, array->shape, array, array->bytes);
}

void write_tensor(const std::string& path, const Tensor& tensor) {
  const std::string_view descr = npy_descr_of(tensor.dtype());
  if (descr.empty())
    throw Error(Code::usage, "{:?}: npy files have no {}", path, name_of(tensor.dtype()))
        .hint("cast it to float32, or write a safetensors file by write_tensors()");
  write_npy(local_files(), path, descr, tensor.sizes(), tensor.bytes());
}

NamedTensors read_tensors(FileSystem& files, const std::string& path) {
  return tensors_of(read_safetensors(files, path), path);
}

NamedTensors read_tensors(const std::string& path) {
  return read_tensors(local_files(), path);
}

NamedTensors tensors_of(SafeTensors file, const std::string& path) {
  const auto content = std::make_shared<const SafeTensors>(std::move(file));
  NamedTensors result;
  for (const SafeTensor& tensor : content->tensors)
    result.emplace(tensor.name, Tensor(dtype_of(tensor, path), tensor.shape, content, tensor.bytes));
  return result;
}

void write_tensors(FileSystem& files, const std::string& path, const NamedTensors& tensors) {
  std::vector<SafeTensor> list;
  for (const auto& [name, tensor] : tensors)
    list.push_back({name, std::string(safetensors_name(tensor.dtype())), tensor.sizes(), tensor.bytes()});
  write_safetensors(files, path, list);
}

void write_tensors(const std::string& path, const NamedTensors& tensors) {
  write_tensors(local_files(), path, tensors);
}

}  // namespace ferry
