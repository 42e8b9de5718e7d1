#include "executor/session/checkpoints.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <random>

#include "base/blob.hpp"
#include "base/files/files.hpp"
#include "base/files/folder_lock.hpp"
#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/numbers.hpp"
#include "base/system/log.hpp"
#include "executor/job/fit.hpp"
#include "executor/session/agreement.hpp"
#include "executor/session/fed_parts.hpp"
#include "executor/session/task_group.hpp"
#include "executor/session/task_session.hpp"
#include "executor/state/checkpoint_saver.hpp"
#include "executor/state/variable_layout.hpp"
#include "graph/op/core_ops.hpp"

namespace ferry {
namespace {

constexpr const char* kDamaged = ".damaged";

std::map<std::string, Type, std::less<>> types_of(const Manifest& manifest) {
  std::map<std::string, Type, std::less<>> types;
  for (const auto& [name, variable] : manifest.variables) types.emplace(name, variable.type());
  return types;
}

void require_known_version(const Manifest& manifest, const std::string& path) {
  if (manifest.version <= kCheckpointVersion) return;
  throw Error(Code::file, "{:?}: a checkpoint of version {}; this ferry reads up to {}", path, manifest.version,
              kCheckpointVersion)
      .hint("use a newer ferry");
}

void require_fit(const Manifest& manifest, const std::string& path, const Graph& graph, std::uint64_t seed) {
  if (const std::string problem = fit_problem(graph, types_of(manifest), manifest.unset, Extra::refused);
      !problem.empty())
    throw Error(Code::file, "{:?}: {}", path, as_is(problem))
        .hint("resume with the graph that saved it, or name another folder");
  if (manifest.seed != seed)
    throw Error(Code::usage, "{:?}: was saved with the seed {}, this run has {}", path, manifest.seed, seed)
        .hint("--seed {}", manifest.seed);
}

/// A checkpoint from which the run may continue.
struct Candidate {
  std::string name;  ///< name of its folder
  Manifest manifest;
};

/// Searches the checkpoints of a folder, the newest first, for one with undamaged files. Used by the process of task 0.
class CheckpointSearch {
 public:
  CheckpointSearch(FileSystem& files, std::string folder)
      : files_(files), folder_(std::move(folder)), names_(checkpoint_names(files_, folder_)) {}

  /// Returns the next checkpoint with a readable manifest, or nothing if no checkpoint is left. Throws an Error if the
  /// checkpoint does not fit.
  std::optional<Candidate> next(const Graph& graph, std::uint64_t seed) {
    while (at_ < names_.size()) {
      Candidate candidate{names_[at_++], {}};
      const std::string path = folder_ + "/" + candidate.name;
      try {
        candidate.manifest = read_manifest(files_, path);
      } catch (const Error& error) {
        if (error.code() != Code::file) throw;
        mark_damaged(error.text());
        continue;
      }
      require_known_version(candidate.manifest, path);
      require_fit(candidate.manifest, path, graph, seed);
      return candidate;
    }
    if (notes_.empty()) return std::nullopt;
    Error error(Code::file, "{:?}: has no checkpoint that can be loaded", folder_);
    for (std::size_t i = 0; i < std::min<std::size_t>(notes_.size(), 12); ++i) error.note(notes_[i]);
    throw error.hint("use another copy of the folder, or begin again in an empty one");
  }
  /// Call it if the checkpoint that next() returned last is damaged.
  void mark_damaged(const std::string& why) {
    notes_.push_back(why);
    damaged_.push_back(names_[at_ - 1]);
  }
  /// Call it if the run continues from that checkpoint. Logs the damaged checkpoints, which are newer, and puts them
  /// aside. Returns the names of the damaged checkpoints that cannot be put aside, the newest first.
  std::vector<std::string> take() {
    for (const std::string& note : notes_) log_warn(note);
    if (!damaged_.empty()) log_warn("continues from the checkpoint before it: " + names_[at_ - 1]);
    std::vector<std::string> left;
    for (const std::string& name : damaged_)
      if (!put_aside(folder_ + "/" + name)) left.push_back(name);
    return left;
  }

 private:
  bool put_aside(const std::string& damaged) {
    try {
      files_.remove(damaged + kDamaged);
      files_.rename_folder(damaged, damaged + kDamaged);
      return true;
    } catch (const Error& error) {
      log_warn("a damaged checkpoint stays: " + error.text());
      return false;
    }
  }

  FileSystem& files_;
  std::string folder_;
  std::vector<std::string> names_, notes_, damaged_;
  std::size_t at_ = 0;
};

void refuse_checkpoints(FileSystem& files, const std::string& folder) {
  const std::vector<std::string> names = checkpoint_names(files, folder);
  if (names.empty()) return;
  throw Error(Code::usage, "{:?}: has checkpoints already, the newest of step {}", folder, step_of(names[0]))
      .hint("--resume, which continues from it, or name another folder");
}

/// The candidate's name, and its manifest as text, for all tasks. The texts are empty if there is no candidate.
std::string blob_of(const std::optional<Candidate>& candidate) {
  BlobWriter writer;
  writer.add(candidate ? candidate->name : std::string());
  return writer.add(candidate ? manifest_text(candidate->manifest) : std::string()).take();
}

/// How the variables of a checkpoint are read: which task reads which parts.
class VariableReader {
 public:
  VariableReader(const Manifest& manifest, std::size_t tasks) : by_part_(manifest.tasks <= static_cast<int>(tasks)) {
    for (const auto& [name, variable] : manifest.variables) {
      std::set<int> givers;
      for (const SavedPart& part : variable.parts) by_part_ = by_part_ && givers.insert(part.task).second;
    }
    for (const auto& [name, variable] : manifest.variables)
      layouts_.emplace(name, by_part_ ? layout_of(variable, tasks) : VariableLayout::at_task_0(variable.sizes, tasks));
  }

  /// Reads a task's parts of the variables. Each task reads the parts that the task of its number has saved. If that is
  /// not possible, because more tasks than now have saved parts, or a task has saved two parts of a variable, task 0
  /// reads all variables.
  [[nodiscard]] NamedTensors read(FileSystem& files, const std::string& path, const Manifest& manifest,
                                  int task) const {
    if (by_part_) return read_parts_of(files, path, manifest, task);
    return task == 0 ? read_variables(files, path, manifest) : NamedTensors();
  }
  [[nodiscard]] const std::shared_ptr<const VariableLayout>& layout(std::string_view name) const {
    return layouts_.find(name)->second;
  }

 private:
  static std::shared_ptr<const VariableLayout> layout_of(const SavedVariable& variable, std::size_t tasks) {
    std::map<int, const SavedPart*> by_task;
    for (const SavedPart& part : variable.parts) by_task[part.task] = &part;
    auto layout = std::make_shared<VariableLayout>(tasks);
    for (const auto& [task, part] : by_task)
      layout->set_part(static_cast<std::size_t>(task), {true, part->sizes, part->begin, variable.sizes});
    return layout;
  }

  bool by_part_;
  std::map<std::string, std::shared_ptr<const VariableLayout>, std::less<>> layouts_;
};

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
      : session(s), graph(s.graph("Checkpoints")), options(with_defaults(std::move(o))), files(*options.files) {
    check_options();
    require_same_options();
    const std::string job = join_folder();
    const auto parts = session.group().of_first<std::map<std::string, std::string>>(
        [&](TaskSession& task) { return texts_of_parts(request.feeds, task.member()); });
    if (is_main()) settings = settings_now(request, parts);
    const Cluster& cluster = s.group().cluster();
    const auto patience = s.group().of_first<Duration>([](TaskSession& task) { return task.member().limit().time; });
    CheckpointWriter::Options how{&files,
                                  options.folder,
                                  job,
                                  cluster.process_of(cluster.rank()),
                                  cluster.process_of(cluster.size() - 1) + 1,
                                  options.keep,
                                  settings,
                                  {options.clock, patience}};
    saver.emplace(options, request_text(request), std::move(how), cluster.local_tasks());
    restore_newest();
  }

  static CheckpointOptions with_defaults(CheckpointOptions options) {
    if (options.clock == nullptr) options.clock = &system_clock();
    if (options.files == nullptr) options.files = &local_files();
    return options;
  }

  void check_options() const {
    constexpr std::chrono::duration<double> kMostSeconds = kLongestTime;
    require_range("CheckpointOptions::every_steps", options.every_steps, decltype(options.every_steps){0},
                  std::numeric_limits<decltype(options.every_steps)>::max());
    require_range("CheckpointOptions::every_seconds", options.every_seconds, 0.0, kMostSeconds.count());
    require_range("CheckpointOptions::keep", options.keep, 1, std::numeric_limits<int>::max());
  }

  /// Error(usage), the same on all tasks, unless all tasks save at the same steps and keep the same number of
  /// checkpoints.
  void require_same_options() {
    const std::string mine = "every_steps = " + std::to_string(options.every_steps) +
                             ", every_seconds = " + digits_text(options.every_seconds, 6) +
                             ", keep = " + std::to_string(options.keep) +
                             ", resume = " + (options.resume ? "true" : "false");
    session.group().on_all([&](TaskSession& task) {
      task.member().agreed([&] {
        const std::vector<std::string> all = task.member().exchange(mine);
        for (std::size_t other = 1; other < all.size(); ++other)
          if (!all[other].empty() && all[other] != all[0])
            throw Error(Code::usage, "the tasks have different CheckpointOptions")
                .note("task 0 has " + all[0])
                .note("task " + std::to_string(other) + " has " + all[other])
                .hint("make Checkpoints with the same options on every task");
      });
    });
  }

  /// The settings that decide the values of this run's variables. Fetches do not change variables, so they count only
  /// if there are no targets. `parts`: texts_of_parts().
  [[nodiscard]] RunSettings settings_now(const RunRequest& request,
                                         const std::map<std::string, std::string>& parts) const {
    std::vector<ValueId> values;
    std::vector<OpId> targets;
    for (const Value& target : request.targets) targets.push_back(target.op().id());
    if (targets.empty())
      for (const Value& fetch : request.fetches) values.push_back(fetch.id());
    TensorMap whole;
    for (const auto& [name, feed] : request.feeds)
      if (!feed.by_parts()) whole[name] = feed.of(0);
    RunSettings now = settings_of(graph, values, targets, whole, files, session.group().options().run.data_folder);
    for (const auto& [name, text] : parts) now.ops[name]["feed"] = text;
    return now;
  }

  [[nodiscard]] bool is_main() const { return session.group().cluster().rank() == 0; }

  /// Calls body() in the process of task 0. All tasks throw the Error that it throws.
  template <class F>
  void run_on_task_0(F body) {
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

  /// Makes and locks the folder, and returns the job's name. Task 0 writes the name into the lock file. The other tasks
  /// read it there, to check that they use the same folder.
  std::string join_folder() {
    std::string job = is_main() ? new_job_name() : std::string();
    run_on_task_0([&] {
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
      throw Error(Code::usage, "{:?}: is another folder for task {} than for task 0", options.folder,
                  session.group().cluster().rank())
          .hint("name a folder of a file system that all hosts share");
    const std::string probe =
        options.folder + "/.probe-" + job + "-" + std::to_string(session.group().cluster().rank());
    files.write(probe, std::string_view());
    files.remove(probe);
  }

  void restore_newest() {
    std::optional<CheckpointSearch> search;
    for (;;) {
      std::optional<Candidate> candidate;
      run_on_task_0([&] {
        if (!options.resume) return;
        if (!search) search.emplace(files, options.folder);
        candidate = search->next(graph, session.group().options().run.seed);
        if (candidate) adapt(*candidate);
      });
      const std::optional<std::string> damage = restore(broadcast_candidate(candidate));
      if (!damage) break;
      if (search) search->mark_damaged(*damage);
    }
    if (options.resume) clear_up(search);
  }

  /// Puts damaged checkpoints aside and removes old ones. The names of later checkpoints are above the names of those
  /// that stay.
  void clear_up(std::optional<CheckpointSearch>& search) {
    std::string newest;
    run_on_task_0([&] {
      const std::vector<std::string> left = search->take();
      saver->prune(left);
      if (!left.empty()) newest = left.front();
    });
    newest =
        session.group().of_first<std::string>([&](TaskSession& task) { return task.member().exchange(newest)[0]; });
    if (!newest.empty()) saver->shift_names(step_of(newest) - steps_of(saver->request()));
  }

  /// Compares the settings of the two runs, and counts the checkpoint's steps in batches of this run.
  void adapt(Candidate& candidate) {
    const std::string path = options.folder + "/" + candidate.name;
    if (!candidate.manifest.settings) {
      log_warn(
          formatted("{:?}: was saved by an older ferry, which did not record batch size, data files and other "
                    "settings: make sure that they are the same",
                    path));
      return;
    }
    const Continuation continuation =
        compare_settings(*candidate.manifest.settings, settings, candidate.manifest.step, graph, path);
    for (const std::string& change : continuation.changes) log_info("resumes with another setting: " + change);
    if (continuation.step != candidate.manifest.step)
      log_info("step " + std::to_string(candidate.manifest.step) + " of the checkpoint is step " +
               std::to_string(continuation.step) + " with these batches");
    candidate.manifest.step = continuation.step;
  }

  std::optional<Candidate> broadcast_candidate(const std::optional<Candidate>& of_main) {
    const std::string blob = blob_of(of_main);
    const std::string known =
        session.group().of_first<std::string>([&](TaskSession& task) { return task.member().exchange(blob)[0]; });
    BlobReader reader(known);
    const std::string name(reader.text()), manifest(reader.text());
    if (name.empty()) return std::nullopt;
    return Candidate{name, parse_manifest(manifest, options.folder + "/" + name)};
  }

  /// Continues from the checkpoint, if there is one. If its files are damaged, returns the fault, the same on all
  /// tasks.
  std::optional<std::string> restore(const std::optional<Candidate>& candidate) {
    if (!candidate) return std::nullopt;
    const Manifest& manifest = candidate->manifest;
    const std::string path = options.folder + "/" + candidate->name;
    const VariableReader reading(manifest, static_cast<std::size_t>(session.group().cluster().size()));
    const std::string damage = session.group().of_first<std::string>([&](TaskSession& task) {
      NamedTensors parts;
      const std::optional<Error> problem =
          problem_of([&] { parts = reading.read(files, path, manifest, task.member().task()); });
      const bool damaged = problem && problem->code() == Code::file;
      task.member().agree_on_problem(problem && !damaged ? problem->text() : std::string(),
                                     problem ? problem->code() : Code::ok);
      for (std::string& of_task : task.member().exchange(damaged ? problem->text() : std::string()))
        if (!of_task.empty()) return std::move(of_task);
      set(task, manifest, reading, parts);
      return std::string();
    });
    if (!damage.empty()) return damage;
    steps = manifest.steps;
    steps[saver->request()] = manifest.step;
    saver->shift_names(std::max<std::int64_t>(step_of(candidate->name) - manifest.step, 0));
    return std::nullopt;
  }

  void set(TaskSession& task, const Manifest& manifest, const VariableReader& reading, const NamedTensors& parts) {
    for (const OpId id : graph.variables()) {
      const Op op = graph.op(id);
      if (manifest.unset.contains(op.name())) continue;
      const auto part = parts.find(op.name());
      task.set_variable(op.name(), graph.type(op.output(0)).dtype, reading.layout(op.name()),
                        part == parts.end() ? Tensor() : part->second);
    }
    Steps counts = manifest.steps;
    counts[saver->request()] = manifest.step;
    task.set_steps(std::move(counts));
    saver->restored(task.member().task());
  }

  [[nodiscard]] std::int64_t steps_of(const std::string& request) const {
    const auto found = steps.find(request);
    return found == steps.end() ? 0 : found->second;
  }

  Session& session;
  const Graph& graph;
  const CheckpointOptions options;
  FileSystem& files;
  RunSettings settings;  // of this run, in the process of task 0
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
  s.session.group().on_all([&](TaskSession& task) { task.save(s.graph, *s.saver); });
}

CheckpointSaver& Checkpoints::saver() const {
  return *state_->saver;
}

const Session& Checkpoints::session() const {
  return state_->session;
}

void Checkpoints::require_not_stopped() const {
  const std::int64_t step = state_->saver->take_stopped();
  if (step < 0) return;
  throw Error(Code::preempted, "stopped after step {}, as asked for; its checkpoint is in {:?}", step,
              state_->options.folder)
      .hint("--resume continues from it");
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
