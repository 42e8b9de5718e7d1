// Reads and writes tensors in npy files.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/types/tensor.hpp"

namespace ferry {

/// Reads a tensor. Calls `accept` with the type in the header before it reads the data; `accept` may throw to reject
/// the file. Error(file) names the file and its fault.
[[nodiscard]] Tensor read_npy_file(const std::string& path, const std::function<void(const Type&)>& accept = {});

/// Makes the folder, and writes folder/NAME.npy for each tensor. In file names, a leading '.' and all characters except
/// letters, digits, '.', '-' and '_' become '_', so that all files are inside the folder. Error(usage) if two names
/// become the same, or if npy files do not have the dtype of a tensor.
void write_npy_files(const std::string& folder, std::span<const std::string> names, std::span<const Tensor> tensors);

/// Throws the errors of write_npy_files() for tensors of these names and dtypes.
void check_npy_files(std::span<const std::string> names, std::span<const DType> dtypes);

/// The file name, without ".npy", that write_npy_files gives to a value of that name.
[[nodiscard]] std::string file_name_of(const std::string& name);

}  // namespace ferry
