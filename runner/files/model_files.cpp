#include "runner/files/model_files.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/files/files.hpp"
#include "base/files/json.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "graph/file/tensor_file.hpp"

namespace ferry {
namespace {

constexpr int kModelVersion = 1;
constexpr std::uint64_t kMaxManifestBytes = 1 << 20;
constexpr const char* kTensors = "variables.safetensors";
constexpr const char* kManifest = "manifest.json";

std::string join_path(const std::string& folder, const char* name) {
  return folder + "/" + name;
}

/// What the manifest says of the variables file: its hash, and how many variables it has.
struct Promised {
  std::string hash;
  std::uint64_t variables = 0;
};

Promised promised(const std::string& folder) {
  const std::string path = join_path(folder, kManifest);
  if (local_files().exists(folder) && !local_files().exists(path))
    throw Error(Code::file, escaped(folder) + ": no saved model: it is no folder with a " + kManifest)
        .hint("--save DIR writes one; the tensors of other files are read by the graph, with read_safetensors");
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

/// True when `folder` is a saved model or an empty folder, false when it does not exist. Throws for anything else,
/// which must not be overwritten.
bool replaceable(const std::string& folder) {
  FileSystem& files = local_files();
  if (files.is_link(folder))
    throw Error(Code::usage, "--save " + escaped(folder) + ": it is a symbolic link").hint("name the folder itself");
  if (!files.exists(folder)) return false;
  if (!files.is_folder(folder) || (!files.exists(join_path(folder, kManifest)) && !files.list(folder).empty()))
    throw Error(Code::usage, "--save " + escaped(folder) + ": it is there, and no saved model")
        .hint("name another folder");
  return true;
}

/// A folder that the destructor removes, with all that is in it. After write_model() has renamed it there is nothing to
/// remove; after an exchange it holds the old model.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) { local_files().make_folders(path_); }
  ~Temporary() {
    try {
      local_files().remove(path_);
    } catch (const Error&) {  // leave the temporary folder beside the model
    }
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
  const std::string folder = normal_path(given);
  const bool replace = replaceable(folder);
  const Temporary fresh(folder + ".tmp-" + std::to_string(getpid()));
  write_tensors(local_files(), join_path(fresh.path(), kTensors), variables);
  const nlohmann::ordered_json manifest = {
      {"ferry_model", kModelVersion},
      {"file", kTensors},
      {"hash", hex_digest(local_files().read(join_path(fresh.path(), kTensors)).span())},
      {"variables", variables.size()}};
  local_files().write(join_path(fresh.path(), kManifest), manifest.dump(2) + "\n");
  // The exchange puts the old model into the temporary folder, which is then removed.
  if (replace)
    local_files().exchange_folders(fresh.path(), folder);
  else
    local_files().rename_folder(fresh.path(), folder);
}

}  // namespace ferry
