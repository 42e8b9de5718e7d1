#include "runner/files/model_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files/files.hpp"
#include "base/files/json.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "graph/file/tensor_file.hpp"

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

/// What the manifest says of the variables.
struct Promised {
  std::string hash;
  std::uint64_t variables = 0;
};

Promised promised(const std::string& folder) {
  const std::string path = join_path(folder, kManifest);
  const FileBytes bytes = local_files().read_beneath(folder, kManifest, kMaxManifestBytes);
  const auto json = nlohmann::json::parse(json_text(bytes.text()), nullptr, false);
  const auto field = [&](const char* name) { return json.is_object() ? json.value(name, nlohmann::json()) : json; };
  const nlohmann::json version = field("ferry_model");
  if (!version.is_number_integer()) throw Error(Code::file, escaped(path) + ": not the manifest of a saved model");
  if (const auto number = version.get<std::int64_t>(); number < 1 || number > kModelVersion)
    throw Error(Code::file, escaped(path) + ": a model of version " + std::to_string(number) +
                                "; this ferry reads up to " + std::to_string(kModelVersion))
        .hint("use a newer ferry");
  if (!field("hash").is_string() || field("file") != kTensors || !field("variables").is_number_unsigned())
    throw Error(Code::file, escaped(path) + ": not the manifest of a saved model");
  return {field("hash").get<std::string>(), field("variables").get<std::uint64_t>()};
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
  if (fs::is_symlink(fs::symlink_status(folder)))
    throw Error(Code::usage, "--save " + escaped(folder) + ": it is a symbolic link").hint("name the folder itself");
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
  const Promised wanted = promised(folder);
  const std::string path = join_path(folder, kTensors);
  check_safetensors(*local_files().open_beneath(folder, kTensors));
  FileBytes bytes = local_files().read_beneath(folder, kTensors);
  if (hex_digest(bytes.span()) != wanted.hash)
    throw Error(Code::file, escaped(path) + ": damaged: its hash is not the one in " + kManifest)
        .hint("use another copy of the model");
  TensorMap variables = tensors_of(parse_safetensors(std::move(bytes), path), path);
  if (variables.size() != wanted.variables)
    throw Error(Code::file, escaped(path) + ": has " + std::to_string(variables.size()) + " variables, " + kManifest +
                                " says " + std::to_string(wanted.variables));
  return variables;
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
