// The files of a checkpoint (docs/reference/checkpoint_format.md): a manifest, and a safetensors file for each task.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/files.hpp"
#include "executor/state/run_settings.hpp"
#include "graph/file/tensor_file.hpp"

namespace ferry {

/// A part of a variable, stored in the file of `task` under the variable's name.
struct SavedPart {
  int task = 0;
  std::vector<std::int64_t> begin, sizes;
  std::string hash;  ///< hex_digest of its bytes
};

struct SavedVariable {
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  std::vector<SavedPart> parts;  ///< together the whole value
  [[nodiscard]] Type type() const { return {dtype, Shape(std::span<const std::int64_t>(sizes))}; }
};
using SavedVariables = std::map<std::string, SavedVariable, std::less<>>;

struct Manifest {
  std::int64_t version = 1;  ///< of the format; if it is above kCheckpointVersion, nothing else is read
  std::int64_t step = 0;     ///< number of steps of the request that was running
  int tasks = 1;
  std::uint64_t seed = 0;
  std::map<std::string, std::int64_t> steps;  ///< number of steps of each request, by Agreed::request
  std::set<std::string, std::less<>> unset;   ///< variables of the graph without a value
  SavedVariables variables;
  std::optional<RunSettings> settings;  ///< none: saved by a ferry that did not record them
};
inline constexpr std::int64_t kCheckpointVersion = 1;
inline constexpr const char* kManifestFile = "manifest.json";

/// The name of a checkpoint's folder, "step-0000000120"; and the step of such a name, -1 for any other name. Newer
/// checkpoints of a folder have higher numbers. So after a run has continued with larger batches, which count fewer
/// steps, the number is greater than the step.
[[nodiscard]] std::string checkpoint_name(std::int64_t step);
[[nodiscard]] std::int64_t step_of(const std::string& name);
/// The file of a task's parts, "task-00002.safetensors". File names never contain names of tensors, which are
/// untrusted.
[[nodiscard]] std::string shard_name(int task);

[[nodiscard]] std::string manifest_text(const Manifest& manifest);
/// Error(file) for a manifest that is missing, of another format, or damaged (its hash is not the one in it).
[[nodiscard]] Manifest read_manifest(FileSystem& files, const std::string& folder);
/// The same for the text of a manifest.
[[nodiscard]] Manifest parse_manifest(std::string_view text, const std::string& folder);

/// The parts of a process as text, with which the process describes its parts to the process that writes the manifest.
[[nodiscard]] std::string parts_text(const SavedVariables& variables);
[[nodiscard]] SavedVariables parse_parts(std::string_view text, const std::string& file);
/// Adds the parts of `more` to the parts of `variables`.
void merge(SavedVariables& variables, const SavedVariables& more);

/// Reads one task's file after another, and calls visit(name, part, bytes) for each part after its hash was compared.
/// Error(file) names the file and the tensor that is missing, differs or is damaged.
using VisitPart = std::function<void(const std::string&, const SavedPart&, std::span<const std::byte>)>;
void read_parts(FileSystem& files, const std::string& folder, const Manifest& manifest, const VisitPart& visit);
/// The parts in one task's file; none if the task saved none. Errors as read_parts.
[[nodiscard]] NamedTensors read_parts_of(FileSystem& files, const std::string& folder, const Manifest& manifest,
                                         int task);
/// The whole values of all variables. Memory: the values and one file. Errors as read_parts.
[[nodiscard]] NamedTensors read_variables(FileSystem& files, const std::string& folder, const Manifest& manifest);

}  // namespace ferry
