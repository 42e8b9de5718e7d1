#include "graph/file/tensor_file.hpp"

#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::pair<DType, std::string_view> kNames[] = {
    {DType::boolean, "BOOL"}, {DType::uint8, "U8"},    {DType::uint16, "U16"},    {DType::uint32, "U32"},
    {DType::uint64, "U64"},   {DType::int8, "I8"},     {DType::int16, "I16"},     {DType::int32, "I32"},
    {DType::int64, "I64"},    {DType::float16, "F16"}, {DType::bfloat16, "BF16"}, {DType::float32, "F32"},
    {DType::float64, "F64"}};

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

NamedTensors read_tensors(FileSystem& files, const std::string& path) {
  return tensors_of(read_safetensors(files, path), path);
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

}  // namespace ferry
