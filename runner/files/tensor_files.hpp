// Tensors in npy files.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/types/tensor.hpp"

namespace ferry {

/// Error(file) names the file and what is wrong with it. `accept` is told what its header says before anything else is
/// read, and throws what it does not accept.
[[nodiscard]] Tensor read_npy_file(const std::string& path, const std::function<void(const Type&)>& accept = {});

/// Writes folder/NAME.npy for each, making the folder. In a file's name all but letters, digits, '.', '-' and '_'
/// become '_', so that no name leads out of the folder; Error(usage) when two names become one.
void write_npy_files(const std::string& folder, std::span<const std::string> names, std::span<const Tensor> tensors);

/// The name of the file for a value of that name, without ".npy".
[[nodiscard]] std::string file_name_of(const std::string& name);

}  // namespace ferry
