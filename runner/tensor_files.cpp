#include "runner/tensor_files.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "base/files.hpp"
#include "base/npy.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

struct Names {
  DType dtype;
  std::string_view npy;
};
constexpr std::array<Names, 6> kNames{{{DType::boolean, "|b1"},
                                       {DType::uint8, "|u1"},
                                       {DType::int32, "<i4"},
                                       {DType::int64, "<i8"},
                                       {DType::float32, "<f4"},
                                       {DType::float64, "<f8"}}};

const Names& names_of(DType dtype) {
  return *std::find_if(kNames.begin(), kNames.end(), [&](const Names& names) { return names.dtype == dtype; });
}

DType dtype_of_npy(const NpyArray& array, const std::string& path) {
  for (const Names& names : kNames)
    if (npy_dtype(array.descr) == npy_dtype(names.npy)) return names.dtype;
  throw Error(Code::file,
              escaped(path) + ": elements are " + escaped(array.descr) + ", which ferry does not compute with")
      .hint("convert it to bool, uint8, int32, int64, float32 or float64");
}

}  // namespace

Tensor read_npy_file(const std::string& path) {
  auto array = std::make_shared<NpyArray>(read_npy(local_files(), path));
  const DType dtype = dtype_of_npy(*array, path);
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

void write_npy_files(const std::string& folder, std::span<const std::string> names, std::span<const Tensor> tensors) {
  std::map<std::string, std::string> files;
  for (const std::string& name : names)
    if (const auto [at, fresh] = files.emplace(file_name_of(name), name); !fresh)
      throw Error(Code::usage, "--out: '" + escaped(at->second) + "' and '" + escaped(name) + "' would both be " +
                                   at->first + ".npy")
          .hint("--fetch one of the two");
  local_files().make_folders(folder);
  for (std::size_t i = 0; i < names.size(); ++i)
    write_npy(local_files(), folder + "/" + file_name_of(names[i]) + ".npy", names_of(tensors[i].dtype()).npy,
              tensors[i].sizes(), tensors[i].bytes());
}

}  // namespace ferry
