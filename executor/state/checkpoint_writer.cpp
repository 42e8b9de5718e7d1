#include "executor/state/checkpoint_writer.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include "base/files/folder_lock.hpp"
#include "base/files/write_progress.hpp"
#include "base/hash.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

/// How often the process of task 0 looks for the files of the other processes.
constexpr std::chrono::milliseconds kLookForParts{5};
/// How often end() looks for progress.
constexpr std::chrono::milliseconds kLookForProgress{50};
constexpr std::uint64_t kMaxPartsBytes = 1 << 30;
/// The beginning of the names of incomplete checkpoints.
constexpr const char* kHidden = ".step-";

std::string parts_file(int process) {
  return "process-" + std::to_string(process) + ".json";
}

/// The path of a checkpoint that is being written or removed.
std::string hidden(const std::string& folder, const std::string& name, const std::string& job) {
  return folder + "/." + name + "-" + job + ".tmp";
}

/// Calls change(), which removes `what`. If it fails, prints a warning and returns false.
template <class F>
bool attempt(const F& change, const char* what) {
  try {
    change();
    return true;
  } catch (const Error& error) {
    log_warn(what + std::string(" stays: ") + error.text());
    return false;
  }
}

/// Thrown when the writer is ended while it waits for the files of other processes.
struct GivenUp {};

}  // namespace

CheckpointWriter::CheckpointWriter(Options options, std::span<const int> tasks)
    : options_(std::move(options)), next_progress_(options_.progress.from_now()) {
  for (const int task : tasks) copies_.push_back({task, {}});
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::exception& error) {
    throw Error(Code::resource, std::string("no thread can be made to write checkpoints: ") + error.what())
        .hint("raise the limit of processes (ulimit -u) or of memory (ulimit -v), or leave --checkpoint out");
  }
}

bool CheckpointWriter::end() {
  work_.change([this] { ending_ = true; });
  while (!idle(kLookForProgress))
    if (!check_progress()) return false;
  thread_.join();
  return true;
}

void CheckpointWriter::write(Manifest head) {
  work_.change([&] {
    manifest_ = std::move(head);
    busy_ = true;
    ++progress_;
  });
}

bool CheckpointWriter::idle(Duration at_most) {
  auto lock = work_.lock();
  return work_.wait_for(lock, at_most, [this] { return !busy_; });
}

void CheckpointWriter::set_process_lost(int process) {
  work_.change([&] { lost_.insert(process); });
}

bool CheckpointWriter::check_progress() {
  const auto lock = work_.lock();
  const std::uint64_t now = progress_ + write_progress();
  if (!busy_ || std::exchange(seen_, now) != now) next_progress_ = options_.progress.from_now();
  if (!next_progress_.expired()) return true;
  failure_ = Error(Code::stalled, "checkpoint of step {}: writing to {:?} has made no progress for {}", manifest_.step,
                   options_.folder, seconds_text(options_.progress.time))
                 .hint("see whether the file system of this folder answers; --deadline gives it more time");
  return false;
}

std::optional<Error> CheckpointWriter::failure() {
  const auto lock = work_.lock();
  return failure_;
}

void CheckpointWriter::serve() {
  auto lock = work_.lock();
  for (;;) {
    work_.wait(lock, [this] { return ending_ || busy_; });
    if (!busy_) return;
    lock.unlock();
    std::optional<Error> failure;
    try {
      try {
        write_all();
      } catch (const Error&) {
        require_folder();  // if the folder is gone, this is the reason of the error
        throw;
      }
    } catch (const GivenUp&) {
      clean_up();
    } catch (const Error& error) {
      failure = error;
    } catch (const std::bad_alloc&) {
      failure = Error(Code::resource, "out of memory while a checkpoint was written");
    } catch (const std::exception& error) {
      failure = Error(Code::bug, std::string("while a checkpoint was written: ") + error.what());
    }
    if (failure) clean_up();
    lock.lock();
    if (failure) failure_ = failure;
    busy_ = false;
    work_.notify();
  }
}

std::string CheckpointWriter::temporary() const {
  return hidden(options_.folder, name(), options_.job);
}

void CheckpointWriter::require_folder() const {
  if (folder_lock_text(options_.folder) == options_.job) return;
  throw Error(Code::file, "{:?}: was moved, deleted, replaced or locked by another job while this job saved to it",
              options_.folder)
      .note("its file \"lock\" is missing, or from another job")
      .hint("start again with --resume and the folder that has the earlier checkpoints, and leave it in its place");
}

void CheckpointWriter::write_all() {
  require_folder();  // make_folders() would make it again, without a lock
  options_.files->make_folders(temporary());
  write_shards();
  if (options_.process == 0) commit();
}

void CheckpointWriter::write_shards() {
  const std::string folder = temporary();
  for (const TaskCopy& copy : copies_) {
    NamedTensors tensors;
    for (const TaskCopy::Part& part : copy.parts) {
      const std::shared_ptr<const void> owner(&copy, [](const void*) {});
      tensors.emplace(part.name, Tensor(part.dtype, part.part.sizes, owner, part.bytes.span()));
      SavedVariables one;
      one[part.name] = {
          part.dtype, part.part.whole, {{copy.task, part.part.begin, part.part.sizes, hex_digest(part.bytes.span())}}};
      merge(manifest_.variables, one);
      ++progress_;
    }
    write_tensors(*options_.files, folder + "/" + shard_name(copy.task), tensors);
    ++progress_;
  }
  if (options_.process > 0)
    options_.files->write(folder + "/" + parts_file(options_.process), parts_text(manifest_.variables));
}

SavedVariables CheckpointWriter::parts_of(int process) {
  const std::string path = temporary() + "/" + parts_file(process);
  while (!options_.files->exists(path)) {
    ++progress_;
    auto lock = work_.lock();
    if (work_.wait_for(lock, kLookForParts, [&] { return ending_ || lost_.contains(process); })) {
      if (ending_) throw GivenUp();
      return {};
    }
  }
  ++progress_;
  SavedVariables parts = parse_parts(options_.files->read(path, kMaxPartsBytes).text(), path);
  options_.files->remove(path);
  return parts;
}

void CheckpointWriter::commit() {
  for (int process = 1; process < options_.processes; ++process) merge(manifest_.variables, parts_of(process));
  manifest_.settings = options_.settings;
  options_.files->write(temporary() + "/" + kManifestFile, manifest_text(manifest_));
  options_.files->rename_folder(temporary(), options_.folder + "/" + name());
  prune();
}

void CheckpointWriter::prune() {
  require_folder();
  const auto remove = [this](const std::string& name) {
    const std::string put_aside = hidden(options_.folder, name, options_.job);
    options_.files->rename_folder(options_.folder + "/" + name, put_aside);
    if (options_.files->is_folder(put_aside))
      for (const std::string& file : options_.files->list(put_aside)) {
        options_.files->remove(put_aside + "/" + file);
        ++progress_;
      }
    options_.files->remove(put_aside);
  };
  try {
    int kept = 0;
    for (const std::string& name : checkpoint_names(*options_.files, options_.folder))
      if (!excluded_.contains(name) && ++kept > options_.keep && !attempt([&] { remove(name); }, "an old checkpoint"))
        excluded_.insert(name);
  } catch (const Error& error) {
    log_warn("old checkpoints stay: " + error.text());
  }
}

/// Removes an incomplete checkpoint. Other processes may still be writing into the folder: they remove their own files.
void CheckpointWriter::clean_up() noexcept {
  const std::string folder = temporary();
  try {
    if (options_.process == 0) return options_.files->remove(folder);
    for (const TaskCopy& copy : copies_) options_.files->remove(folder + "/" + shard_name(copy.task));
  } catch (const std::exception& error) {
    log_warn(std::string("what could not be completed stays: ") + error.what());
  }
}

void remove_leftovers(FileSystem& files, const std::string& folder) {
  for (const std::string& name : files.list(folder))
    if (name.starts_with(kHidden) && name.ends_with(".tmp"))
      attempt([&] { files.remove(folder + "/" + name); }, "an incomplete checkpoint");
}

std::vector<std::string> checkpoint_names(FileSystem& files, const std::string& folder) {
  std::vector<std::string> names;
  for (std::string& name : files.list(folder))
    if (step_of(name) >= 0) names.push_back(std::move(name));
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return step_of(a) > step_of(b); });
  return names;
}

}  // namespace ferry
