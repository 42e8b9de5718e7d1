// Named tensors as safetensors files: large constants beside a graph, models and checkpoints.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/files/files.hpp"
#include "base/files/safetensors.hpp"
#include "graph/types/tensor.hpp"

#pragma GCC visibility push(default)
namespace ferry {

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// The dtype as safetensors files write it: "F32".
[[nodiscard]] std::string_view safetensors_name(DType dtype);

/// Reads the tensors of a file; they share one copy of its bytes. Throws Error(file) like read_safetensors, and for a
/// dtype that ferry does not have.
[[nodiscard]] NamedTensors read_tensors(FileSystem& files, const std::string& path);

/// Like read_tensors(), for a file that has been read; `path` is for messages.
[[nodiscard]] NamedTensors tensors_of(SafeTensors file, const std::string& path);

/// Writes a file, whole or not at all. Throws the errors of write_safetensors.
void write_tensors(FileSystem& files, const std::string& path, const NamedTensors& tensors);

}  // namespace ferry
#pragma GCC visibility pop
