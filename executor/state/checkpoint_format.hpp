// The files of a checkpoint (docs/checkpoint_format.md): a manifest beside a safetensors file for each task.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/files/files.hpp"
#include "graph/file/tensor_file.hpp"

namespace ferry {

/// A part of a variable, which is in the file of `task` under the variable's name.
struct SavedPart {
  int task = 0;
  std::vector<std::int64_t> begin, sizes;
  std::string hash;  ///< hex_digest of its bytes
};

struct SavedVariable {
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  std::vector<SavedPart> parts;  ///< together they make the whole
  [[nodiscard]] Type type() const { return {dtype, Shape(std::span<const std::int64_t>(sizes))}; }
};
using SavedVariables = std::map<std::string, SavedVariable, std::less<>>;

struct Manifest {
  std::int64_t version = 1;  ///< of the format; all else is empty where it is newer than kCheckpointVersion
  std::int64_t step = 0;     ///< steps of the request that was running
  int tasks = 1;
  std::uint64_t seed = 0;
  std::map<std::string, std::int64_t> steps;  ///< of all requests, by their texts
  std::set<std::string, std::less<>> unset;   ///< variables of the graph without a value
  SavedVariables variables;
};
inline constexpr std::int64_t kCheckpointVersion = 1;
inline constexpr const char* kManifestFile = "manifest.json";

/// The name of a checkpoint, "step-0000000120"; and the step of such a name, -1 for any other.
[[nodiscard]] std::string checkpoint_name(std::int64_t step);
[[nodiscard]] std::int64_t step_of(const std::string& name);
/// The name of a task's file: "task-00002.safetensors". Names of files never contain names of variables.
[[nodiscard]] std::string shard_name(int task);

[[nodiscard]] std::string manifest_text(const Manifest& manifest);
/// Error(file) for a manifest that is missing, is none, or is damaged: its hash is not the one in it.
[[nodiscard]] Manifest read_manifest(FileSystem& files, const std::string& folder);

/// The text in which a process that does not write the manifest describes its parts to the one that does.
[[nodiscard]] std::string parts_text(const SavedVariables& variables);
[[nodiscard]] SavedVariables parse_parts(std::string_view text, const std::string& file);
/// Adds the parts of `more` to those of `variables`.
void merge(SavedVariables& variables, const SavedVariables& more);

/// Reads one task's file after the other, and calls visit(name, part, bytes) for each part, after checking its hash.
/// Error(file) names the file and the tensor that is missing, differs or is damaged.
using VisitPart = std::function<void(const std::string&, const SavedPart&, std::span<const std::byte>)>;
void read_parts(FileSystem& files, const std::string& folder, const Manifest& manifest, const VisitPart& visit);
/// The whole values. Memory: theirs, and that of one file. Errors as read_parts.
[[nodiscard]] NamedTensors read_variables(FileSystem& files, const std::string& folder, const Manifest& manifest);

}  // namespace ferry
