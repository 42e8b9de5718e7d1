#include "runner/files/model_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/files/files.hpp"
#include "base/files/json.hpp"
#include "base/files/safetensors.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/system/clock.hpp"
#include "graph/file/tensor_file.hpp"
#include "runner/files/written_files.hpp"

namespace ferry {
namespace {

constexpr int kModelVersion = 1;
constexpr std::uint64_t kMaxManifestBytes = 1 << 20;
constexpr const char* kTensors = "variables.safetensors";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kStaging = ".saving";
constexpr const char* kProbe = ".probe";

std::string join_path(const std::string& folder, const char* name) {
  return folder + "/" + name;
}

/// The manifest's entries about the variables file: its hash, and the number of its variables.
struct ModelManifest {
  std::string hash;
  std::uint64_t variables = 0;
};

ModelManifest read_model_manifest(const std::string& folder) {
  const std::string path = join_path(folder, kManifest);
  if (local_files().exists(folder) && !local_files().exists(path))
    throw Error(Code::file, "{:?} is not a saved model: it has no {}", folder, kManifest)
        .hint("give a folder that --save wrote; a graph reads other files of tensors by read_safetensors");
  const FileBytes bytes = local_files().read_beneath(folder, kManifest, kMaxManifestBytes);
  const auto json = nlohmann::json::parse(json_text(bytes.text()), nullptr, false);
  const auto field = [&](const char* name) { return json.is_object() ? json.value(name, nlohmann::json()) : json; };
  const nlohmann::json version = field("ferry_model");
  if (!version.is_number_integer()) throw Error(Code::file, "{}: not the manifest of a saved model", path);
  if (const auto number = version.get<std::int64_t>(); number < 1 || number > kModelVersion)
    throw Error(Code::file, "{}: a model of version {}; this ferry reads up to {}", path, number, kModelVersion)
        .hint("use a newer ferry");
  if (!field("hash").is_string() || field("file") != kTensors || !field("variables").is_number_unsigned())
    throw Error(Code::file, "{}: not the manifest of a saved model", path);
  return {field("hash").get<std::string>(), field("variables").get<std::uint64_t>()};
}

/// Error(usage) unless `folder` is a saved model, is empty, or does not exist: nothing else may be overwritten.
void require_replaceable(const std::string& folder) {
  FileSystem& files = local_files();
  if (files.is_link(folder))
    throw Error(Code::usage, "the folder for a model, {:?}, is a symbolic link", folder).hint("name the folder itself");
  if (!files.exists(folder)) return;
  const auto of_a_model = [&] {
    if (files.exists(join_path(folder, kManifest))) return true;
    return std::ranges::all_of(files.list(folder), [](const std::string& name) { return name == kStaging; });
  };
  if (!files.is_folder(folder) || !of_a_model())
    throw Error(Code::usage, "--save {:?}: it exists and is not a saved model, so ferry does not replace it", folder)
        .hint("choose another folder");
}

/// Removes the empty folders among `folders`.
void remove_empty(const std::vector<std::string>& folders) noexcept {
  for (const std::string& folder : folders) ::rmdir(folder.c_str());
}

/// The manifest of the variables in the folder. Between the two renames of a save, it is still in ".saving".
ModelManifest read_present_manifest(const std::string& folder) {
  FileSystem& files = local_files();
  const std::string staging = join_path(folder, kStaging);
  const bool between = files.exists(join_path(staging, kManifest)) && !files.exists(join_path(staging, kTensors));
  return read_model_manifest(between ? staging : folder);
}

}  // namespace

TensorMap read_model(const std::string& folder) {
  ModelManifest wanted = read_present_manifest(folder);
  const std::string path = join_path(folder, kTensors);
  check_safetensors(*local_files().open_beneath(folder, kTensors));
  FileBytes bytes = local_files().read_beneath(folder, kTensors);
  const std::string hash = hex_digest(bytes.span());
  if (hash != wanted.hash) wanted = read_present_manifest(folder);  // another run may have saved meanwhile
  if (hash != wanted.hash)
    throw Error(Code::file, "{}: damaged: its hash is not the one in {}", path, kManifest)
        .hint("use another copy of the model");
  TensorMap variables = tensors_of(parse_safetensors(std::move(bytes), path), path);
  if (variables.size() != wanted.variables)
    throw Error(Code::file, "{}: has {} variables, {} says {}", path, variables.size(), kManifest, wanted.variables);
  return variables;
}

ModelFolder::ModelFolder(const std::string& folder)
    : folder_(normal_path(folder)), staging_(join_path(folder_, kStaging)) {
  FileSystem& files = local_files();
  require_replaceable(folder_);
  for (std::string path = folder_; !path.empty() && !files.exists(path); path = parent_of(path)) made_.push_back(path);
  try {
    files.make_folders(staging_);
    lock_.emplace(staging_, "");
    if (files.exists(join_path(staging_, kManifest))) put_in_place();  // an earlier run was killed before it did so
    clear();
    files.write(join_path(staging_, kProbe), std::string_view());
    files.move_file(join_path(staging_, kProbe), join_path(folder_, kProbe));
    files.remove(join_path(folder_, kProbe));
  } catch (Error& error) {
    if (lock_ && !files.exists(join_path(staging_, kManifest))) remove_staging();
    made_.insert(made_.begin(), staging_);  // it is empty unless another run has its lock
    remove_empty(made_);
    throw error.note("the folder for a model is {:?}", folder_);
  }
}

ModelFolder::~ModelFolder() {
  if (!keeps_staging_) remove_staging();
  remove_empty(made_);
}

void ModelFolder::write(const TensorMap& variables) {
  FileSystem& files = local_files();
  const std::string tensors = join_path(staging_, kTensors);
  write_tensors(files, tensors, variables);
  const nlohmann::ordered_json manifest = {{"ferry_model", kModelVersion},
                                           {"file", kTensors},
                                           {"hash", hex_digest(files.read(tensors).span())},
                                           {"variables", variables.size()}};
  files.write(join_path(staging_, kManifest), manifest.dump(2) + "\n");
  try {
    put_in_place();
  } catch (Error& error) {
    keeps_staging_ = true;
    const bool halfway = !files.exists(tensors);
    throw error.note("the new model for {:?} is complete, but not in its place", folder_)
        .hint("read the new model from {:?} (--model)", halfway ? folder_ : staging_);
  }
}

/// Moves a complete model out of ".saving". If an earlier run was killed between the two moves, the variables are in
/// place already.
void ModelFolder::put_in_place() const {
  FileSystem& files = local_files();
  if (files.exists(join_path(staging_, kTensors)))
    files.move_file(join_path(staging_, kTensors), join_path(folder_, kTensors));
  files.move_file(join_path(staging_, kManifest), join_path(folder_, kManifest));
}

/// Removes ".saving" and the lock in it. NFS and FUSE only rename a file that is removed while it is open, and remove
/// it a moment after it is closed. So the folder can be removed only then.
void ModelFolder::remove_staging() noexcept {
  constexpr int kMostTries = 20;
  constexpr std::chrono::milliseconds kPause{10};
  try {
    local_files().remove(staging_);
  } catch (const Error&) {  // the next run removes the rest
  }
  lock_.reset();
  for (int i = 0; i < kMostTries && ::rmdir(staging_.c_str()) != 0 && errno == ENOTEMPTY; ++i)
    system_clock().sleep(kPause);
}

/// Removes the files that a killed run has left, except for the lock.
void ModelFolder::clear() const {
  for (const std::string& name : local_files().list(staging_))
    if (!name.starts_with("lock")) local_files().remove(join_path(staging_, name.c_str()));
}

}  // namespace ferry
