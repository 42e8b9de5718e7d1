#include "executor/session/checkpoints.hpp"

#include <unistd.h>

#include <optional>
#include <random>

#include "base/blob.hpp"
#include "base/files/files.hpp"
#include "base/files/folder_lock.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "executor/job/fit.hpp"
#include "executor/session/agreement.hpp"
#include "executor/session/task_group.hpp"
#include "executor/session/task_session.hpp"
#include "executor/state/checkpoint_saver.hpp"
#include "graph/op/core_ops.hpp"

namespace ferry {
namespace {

constexpr const char* kDamaged = ".damaged";

/// A checkpoint and its variables.
struct Loaded {
  std::string name;
  Manifest manifest;
  NamedTensors variables;
};

std::map<std::string, Type, std::less<>> types_of(const Manifest& manifest) {
  std::map<std::string, Type, std::less<>> types;
  for (const auto& [name, variable] : manifest.variables) types.emplace(name, variable.type());
  return types;
}

void require_known_version(const Manifest& manifest, const std::string& path) {
  if (manifest.version <= kCheckpointVersion) return;
  throw Error(Code::file, in_quotes(path) + ": a checkpoint of version " + std::to_string(manifest.version) +
                              "; this ferry reads up to " + std::to_string(kCheckpointVersion))
      .hint("use a newer ferry");
}

void require_fit(const Manifest& manifest, const std::string& path, const Graph& graph, std::uint64_t seed) {
  if (const std::string problem = fit_problem(graph, types_of(manifest), manifest.unset); !problem.empty())
    throw Error(Code::file, in_quotes(path) + ": " + problem)
        .hint("resume with the graph that saved it, or name another folder");
  if (manifest.seed != seed)
    throw Error(Code::usage, in_quotes(path) + ": was saved with the seed " + std::to_string(manifest.seed) +
                                 ", this run has " + std::to_string(seed))
        .hint("--seed " + std::to_string(manifest.seed));
}

/// The newest undamaged checkpoint of a folder. The damaged ones that are newer are renamed if there is one.
std::optional<Loaded> newest(FileSystem& files, const std::string& folder, const Graph& graph, std::uint64_t seed) {
  std::vector<std::string> notes, damaged;
  for (const std::string& name : checkpoint_names(files, folder)) {
    const std::string path = folder + "/" + name;
    const auto unless_damaged = [&](const auto& read) {
      try {
        read();
        return true;
      } catch (const Error& error) {
        if (error.code() != Code::file) throw;
        notes.push_back(error.text());
        damaged.push_back(path);
        return false;
      }
    };
    Loaded loaded{name, {}, {}};
    if (!unless_damaged([&] { loaded.manifest = read_manifest(files, path); })) continue;
    require_known_version(loaded.manifest, path);
    require_fit(loaded.manifest, path, graph, seed);
    if (!unless_damaged([&] { loaded.variables = read_variables(files, path, loaded.manifest); })) continue;
    for (const std::string& note : notes) log_warn(note);
    if (!damaged.empty()) log_warn("goes on from the checkpoint before: " + name);
    for (const std::string& old : damaged) {
      files.remove(old + kDamaged);
      files.rename_folder(old, old + kDamaged);
    }
    return loaded;
  }
  if (notes.empty()) return std::nullopt;
  Error error(Code::file, in_quotes(folder) + ": has no checkpoint that can be loaded");
  for (std::size_t i = 0; i < std::min<std::size_t>(notes.size(), 12); ++i) error.note(notes[i]);
  throw error.hint("use another copy of the folder, or begin anew in an empty one");
}

void refuse_checkpoints(FileSystem& files, const std::string& folder) {
  const std::vector<std::string> names = checkpoint_names(files, folder);
  if (names.empty()) return;
  throw Error(Code::usage,
              in_quotes(folder) + ": has checkpoints already, the newest of step " + std::to_string(step_of(names[0])))
      .hint("--resume, which goes on from it, or name another folder");
}

/// What all tasks must know of the checkpoint, as bytes.
std::string blob_of(const std::optional<Loaded>& loaded) {
  BlobWriter writer;
  writer.add(loaded.has_value());
  if (!loaded) return writer.take();
  const Manifest& manifest = loaded->manifest;
  writer.add(manifest.step).add(manifest.steps.size());
  for (const auto& [request, count] : manifest.steps) writer.add(request).add(count);
  writer.add(manifest.unset.size());
  for (const std::string& name : manifest.unset) writer.add(name);
  return writer.take();
}

std::optional<Manifest> known_of(std::string_view bytes) {
  BlobReader reader(bytes);
  if (reader.number() == 0) return std::nullopt;
  Manifest manifest;
  manifest.step = reader.number();
  for (std::int64_t left = reader.number(); left > 0; --left) {
    const std::string request(reader.text());
    manifest.steps[request] = reader.number();
  }
  for (std::int64_t left = reader.number(); left > 0; --left) manifest.unset.emplace(reader.text());
  return manifest;
}

/// A name that no other job has.
std::string new_job_name() {
  char text[40];
  std::random_device random;
  std::snprintf(text, sizeof text, "%d-%08x", static_cast<int>(::getpid()), random());
  return text;
}

}  // namespace

struct Checkpoints::State {
  using Steps = std::map<std::string, std::int64_t>;

  State(Session& s, const RunRequest& request, CheckpointOptions o)
      : session(s), options(std::move(o)), files(options.files != nullptr ? *options.files : local_files()) {
    check_options();
    CheckpointSaver::Options when{options.every_steps, options.every_seconds,
                                  options.clock != nullptr ? options.clock : &system_clock(), request_text(request)};
    const std::string job = join_folder();
    const Cluster& cluster = s.group().cluster();
    CheckpointWriter::Options how{&files,
                                  options.folder,
                                  job,
                                  cluster.process_of(cluster.rank()),
                                  cluster.process_of(cluster.size() - 1) + 1,
                                  options.keep};
    saver.emplace(std::move(when), std::move(how), cluster.local_tasks());
    go_on(job);
  }

  void check_options() const {
    if (options.keep < 1 || options.every_steps < 0 || !(options.every_seconds >= 0))
      throw Error(Code::usage, "checkpoints: every " + std::to_string(options.every_steps) + " steps, every " +
                                   std::to_string(options.every_seconds) + " seconds, the newest " +
                                   std::to_string(options.keep))
          .hint("0 or more steps and seconds, 1 or more to keep");
  }

  [[nodiscard]] bool is_main() const { return session.group().cluster().rank() == 0; }

  /// Calls body() on the process of task 0; an Error that it throws is thrown on all.
  template <class F>
  void at_main(F body) {
    agreed(is_main() ? problem_of(body) : std::nullopt);
  }
  template <class F>
  static std::optional<Error> problem_of(F body) {
    try {
      body();
      return std::nullopt;
    } catch (const Error& error) {
      return error;
    }
  }
  void agreed(const std::optional<Error>& problem) {
    session.group().on_all([&](TaskSession& task) {
      task.member().agree_on_problem(problem ? problem->text() : std::string(), problem ? problem->code() : Code::ok);
    });
  }

  /// Makes and locks the folder, and returns the job's name. Task 0 writes it into the lock file, where the others look
  /// for it to see that their folder is the same.
  std::string join_folder() {
    std::string job = is_main() ? new_job_name() : std::string();
    at_main([&] {
      files.make_folders(options.folder);
      lock.emplace(options.folder, job);
      remove_leftovers(files, options.folder);
      if (!options.resume) refuse_checkpoints(files, options.folder);
    });
    job = session.group().of_first<std::string>([&](TaskSession& task) { return task.member().exchange(job)[0]; });
    agreed(problem_of([&] { try_folder(job); }));
    return job;
  }

  void try_folder(const std::string& job) {
    if (folder_lock_text(options.folder) != job)
      throw Error(Code::usage, in_quotes(options.folder) + ": is another folder for task " +
                                   std::to_string(session.group().cluster().rank()) + " than for task 0")
          .hint("name a folder of a file system that all hosts share");
    const std::string probe =
        options.folder + "/.probe-" + job + "-" + std::to_string(session.group().cluster().rank());
    files.write(probe, std::string_view());
    files.remove(probe);
  }

  void go_on(const std::string& job) {
    std::optional<Loaded> loaded;
    at_main([&] {
      if (!options.resume) return;
      loaded = newest(files, options.folder, session.graph(), session.seed());
      prune(files, options.folder, job, options.keep);
    });
    const Graph& graph = session.graph();
    steps = session.group().of_first<Steps>([&](TaskSession& task) -> Steps {
      std::optional<Manifest> manifest = known_of(task.member().exchange(blob_of(loaded))[0]);
      if (!manifest) return {};
      for (const OpId id : graph.variables()) {
        const Op op = graph.op(id);
        if (manifest->unset.contains(op.name())) continue;
        const bool gives = task.member().task() == 0;
        task.set_variable(op.name(), graph.type(op.output(0)),
                          gives ? loaded->variables.find(op.name())->second : Tensor());
      }
      manifest->steps[saver->request()] = manifest->step;
      task.set_steps(manifest->steps);
      saver->restored(task.member().task());
      return manifest->steps;
    });
  }

  [[nodiscard]] std::int64_t steps_of(const std::string& request) const {
    const auto found = steps.find(request);
    return found == steps.end() ? 0 : found->second;
  }

  Session& session;
  const CheckpointOptions options;
  FileSystem& files;
  Steps steps;
  std::optional<FolderLock> lock;
  std::optional<CheckpointSaver> saver;
};

Checkpoints::Checkpoints(Session& session, const RunRequest& request, CheckpointOptions options)
    : state_(std::make_unique<State>(session, request, std::move(options))) {}

Checkpoints::~Checkpoints() = default;

std::int64_t Checkpoints::step() const {
  return state_->steps_of(state_->saver->request());
}

std::int64_t Checkpoints::steps_of(const RunRequest& request) const {
  return state_->steps_of(request_text(request));
}

void Checkpoints::save() {
  State& s = *state_;
  s.session.group().on_all([&](TaskSession& task) { task.save(s.session.graph(), *s.saver); });
}

CheckpointSaver& Checkpoints::saver() const {
  return *state_->saver;
}

void Checkpoints::require_not_stopped() const {
  const std::int64_t step = state_->saver->take_stopped();
  if (step < 0) return;
  throw Error(Code::preempted, "stopped after step " + std::to_string(step) + ", as asked for; its checkpoint is in " +
                                   in_quotes(state_->options.folder))
      .hint("--resume goes on from it");
}

std::vector<CheckpointFacts> checkpoints_in(const std::string& folder, FileSystem& files) {
  std::vector<CheckpointFacts> all;
  for (const std::string& name : files.list(folder)) {
    if (!name.starts_with("step-")) continue;
    CheckpointFacts facts;
    facts.name = name;
    const std::string path = folder + "/" + name;
    try {
      const Manifest manifest = read_manifest(files, path);
      require_known_version(manifest, path);
      facts.step = manifest.step;
      facts.tasks = manifest.tasks;
      read_parts(files, path, manifest, [&](const std::string&, const SavedPart&, std::span<const std::byte> bytes) {
        facts.bytes += bytes.size();
      });
    } catch (const Error& error) {
      if (error.code() != Code::file) throw;
      facts.problem = error.text();
    }
    all.push_back(std::move(facts));
  }
  return all;
}

bool has_checkpoints(const std::string& folder, FileSystem& files) {
  for (const std::string& name : files.list(folder))
    if (step_of(name) >= 0) return true;
  return false;
}

}  // namespace ferry
