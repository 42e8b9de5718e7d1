#include "runner/files/tensor_files.hpp"

#include <map>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/format.hpp"
#include "graph/file/tensor_file.hpp"

namespace ferry {
namespace {

void require_npy(DType dtype, const std::string& name) {
  if (!npy_descr_of(dtype).empty()) return;
  throw Error(Code::usage, "--out: '{}' is {}, and npy files have no {}", name, name_of(dtype), name_of(dtype))
      .hint("cast it to float32 in the graph; without --out, ferry prints it");
}

}  // namespace

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
  for (std::size_t i = 0; i < names.size(); ++i) require_npy(dtypes[i], names[i]);
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
    write_tensor(folder + "/" + file_name_of(names[i]) + ".npy", tensors[i]);
}

}  // namespace ferry
