// Saved models: a folder with the variables in safetensors form and a manifest (docs/model_format.md).
#pragma once

#include <string>

#include "executor/session/session.hpp"

namespace ferry {

/// The variables by name. Error(file) names the folder's file and what is wrong: missing, damaged (its hash is not the
/// manifest's), written by a newer ferry.
[[nodiscard]] TensorMap read_model(const std::string& folder);

/// Writes the folder whole or not at all: beside it under a temporary name, synced, then renamed. What was there before
/// is replaced; Error(usage) when that is no model.
void write_model(const std::string& folder, const TensorMap& variables);

}  // namespace ferry
