// Saved models: a folder with the variables in safetensors form and a manifest (docs/reference/model_format.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/folder_lock.hpp"
#include "executor/session/session.hpp"

namespace ferry {

/// Reads the variables, by name. Error(file) names the file in the folder and its fault: it is missing, damaged (its
/// hash is not the manifest's) or written by a newer ferry. The folder may be one that a run saves into.
[[nodiscard]] TensorMap read_model(const std::string& folder);

/// The folder in which a run saves its model at the end. It is made and locked before the first step, so that what
/// keeps the model from being saved is found before anything is computed. Used from one thread.
///
/// The model is first written whole into the subfolder ".saving". Then two renames of files put it in place: of the
/// variables, then of the manifest. Each replaces a file atomically, which all file systems can do. After a crash
/// between the two, read_model() takes the manifest in ".saving"; the next ModelFolder completes what was begun.
class ModelFolder {
 public:
  /// Error(usage) if there is anything but a model or an empty folder, the folder cannot be written, or another run
  /// saves there.
  explicit ModelFolder(const std::string& folder);
  /// Removes ".saving", and the folder if this made it and nothing was saved.
  ~ModelFolder();
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  /// Writes the model, in place of the one that is there. If writing fails, that one stays. If the new model is
  /// complete and only cannot be put in place, it stays in ".saving", which the error names.
  void write(const TensorMap& variables);

 private:
  void put_in_place() const;
  void clear() const;

  std::string folder_, staging_;
  std::vector<std::string> made_;  ///< folders that this made, the innermost first
  std::optional<FolderLock> lock_;
  bool keeps_staging_ = false;
};

}  // namespace ferry
