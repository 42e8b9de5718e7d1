// Writes the results of a run as npy files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/types/tensor.hpp"

namespace ferry {

/// Makes the folder, and writes folder/NAME.npy for each tensor. In file names, a leading '.' and all characters except
/// letters, digits, '.', '-' and '_' become '_', so that all files are inside the folder. Error(usage) if two names
/// become the same, or if npy files do not have the dtype of a tensor.
void write_npy_files(const std::string& folder, std::span<const std::string> names, std::span<const Tensor> tensors);

/// Throws the errors of write_npy_files() for tensors of these names and dtypes.
void check_npy_files(std::span<const std::string> names, std::span<const DType> dtypes);

/// The file name, without ".npy", that write_npy_files gives to a value of that name.
[[nodiscard]] std::string file_name_of(const std::string& name);

}  // namespace ferry
