// RunSettings: the settings that decide the result of a run, besides the values of its variables. Checkpoints record
// them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files/files.hpp"
#include "graph/file/tensor_file.hpp"
#include "graph/graph.hpp"
#include "graph/types/batches.hpp"

namespace ferry {

/// The settings of the ops that a request runs. All maps are by the op's name, values are texts.
struct RunSettings {
  using OfOps = std::map<std::string, std::map<std::string, std::string>>;

  std::map<std::string, Batches> batches;  ///< of ops that give the rows of a step
  OfOps data;                              ///< ops that read the rows: attributes, and the content of their files
  OfOps ops;                               ///< other ops: constants with one element, attributes, and fed numbers
  std::string graph;                       ///< hash of the ops and of their inputs

  bool operator==(const RunSettings&) const = default;
};

/// The size of a file below `root` and a hash of samples of the file, as text; for a folder, a hash of its files. Empty
/// if the file cannot be read.
[[nodiscard]] std::string content_of(FileSystem& files, const std::string& root, std::string path);

/// The settings of the ops that give `values` and run `targets`. Files are read below `data_folder`; the content of a
/// file is left out if the file cannot be read here. A large file is read in samples.
[[nodiscard]] RunSettings settings_of(const Graph& graph, std::span<const ValueId> values,
                                      std::span<const OpId> targets, const NamedTensors& feeds, FileSystem& files,
                                      const std::string& data_folder);

/// The way in which a run continues from a checkpoint that was saved with other settings.
struct Continuation {
  std::int64_t step = 0;             ///< the next step, counted in batches of this run
  std::vector<std::string> changes;  ///< for the log: settings that differ, but allow the run to continue
};

/// Compares the settings of this run with the settings of a checkpoint after `step` steps. A run with another batch
/// size continues at the same row if one of its batches begins there. Error(usage), which begins with `checkpoint`,
/// lists the settings that would make the run leave out rows or use them twice.
[[nodiscard]] Continuation compare_settings(const RunSettings& saved, const RunSettings& now, std::int64_t step,
                                            const Graph& graph, const std::string& checkpoint);

}  // namespace ferry
