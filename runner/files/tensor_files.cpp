#include "runner/files/tensor_files.hpp"

#include <map>
#include <memory>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/files/npy.hpp"
#include "base/format.hpp"

namespace ferry {
namespace {

DType dtype_of_npy(std::string_view descr, const std::string& path) {
  for (DType dtype : kDTypes)
    if (npy_dtype(descr) == npy_dtype(npy_descr_of(dtype))) return dtype;
  throw Error(Code::file, "{}: elements are {}, which ferry does not compute with", path, descr)
      .hint("convert it to one of " + kAnyType.str());
}

std::string_view descr_of(DType dtype, const std::string& name) {
  if (const std::string_view descr = npy_descr_of(dtype); !descr.empty()) return descr;
  throw Error(Code::usage, "--out: '{}' is {}, and npy files have no {}", name, name_of(dtype), name_of(dtype))
      .hint("cast it to float32 in the graph; without --out, ferry prints it");
}

}  // namespace

Tensor read_npy_file(const std::string& path, const std::function<void(const Type&)>& accept) {
  DType dtype = DType::float32;
  const auto look = [&](std::string_view descr, std::span<const std::int64_t> shape) {
    dtype = dtype_of_npy(descr, path);
    if (accept) accept({dtype, Shape(shape)});
  };
  auto array = std::make_shared<NpyArray>(read_npy(local_files(), path, kNoLimit, look));
  return Tensor(dtype, array->shape, array, array->bytes);
}

std::string file_name_of(const std::string& name) {
  std::string safe = name;
  for (char& c : safe) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    if (!plain) c = '_';
  }
  if (safe.starts_with(".")) safe[0] = '_';
  return safe;
}

void check_npy_files(std::span<const std::string> names, std::span<const DType> dtypes) {
  for (std::size_t i = 0; i < names.size(); ++i) static_cast<void>(descr_of(dtypes[i], names[i]));
  std::map<std::string, std::string> files;
  for (const std::string& name : names)
    if (const auto [at, fresh] = files.emplace(file_name_of(name), name); !fresh)
      throw Error(Code::usage, "--out: '{}' and '{}' would both be {}.npy", at->second, name, as_is(at->first))
          .hint("--fetch one of the two");
}

void write_npy_files(const std::string& folder, std::span<const std::string> names, std::span<const Tensor> tensors) {
  std::vector<DType> dtypes;
  for (const Tensor& tensor : tensors) dtypes.push_back(tensor.dtype());
  check_npy_files(names, dtypes);
  local_files().make_folders(folder);
  for (std::size_t i = 0; i < names.size(); ++i)
    write_npy(local_files(), folder + "/" + file_name_of(names[i]) + ".npy", npy_descr_of(dtypes[i]),
              tensors[i].sizes(), tensors[i].bytes());
}

}  // namespace ferry
