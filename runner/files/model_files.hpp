// Saved models: a folder with the variables in safetensors form and a manifest (docs/reference/model_format.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/folder_lock.hpp"
#include "executor/session/session.hpp"

namespace ferry {

/// Reads the variables, by name. Error(file) names the file in the folder and its fault: it is missing, damaged (its
/// hash is not the manifest's) or written by a newer ferry. Another run may save into the folder meanwhile.
[[nodiscard]] TensorMap read_model(const std::string& folder);

/// The folder in which a run saves its model at the end. The folder is made and locked before the first step, so that
/// an error that prevents saving is found before anything is computed. Used from one thread.
///
/// The model is first written whole into the subfolder ".saving". Then two renames put its files in place: first the
/// variables, then the manifest. Each rename replaces a file atomically, on all file systems. After a crash between the
/// two, read_model() takes the manifest in ".saving", and the next ModelFolder completes the save.
class ModelFolder {
 public:
  /// Error(usage) if the folder has anything but a model, if it cannot be written, or if another run saves there.
  explicit ModelFolder(const std::string& folder);
  /// Removes ".saving", and the folders that this has made if nothing was saved.
  ~ModelFolder();
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  /// Writes the model in place of the old one. If writing fails, the old model stays. If the new model is complete but
  /// cannot be put in place, it stays in ".saving", and the error names this folder.
  void write(const TensorMap& variables);

 private:
  void put_in_place() const;
  void clear() const;
  void remove_staging() noexcept;

  std::string folder_, staging_;
  std::vector<std::string> made_;  ///< folders that this made, the innermost first
  std::optional<FolderLock> lock_;
  bool keeps_staging_ = false;
};

}  // namespace ferry
