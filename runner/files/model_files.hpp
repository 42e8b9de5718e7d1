// Saved models: a folder with the variables in safetensors form and a manifest (docs/model_format.md).
#pragma once

#include <string>

#include "executor/session/session.hpp"

namespace ferry {

/// Reads the variables, by name. Error(file) names the file in the folder and what is wrong with it: it is missing,
/// damaged (its hash is not the manifest's) or written by a newer ferry.
[[nodiscard]] TensorMap read_model(const std::string& folder);

/// Writes the folder whole or not at all: under a temporary name beside it, which is then renamed. Replaces a model or
/// an empty folder of that name; Error(usage) if anything else is there.
void write_model(const std::string& folder, const TensorMap& variables);

}  // namespace ferry
