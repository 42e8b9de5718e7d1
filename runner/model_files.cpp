#include "runner/model_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "graph/tensor_file.hpp"

namespace ferry {
namespace {

namespace fs = std::filesystem;

constexpr int kModelVersion = 1;
constexpr std::uint64_t kMaxManifestBytes = 1 << 20;
constexpr const char* kTensors = "variables.safetensors";
constexpr const char* kManifest = "manifest.json";

std::string join_path(const std::string& folder, const char* name) {
  return folder + "/" + name;
}

/// The hash that the manifest says the variables have.
std::string promised_hash(const std::string& folder) {
  const std::string path = join_path(folder, kManifest);
  const FileBytes bytes = local_files().read(path, kMaxManifestBytes);
  const auto json = nlohmann::json::parse(bytes.text(), nullptr, false);
  if (!json.is_object() || !json.contains("ferry_model") || !json["ferry_model"].is_number_integer() ||
      !json.contains("hash") || !json["hash"].is_string())
    throw Error(Code::file, escaped(path) + ": not the manifest of a saved model");
  if (const auto version = json["ferry_model"].get<std::int64_t>(); version > kModelVersion)
    throw Error(Code::file, escaped(path) + ": a model of version " + std::to_string(version) +
                                "; this ferry reads up to " + std::to_string(kModelVersion))
        .hint("use a newer ferry");
  return json["hash"].get<std::string>();
}

Error cannot(const std::string& what, const std::string& path, int error) {
  return Error(error == ENOSPC || error == EDQUOT ? Code::resource : Code::usage,
               "--save: " + what + " " + escaped(path) + ": " + std::strerror(error));
}

/// Makes the change of a folder's names survive a power cut.
void sync_folder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw cannot("cannot open", folder, errno);
  const int failed = fsync(descriptor) != 0 ? errno : 0;
  close(descriptor);
  if (failed != 0) throw cannot("cannot sync", folder, failed);
}

/// True when `folder` is a saved model or an empty folder; false when there is nothing. Else it is somebody's work.
bool replaceable(const std::string& folder) {
  if (!local_files().exists(folder)) return false;
  if (!fs::is_directory(folder) || (!fs::exists(join_path(folder, kManifest)) && !fs::is_empty(folder)))
    throw Error(Code::usage, "--save " + escaped(folder) + ": it is there, and no saved model")
        .hint("name another folder");
  return true;
}

/// A folder that is removed with what it holds, unless it was kept.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) { local_files().make_folders(path_); }
  ~Temporary() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TensorMap read_model(const std::string& folder) {
  const std::string hash = promised_hash(folder);
  const std::string path = join_path(folder, kTensors);
  FileBytes bytes = local_files().read(path);
  if (hex_digest(bytes.span()) != hash)
    throw Error(Code::file, escaped(path) + ": damaged: its hash is not the one in " + kManifest)
        .hint("use another copy of the model");
  return tensors_of(parse_safetensors(std::move(bytes), path), path);
}

void write_model(const std::string& given, const TensorMap& variables) {
  std::string folder = fs::path(given).lexically_normal().string();
  while (folder.size() > 1 && folder.ends_with("/")) folder.pop_back();
  const bool replace = replaceable(folder);
  const Temporary fresh(folder + ".tmp-" + std::to_string(getpid()));
  write_tensors(local_files(), join_path(fresh.path(), kTensors), variables);
  const nlohmann::ordered_json manifest = {
      {"ferry_model", kModelVersion},
      {"file", kTensors},
      {"hash", hex_digest(local_files().read(join_path(fresh.path(), kTensors)).span())},
      {"variables", variables.size()}};
  local_files().write(join_path(fresh.path(), kManifest), manifest.dump(2) + "\n");
  sync_folder(fresh.path());
  // Exchanged, the old model is in the temporary folder, and goes with it.
  if (renameat2(AT_FDCWD, fresh.path().c_str(), AT_FDCWD, folder.c_str(),
                replace ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0)
    throw cannot("cannot make", folder, errno);
  const std::string parent = fs::path(folder).parent_path().string();
  sync_folder(parent.empty() ? "." : parent);
}

}  // namespace ferry
