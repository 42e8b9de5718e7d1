#include "executor/state/checkpoint_format.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/files/json.hpp"
#include "base/files/safetensors.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "executor/state/variable_part.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxManifestBytes = 1 << 30;
constexpr std::uint64_t kMostHeadBytes = 1 << 27;  // of a safetensors file, before the tensors' bytes
constexpr const char* kNamePrefix = "step-";
constexpr const char* kVersion = "ferry_checkpoint";

Json json_of(const SavedVariables& variables) {
  Json all = Json::object();
  for (const auto& [name, variable] : variables) {
    Json parts = Json::array();
    for (const SavedPart& part : variable.parts)
      parts.push_back({{"task", part.task}, {"begin", part.begin}, {"sizes", part.sizes}, {"hash", part.hash}});
    all[name] = {{"dtype", name_of(variable.dtype)}, {"sizes", variable.sizes}, {"parts", std::move(parts)}};
  }
  return all;
}

Json json_of(const RunSettings& settings) {
  Json batches = Json::object();
  for (const auto& [op, of_op] : settings.batches)
    batches[op] = {{"rows", of_op.rows}, {"size", of_op.size}, {"keep", of_op.keep ? 1 : 0}};
  return {{"batches", std::move(batches)}, {"data", settings.data}, {"ops", settings.ops}, {"graph", settings.graph}};
}

/// Reads fields of a JSON object; Error(file) for a field that is missing or of another type.
class Fields {
 public:
  Fields(const Json& json, std::string file) : json_(json), file_(std::move(file)) {
    if (!json.is_object()) bad("an object is missing");
  }

  [[nodiscard]] bool has(const char* name) const { return json_.contains(name); }
  [[nodiscard]] const Json& field(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) bad("'" + std::string(name) + "' is missing");
    return *found;
  }
  [[nodiscard]] std::int64_t number(const char* name) const { return number_of(field(name), name); }
  [[nodiscard]] std::string text(const char* name) const {
    const Json& value = field(name);
    if (!value.is_string()) bad("'" + std::string(name) + "' is not a text");
    return value.get<std::string>();
  }
  [[nodiscard]] std::vector<std::int64_t> numbers(const char* name) const {
    const Json& list = field(name);
    if (!list.is_array()) bad("'" + std::string(name) + "' is not a list");
    std::vector<std::int64_t> result;
    for (const Json& item : list) result.push_back(number_of(item, name));
    return result;
  }
  [[noreturn]] void bad(const std::string& why) const {
    throw Error(Code::file, "{:?}: not the manifest of a checkpoint: {}", file_, as_is(why));
  }
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  [[nodiscard]] std::int64_t number_of(const Json& value, const char* name) const {
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) ||
        value.get<std::int64_t>() < 0)
      bad("'" + std::string(name) + "' is not a number from 0 on");
    return value.get<std::int64_t>();
  }

  const Json& json_;
  std::string file_;
};

DType dtype_named(const Fields& fields) {
  const std::string name = fields.text("dtype");
  for (const DType dtype : kDTypes)
    if (name == name_of(dtype)) return dtype;
  fields.bad(formatted("unknown dtype {:?}", name));
}

/// Error(file) unless the part is within its variable.
void check_part(const Fields& fields, const SavedVariable& variable, const SavedPart& part) {
  bool within = part.begin.size() == variable.sizes.size() && part.sizes.size() == variable.sizes.size();
  for (std::size_t d = 0; within && d < part.sizes.size(); ++d)
    within = part.begin[d] <= variable.sizes[d] && part.sizes[d] <= variable.sizes[d] - part.begin[d];
  if (!within) fields.bad("a part is outside of its variable");
}

SavedVariable variable_of(const Json& json, const std::string& file) {
  const Fields fields(json, file);
  SavedVariable variable{dtype_named(fields), fields.numbers("sizes"), {}};
  if (!tensor_bytes(variable.sizes, size_of(variable.dtype))) fields.bad("a variable has more bytes than there can be");
  if (!fields.field("parts").is_array()) fields.bad("'parts' is not a list");
  for (const Json& item : fields.field("parts")) {
    const Fields of_part(item, file);
    SavedPart part{0, of_part.numbers("begin"), of_part.numbers("sizes"), of_part.text("hash")};
    const std::int64_t task = of_part.number("task");
    if (task >= 1 << 24) of_part.bad("task " + std::to_string(task));
    part.task = static_cast<int>(task);
    check_part(of_part, variable, part);
    variable.parts.push_back(std::move(part));
  }
  return variable;
}

SavedVariables variables_of(const Json& json, const std::string& file) {
  const Fields fields(json, file);
  SavedVariables variables;
  for (const auto& [name, value] : json.items()) variables.emplace(name, variable_of(value, file));
  return variables;
}

/// Error(file) unless the parts of each variable have together as many elements as the whole.
void check_whole(const Manifest& manifest, const Fields& fields) {
  for (const auto& [name, variable] : manifest.variables) {
    std::int64_t missing = checked_count(variable.sizes);
    for (const SavedPart& part : variable.parts) {
      if (part.task >= manifest.tasks) fields.bad("task " + std::to_string(part.task));
      missing = missing < 0 ? missing : missing - checked_count(part.sizes);
    }
    if (variable.parts.empty() || missing != 0) fields.bad(formatted("the parts of {:?} do not make the whole", name));
  }
}

RunSettings::OfOps settings_of_ops(const Fields& fields, const char* name) {
  RunSettings::OfOps all;
  const Fields of_ops(fields.field(name), fields.file());
  for (const auto& [op, attrs] : fields.field(name).items()) {
    const Fields of_op(attrs, fields.file());
    for (const auto& attr : attrs.items()) all[op][attr.key()] = of_op.text(attr.key().c_str());
  }
  return all;
}

RunSettings settings_in(const Json& json, const std::string& file) {
  const Fields fields(json, file);
  RunSettings settings{{}, settings_of_ops(fields, "data"), settings_of_ops(fields, "ops"), fields.text("graph")};
  static_cast<void>(Fields(fields.field("batches"), file));
  for (const auto& [op, value] : fields.field("batches").items()) {
    const Fields of_op(value, file);
    const Batches batches{of_op.number("rows"), of_op.number("size"), of_op.number("keep") != 0};
    if (batches.size < 1 || batches.rows < batches.size) of_op.bad(formatted("the batches of {:?} have no rows", op));
    settings.batches[op] = batches;
  }
  return settings;
}

Manifest manifest_of(const Fields& fields) {
  Manifest manifest;
  manifest.step = fields.number("step");
  manifest.tasks = static_cast<int>(std::min<std::int64_t>(fields.number("tasks"), 1 << 24));
  if (!fields.field("seed").is_number_unsigned()) fields.bad("'seed' is not a number");
  manifest.seed = fields.field("seed").get<std::uint64_t>();
  const Json& steps = fields.field("steps");
  const Fields of_steps(steps, fields.file());
  for (const auto& item : steps.items()) manifest.steps[item.key()] = of_steps.number(item.key().c_str());
  const Json& unset = fields.field("unset");
  if (!unset.is_array()) fields.bad("'unset' is not a list");
  for (const Json& name : unset) {
    if (!name.is_string()) fields.bad("'unset' has a value that is no name");
    manifest.unset.insert(name.get<std::string>());
  }
  manifest.variables = variables_of(fields.field("variables"), fields.file());
  if (fields.has("settings")) manifest.settings = settings_in(fields.field("settings"), fields.file());
  check_whole(manifest, fields);
  return manifest;
}

Error damaged(const std::string& path, const std::string& name, const std::string& why) {
  return {Code::file, formatted("{:?}: tensor {:?} {}", path, name, as_is(why))};
}

/// Reads a file of a checkpoint. Only the folder above the checkpoint is trusted, so the checkpoint's own folder must
/// not be a link either.
FileBytes read_in(FileSystem& files, const std::string& checkpoint, const std::string& name, std::uint64_t limit) {
  const std::size_t slash = checkpoint.rfind('/');
  if (slash == std::string::npos) return files.read_beneath(".", checkpoint + "/" + name, limit);
  const std::string root = checkpoint.substr(0, std::max<std::size_t>(slash, 1));
  return files.read_beneath(root, checkpoint.substr(slash + 1) + "/" + name, limit);
}

/// The bytes of a part in the file of its task.
std::span<const std::byte> bytes_of(const SafeTensors& shard, const std::string& path, const std::string& name,
                                    const SavedVariable& variable, const SavedPart& part) {
  const SafeTensor* tensor = shard.find(name);
  if (tensor == nullptr) throw damaged(path, name, "is missing");
  if (tensor->shape != part.sizes || tensor->dtype != safetensors_name(variable.dtype))
    throw damaged(path, name, "is of another size or dtype than the manifest says");
  if (hex_digest(tensor->bytes) != part.hash)
    throw damaged(path, name, "is damaged: its hash is not the one in " + std::string(kManifestFile));
  return tensor->bytes;
}

using PartsByTask = std::map<int, std::vector<std::pair<const std::string*, const SavedPart*>>>;

/// The names and parts of variables in each task's file.
PartsByTask parts_by_task(const Manifest& manifest) {
  PartsByTask by_task;
  for (const auto& [name, variable] : manifest.variables)
    for (const SavedPart& part : variable.parts) by_task[part.task].emplace_back(&name, &part);
  return by_task;
}

/// Reads the file of a task, which has these parts.
void read_shard(FileSystem& files, const std::string& folder, const Manifest& manifest, int task,
                const PartsByTask::mapped_type& parts, const VisitPart& visit) {
  const std::string path = folder + "/" + shard_name(task);
  std::uint64_t most = kMostHeadBytes;  // a larger file is an error before it is read
  for (const auto& [name, part] : parts)
    most += *tensor_bytes(part->sizes, size_of(manifest.variables.find(*name)->second.dtype));
  const SafeTensors shard = parse_safetensors(read_in(files, folder, shard_name(task), most), path);
  if (shard.tensors.size() != parts.size())
    throw Error(Code::file, "{:?}: has {} tensors, the manifest has {} of its task", path, shard.tensors.size(),
                parts.size());
  for (const auto& [name, part] : parts)
    visit(*name, *part, bytes_of(shard, path, *name, manifest.variables.find(*name)->second, *part));
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%010lld", kNamePrefix, static_cast<long long>(step));
  return text;
}

std::int64_t step_of(const std::string& name) {
  std::int64_t step = -1;
  const std::string_view digits =
      std::string_view(name).substr(std::min(name.size(), std::string_view(kNamePrefix).size()));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  return error == std::errc() && end == digits.data() + digits.size() && step >= 0 && checkpoint_name(step) == name
             ? step
             : -1;
}

std::string shard_name(int task) {
  char text[40];
  std::snprintf(text, sizeof text, "task-%05d.safetensors", task);
  return text;
}

std::string manifest_text(const Manifest& manifest) {
  Json steps = Json::object();
  for (const auto& [request, count] : manifest.steps) steps[request] = count;
  Json body = {{"step", manifest.step},     {"tasks", manifest.tasks}, {"seed", manifest.seed},
               {"steps", std::move(steps)}, {"unset", manifest.unset}, {"variables", json_of(manifest.variables)}};
  if (manifest.settings) body["settings"] = json_of(*manifest.settings);
  const std::string text = body.dump();
  const Json whole = {
      {kVersion, kCheckpointVersion}, {"hash", hex_digest(std::as_bytes(std::span(text)))}, {"checkpoint", body}};
  return whole.dump(1) + "\n";
}

Manifest read_manifest(FileSystem& files, const std::string& folder) {
  return parse_manifest(read_in(files, folder, kManifestFile, kMaxManifestBytes).text(), folder);
}

Manifest parse_manifest(std::string_view of_file, const std::string& folder) {
  const std::string path = folder + "/" + kManifestFile;
  const Json json = Json::parse(json_text(of_file), nullptr, false);
  if (json.is_discarded()) throw Error(Code::file, "{:?}: damaged: it is not JSON", path);
  const Fields head(json, path);
  Manifest newer;
  newer.version = head.number(kVersion);
  if (newer.version > kCheckpointVersion) return newer;
  if (newer.version < 1) head.bad("version " + std::to_string(newer.version) + " there never was");
  const std::string text = head.field("checkpoint").dump();
  if (hex_digest(std::as_bytes(std::span(text))) != head.text("hash"))
    throw Error(Code::file, "{:?}: damaged: its hash is not the one in it", path);
  return manifest_of(Fields(head.field("checkpoint"), path));
}

std::string parts_text(const SavedVariables& variables) {
  return json_of(variables).dump();
}

SavedVariables parse_parts(std::string_view text, const std::string& file) {
  return variables_of(Json::parse(json_text(text), nullptr, false), file);
}

void merge(SavedVariables& variables, const SavedVariables& more) {
  for (const auto& [name, variable] : more) {
    const auto [at, fresh] = variables.try_emplace(name, variable);
    if (!fresh) at->second.parts.insert(at->second.parts.end(), variable.parts.begin(), variable.parts.end());
  }
}

void read_parts(FileSystem& files, const std::string& folder, const Manifest& manifest, const VisitPart& visit) {
  for (const auto& [task, parts] : parts_by_task(manifest)) read_shard(files, folder, manifest, task, parts, visit);
}

NamedTensors read_parts_of(FileSystem& files, const std::string& folder, const Manifest& manifest, int task) {
  NamedTensors tensors;
  const PartsByTask all = parts_by_task(manifest);
  if (const auto of_task = all.find(task); of_task != all.end())
    read_shard(
        files, folder, manifest, task, of_task->second,
        [&](const std::string& name, const SavedPart& part, std::span<const std::byte> bytes) {
          Tensor& tensor =
              tensors.emplace(name, Tensor(manifest.variables.find(name)->second.dtype, part.sizes)).first->second;
          std::copy(bytes.begin(), bytes.end(), tensor.mutable_bytes().begin());
        });
  return tensors;
}

NamedTensors read_variables(FileSystem& files, const std::string& folder, const Manifest& manifest) {
  NamedTensors tensors;
  for (const auto& [name, variable] : manifest.variables) tensors.emplace(name, Tensor(variable.dtype, variable.sizes));
  read_parts(files, folder, manifest,
             [&](const std::string& name, const SavedPart& part, std::span<const std::byte> bytes) {
               Tensor& whole = tensors.find(name)->second;
               put_part({true, part.sizes, part.begin, whole.sizes()}, size_of(whole.dtype()), bytes.data(),
                        whole.mutable_bytes().data());
             });
  return tensors;
}

}  // namespace ferry
