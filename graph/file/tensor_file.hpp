// Tensors in files: one tensor as an npy file of numpy, named tensors as a safetensors file. They need no graph. Graphs
// read such files by the functions of ops/data/data.hpp. All functions are thread-safe. Paths are relative to the
// current folder of the process.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "graph/types/tensor.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class FileSystem;
struct SafeTensors;

using NamedTensors = std::map<std::string, Tensor, std::less<>>;

/// The dtype as safetensors files write it: "F32".
[[nodiscard]] std::string_view safetensors_name(DType dtype);

/// Reads an npy file. A file in Fortran order becomes a tensor in C order, with the same sizes. Calls `accept` with the
/// dtype and shape in the header before it reads the elements; `accept` may throw to reject the file. Error(file) if
/// the file cannot be read, is damaged, or has elements that no DType describes, such as complex or big-endian numbers.
///
///     write_tensor("table.npy", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
///     read_tensor("table.npy");  // [[1 2 3] [4 5 6]]
[[nodiscard]] Tensor read_tensor(const std::string& path, const std::function<void(const Type&)>& accept = {});

/// Writes an npy file in C order, whole or not at all; replaces an existing file. Error(usage) for a tensor of
/// bfloat16, which npy files do not have, and for an undefined tensor. Error(usage) or Error(resource) if the file
/// cannot be written.
///
///     write_tensor("mask.npy", Tensor::of<bool>({2}, {true, false}));
///     read_tensor("mask.npy");  // [true false]
void write_tensor(const std::string& path, const Tensor& tensor);

/// Reads the tensors of a safetensors file; they share one copy of its bytes. Error(file) if the file cannot be read or
/// is damaged, or if a tensor has a dtype that no DType has.
///
///     write_tensors("two.safetensors", {{"w", Tensor::of<float>({1, 2})}, {"b", Tensor::scalar(3.0F)}});
///     read_tensors("two.safetensors").at("w");  // [1 2]
[[nodiscard]] NamedTensors read_tensors(FileSystem& files, const std::string& path);
[[nodiscard]] NamedTensors read_tensors(const std::string& path);

/// Like read_tensors(), for a file that has been read; `path` is for messages.
[[nodiscard]] NamedTensors tensors_of(SafeTensors file, const std::string& path);

/// Writes a safetensors file, whole or not at all; replaces an existing file. The tensors may have any dtype.
/// Error(usage) for an undefined tensor. Error(usage) or Error(resource) if the file cannot be written.
///
///     write_tensors("one.safetensors", {{"half", Tensor(DType::bfloat16, {2, 2})}});
///     read_tensors("one.safetensors").size();  // 1
void write_tensors(FileSystem& files, const std::string& path, const NamedTensors& tensors);
void write_tensors(const std::string& path, const NamedTensors& tensors);

}  // namespace ferry
#pragma GCC visibility pop
