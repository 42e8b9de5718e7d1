#include "executor/state/run_settings.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "graph/graph_facts.hpp"
#include "graph/needed.hpp"
#include "graph/op/core_ops.hpp"

namespace ferry {
namespace {

/// The most ops that are recorded, to keep manifests small; a hash covers the other ops.
constexpr std::size_t kMostOps = 4096;
/// A file of at most kWholeBytes is hashed whole. Of a larger file, kSamples samples of kSampleBytes each are hashed.
constexpr std::uint64_t kWholeBytes = 1 << 20;
constexpr std::uint64_t kSamples = 64, kSampleBytes = 4096;
/// The most files of a folder that are hashed, since a data set may have a million files.
constexpr int kMostFiles = 64;
/// A value whose text is longer is recorded as a hash.
constexpr std::size_t kMostText = 120;
constexpr std::size_t kMostChanges = 5;
constexpr const char* kContent = "content";

std::string text_of_value(const AttrValue& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value); tensor != nullptr)
    return tensor->count() == 1 ? tensor->str()
                                : tensor->type().str() + " with the hash " + hex_digest(tensor->bytes()).substr(0, 16);
  const std::string text = str(value);
  return text.size() <= kMostText ? text
                                  : "text with the hash " + hex_digest(std::as_bytes(std::span(text))).substr(0, 16);
}

void add_samples(const FileReader& file, Hasher& hash) {
  const std::uint64_t size = file.size();
  hash.add(size);
  std::vector<std::byte> bytes(size <= kWholeBytes ? size : kSampleBytes);
  const std::uint64_t samples = size <= kWholeBytes ? 1 : kSamples;
  for (std::uint64_t i = 0; i < samples && !bytes.empty(); ++i) {
    file.read(samples == 1 ? 0 : (size - kSampleBytes) / (samples - 1) * i, bytes);
    hash.add(std::span<const std::byte>(bytes));
  }
}

/// Hashes a folder: all names in it and in its subfolders, and the content of its first files. Images are in
/// subfolders, so only their names count.
void add_folder(FileSystem& files, const std::string& root, const std::string& path, Hasher& hash) {
  int opened = 0;
  for (const std::string& name : files.list(root + "/" + path)) {
    hash.add(name);
    if (opened >= kMostFiles) continue;
    if (const std::string inside = path + "/" + name; files.is_folder(root + "/" + inside)) {
      for (const std::string& file : files.list(root + "/" + inside)) hash.add(file);
    } else {
      add_samples(*files.open_beneath(root, inside), hash);
      ++opened;
    }
  }
}

}  // namespace

std::string content_of(FileSystem& files, const std::string& root, std::string path) {
  if (root.empty()) return {};
  while (path.ends_with("/")) path.pop_back();
  try {
    Hasher hash;
    if (files.is_folder(root + "/" + path)) {
      add_folder(files, root, path, hash);
      return "files with the hash " + hash.hex().substr(0, 16);
    }
    const auto file = files.open_beneath(root, path);
    add_samples(*file, hash);
    return std::to_string(file->size()) + " bytes with the hash " + hash.hex().substr(0, 16);
  } catch (const Error&) {
    return {};
  }
}

namespace {

class Collector {
 public:
  Collector(FileSystem& files, const std::string& data_folder) : files_(files), data_folder_(data_folder) {}

  void add(const Graph& graph, const std::vector<bool>& needed, const std::string& prefix) {
    std::vector<std::int64_t> index(graph.size(), -1);
    std::int64_t next = 0;
    for (OpId id = 0; id < graph.size(); ++id) {
      if (!needed[id]) continue;
      index[id] = next++;
      const Op op = graph.op(id);
      structure_.add(op.def().name);
      for (const ValueId input : op.inputs()) structure_.add(index[graph.producer(input)]);
      add_op(op, prefix + std::string(op.name()));
      for (const auto& [name, value] : op.attrs())
        if (const auto* body = std::get_if<SubgraphRef>(&value)) add_body(graph.subgraph(*body), op, prefix);
    }
  }

  RunSettings take() {
    settings_.graph = structure_.hex();
    return std::move(settings_);
  }

 private:
  void add_body(const Graph& body, const Op& op, const std::string& prefix) {
    add(body, std::vector<bool>(body.size(), true), prefix + std::string(op.name()) + "/");
  }

  void add_op(const Op& op, const std::string& name) {
    const bool gives_batches = op.def().batches != nullptr;
    if (gives_batches) settings_.batches[name] = op.def().batches(GraphFacts(op));
    if (gives_batches || op.attrs().has("path")) return add_data(op, gives_batches, settings_.data[name]);
    if (op.attrs().empty() || settings_.ops.size() >= kMostOps) return;
    auto& attrs = settings_.ops[name];
    for (const auto& [attr, value] : op.attrs())
      if (!std::holds_alternative<SubgraphRef>(value) && !std::holds_alternative<Shape>(value))
        attrs[attr] = text_of_value(value);
    if (attrs.empty()) settings_.ops.erase(name);
  }

  void add_data(const Op& op, bool gives_batches, std::map<std::string, std::string>& attrs) {
    static const std::set<std::string_view> of_batches{"batch", "prefetch", "rest", "rows"};
    for (const auto& [attr, value] : op.attrs())
      if (!gives_batches || !of_batches.contains(attr)) attrs[attr] = text_of_value(value);
    if (op.attrs().has("path"))
      if (const std::string content = content_of(files_, data_folder_, op.attrs().get<std::string>("path"));
          !content.empty())
        attrs[kContent] = content;
    for (const ValueId input : op.inputs())
      if (const Op source = op.graph().op(op.graph().producer(input)); source.def().role == OpRole::constant)
        attrs[std::string(source.name())] = text_of_value(source.attrs().get<Tensor>("value"));
  }

  FileSystem& files_;
  const std::string& data_folder_;
  Hasher structure_;
  RunSettings settings_;
};

/// The op's kind and name, and the user's line if the graph has it.
std::string name_op(const Graph& graph, const std::string& name) {
  const auto id = graph.find(name);
  if (!id) return formatted("{:?}", name);
  const Op op = graph.op(*id);
  const std::string line = op.line().str();
  return formatted("{} {:?}{}", op.def().name, name, as_is(line.empty() ? "" : " (" + line + ")"));
}

/// Finds what differs between two maps of settings.
class Differences {
 public:
  explicit Differences(const Graph& graph) : graph_(graph) {}

  /// The lines "Batch "b": shuffle = true, was false" for all differences; `skip(saved, now)` leaves out an op's
  /// attribute.
  template <class Skip>
  std::vector<std::string> of(const RunSettings::OfOps& saved, const RunSettings::OfOps& now, Skip skip) const {
    std::vector<std::string> lines;
    for (const auto& [name, attrs] : saved)
      if (!now.contains(name)) lines.push_back(formatted("{:?} is not in this run", name));
    for (const auto& [name, attrs] : now) {
      const auto before = saved.find(name);
      if (before == saved.end())
        lines.push_back(name_op(graph_, name) + " was not there");
      else
        add(name, before->second, attrs, skip, lines);
    }
    return lines;
  }

 private:
  using OfOp = std::map<std::string, std::string>;

  template <class Skip>
  void add(const std::string& name, const OfOp& saved, const OfOp& now, Skip skip,
           std::vector<std::string>& lines) const {
    std::set<std::string> attrs;
    for (const OfOp* side : {&saved, &now})
      for (const auto& [attr, value] : *side) attrs.insert(attr);
    const auto text = [](const OfOp& side, const std::string& attr) {
      const auto found = side.find(attr);
      return found == side.end() ? std::string("none") : found->second;
    };
    for (const std::string& attr : attrs)
      if (text(saved, attr) != text(now, attr) && !skip(saved, now, attr))
        lines.push_back(name_op(graph_, name) + ": " + attr + " = " + text(now, attr) + ", was " + text(saved, attr));
  }

  const Graph& graph_;
};

/// Whether the data are the same although an attribute differs. Data may be moved: another path with the same content
/// does not count as a difference. Nor does content that one of the runs could not read.
bool same_data(const std::map<std::string, std::string>& saved, const std::map<std::string, std::string>& now,
               const std::string& attr) {
  if (attr == kContent) return !saved.contains(kContent) || !now.contains(kContent);
  if (attr != "path") return false;
  const auto before = saved.find(kContent), content = now.find(kContent);
  return before != saved.end() && content != now.end() && before->second == content->second;
}

bool leaves_out_rest(const Batches& batches) {
  return !batches.keep && batches.rows % batches.size != 0;
}

/// The step of `now` that begins at the same row as step `step` of `saved`; none if there is no such step.
std::optional<std::int64_t> same_row(const Batches& saved, const Batches& now, std::int64_t step) {
  if (saved == now) return step;
  const Batches::Place place = saved.at(step);
  const std::int64_t in_epoch = place.first / now.size;
  if (place.first % now.size != 0 || in_epoch >= now.steps()) return std::nullopt;
  return place.epoch * now.steps() + in_epoch;
}

/// Compares batches, which must all continue at the same step.
class BatchComparison {
 public:
  BatchComparison(const Graph& graph, std::int64_t step) : graph_(graph), saved_step_(step) {}

  void add(const std::string& name, const Batches& saved, const Batches& now) {
    const std::string op = name_op(graph_, name) + ": ";
    if (saved.rows != now.rows)
      problems_.push_back(op + "rows = " + std::to_string(now.rows) + ", was " + std::to_string(saved.rows));
    if ((saved.keep && leaves_out_rest(now)) || (now.keep && leaves_out_rest(saved)))
      problems_.push_back(op + "the last rows of an epoch are " + (now.keep ? "kept" : "left out") + ", were " +
                          (saved.keep ? "kept" : "left out"));
    if (saved.size != now.size)
      changes_.push_back(op + "batch = " + std::to_string(now.size) + ", was " + std::to_string(saved.size));
    if (!problems_.empty()) return;
    const std::optional<std::int64_t> step = same_row(saved, now, saved_step_);
    if (!step || (step_ && *step_ != *step))
      problems_.push_back(op + "batch = " + std::to_string(now.size) + ", was " + std::to_string(saved.size) +
                          ": none of these batches begins at row " + std::to_string(saved.at(saved_step_).first) +
                          " of the epoch" + (step ? " at the same step as the other batches" : ""));
    step_ = step;
  }

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] const std::vector<std::string>& changes() const { return changes_; }
  [[nodiscard]] std::int64_t step() const { return step_.value_or(saved_step_); }

 private:
  const Graph& graph_;
  const std::int64_t saved_step_;
  std::vector<std::string> problems_, changes_;
  std::optional<std::int64_t> step_;
};

void append(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

RunSettings settings_of(const Graph& graph, std::span<const ValueId> values, std::span<const OpId> targets,
                        const NamedTensors& feeds, FileSystem& files, const std::string& data_folder) {
  Collector collector(files, data_folder);
  collector.add(graph, needed_ops(graph, values, targets), "");
  RunSettings settings = collector.take();
  for (const auto& [name, tensor] : feeds)
    if (tensor.defined()) settings.ops[name]["feed"] = text_of_value(tensor);
  return settings;
}

Continuation compare_settings(const RunSettings& saved, const RunSettings& now, std::int64_t step, const Graph& graph,
                              const std::string& checkpoint) {
  const Differences differences(graph);
  std::vector<std::string> problems = differences.of(saved.data, now.data, same_data);
  BatchComparison batches(graph, step);
  for (const auto& [name, of_saved] : saved.batches)
    if (const auto found = now.batches.find(name); found != now.batches.end())
      batches.add(name, of_saved, found->second);
  append(problems, batches.problems());
  if (!problems.empty()) {
    Error error(Code::usage, "{:?}: was saved by a run that reads its data otherwise", checkpoint);
    for (std::size_t i = 0; i < std::min<std::size_t>(problems.size(), 12); ++i) error.note(problems[i]);
    throw error.hint(
        "resume with the settings that saved it; for other data start a new run with --model, from what --save wrote");
  }
  Continuation continuation{batches.step(), batches.changes()};
  if (saved.graph != now.graph) {
    continuation.changes.emplace_back("the graph has other ops than the one that saved it");
    return continuation;
  }
  const std::vector<std::string> others = differences.of(saved.ops, now.ops, [](auto&&...) { return false; });
  for (std::size_t i = 0; i < std::min(others.size(), kMostChanges); ++i) continuation.changes.push_back(others[i]);
  if (others.size() > kMostChanges)
    continuation.changes.push_back(std::to_string(others.size() - kMostChanges) + " more settings of ops");
  return continuation;
}

}  // namespace ferry
