// Faults of checkpoints, by their numbers in README.md: the checkpoint before can always be loaded.
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <future>

#include "base/files/folder_lock.hpp"
#include "base/system/interrupt.hpp"
#include "executor/session/checkpoints.hpp"
#include "tests/support/faulty_files.hpp"
#include "tests/support/log_text.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"
#include "tests/support/walk.hpp"

namespace {
std::atomic<int> syncs_until_failure{-1};
}  // namespace

// Replaces the C library's fsync(), to simulate a disk that fails. Otherwise it does nothing, to save time: these tests
// cut no power.
extern "C" int fsync(int) {
  if (syncs_until_failure < 0 || syncs_until_failure-- != 0) return 0;
  errno = EIO;
  return -1;
}

namespace ferry {
namespace {

namespace fs = std::filesystem;
using test::cluster_of;
using test::difference;
using test::error_of;
using test::FaultyFiles;
using test::says;
using test::TempFolder;
using test::Walk;

constexpr std::int64_t kSteps = 9;

std::atomic<bool> hanging{false};  // no write of hanging_files() returns

/// Runs to step kSteps, from the newest checkpoint in the folder if there is one. Saves every two steps and keeps two.
TensorMap run_all(const std::string& folder, FileSystem& files, int tasks = 2) {
  Walk walk;
  Session session(walk.graph, cluster_of(tasks));
  Checkpoints checkpoints(session, walk.request,
                          {.folder = folder, .every_steps = 2, .keep = 2, .resume = true, .files = &files});
  walk.request.checkpoints = &checkpoints;
  if (checkpoints.step() < kSteps) {
    walk.request.steps = kSteps - checkpoints.step();
    session.run(walk.request);
  }
  checkpoints.save();
  return session.variables();
}

TensorMap undisturbed() {
  const TempFolder folder;
  return run_all(folder.path(), local_files());
}

std::vector<std::string> sound(const std::string& folder) {
  std::vector<std::string> names;
  for (const CheckpointFacts& facts : checkpoints_in(folder, local_files())) {
    if (facts.name.ends_with(".damaged")) continue;
    CHECK(facts.problem == "");
    names.push_back(facts.name);
  }
  return names;
}

/// A folder with the checkpoints of steps 8 and 9.
struct Saved {
  TempFolder folder;
  std::string last = folder / "step-0000000009";
  TensorMap variables = run_all(folder.path(), local_files());
};

Error resumed(const std::string& folder, std::int64_t& step, int tasks = 2) {
  Walk walk;
  Session session(walk.graph, cluster_of(tasks));
  return error_of([&] {
    const Checkpoints checkpoints(session, walk.request, {.folder = folder, .resume = true});
    step = checkpoints.step();
  });
}

TEST_CASE("082 told to stop while a checkpoint is being written: that one is completed") {
  const TempFolder folder;
  FaultyFiles files(1 << 30, FaultyFiles::Fault::full);
  int writes = 0;
  files.before_write = [&] {
    if (++writes == 4) request_preemption();
  };
  const Error error = error_of([&] { run_all(folder.path(), files); });
  clear_interrupt();
  CHECK(error.code() == Code::preempted);
  CHECK(!sound(folder.path()).empty());
  files.before_write = {};
  CHECK(difference(run_all(folder.path(), local_files()), undisturbed()) == "");
}

TEST_CASE("087 the disk is full at any change: exit code 7, nothing incomplete stays, what was there can be loaded") {
  const TensorMap wanted = undisturbed();
  int failures = 0;
  for (int at = 0;; ++at) {
    CAPTURE(at);
    const TempFolder folder;
    FaultyFiles files(at, FaultyFiles::Fault::full);
    const test::LogText log;
    const Error error = error_of([&] { run_all(folder.path(), files); });
    if (!files.broken()) break;
    ++failures;
    // If only an old checkpoint cannot be removed, the run does not fail, and the log says so.
    const bool pruned = error.code() == Code::ok;
    CHECK((pruned ? log.text.find("an old checkpoint stays") != std::string::npos : error.code() == Code::resource));
    sound(folder.path());
    if (!pruned)
      for (const auto& entry : fs::directory_iterator(folder.path()))
        CHECK(!entry.path().filename().string().ends_with(".tmp"));
    CHECK(difference(run_all(folder.path(), local_files()), wanted) == "");
  }
  CHECK(failures > 20);
}

TEST_CASE("089, 097 a crash at any change, of a file being written or of old checkpoints being removed") {
  const TensorMap wanted = undisturbed();
  int crashes = 0;
  for (int at = 0;; ++at) {
    CAPTURE(at);
    const TempFolder folder;
    FaultyFiles files(at, FaultyFiles::Fault::crash);
    const test::LogText log;
    static_cast<void>(error_of([&] { run_all(folder.path(), files); }));
    if (!files.broken()) break;
    ++crashes;
    const std::size_t before = sound(folder.path()).size();
    CHECK(difference(run_all(folder.path(), local_files()), wanted) == "");
    CHECK(log.text.find("continues from the checkpoint before it") == std::string::npos);
    CHECK(before <= 3);
    CHECK(sound(folder.path()).size() == 2);
    for (const auto& entry : fs::directory_iterator(folder.path()))
      CHECK(!entry.path().filename().string().ends_with(".tmp"));
  }
  CHECK(crashes > 20);
}

TEST_CASE("089, 090 a shard that is cut or missing: the one before is used, and that is said") {
  for (const bool cut : {true, false}) {
    const Saved saved;
    const std::string shard = saved.last + "/task-00001.safetensors";
    cut ? fs::resize_file(shard, fs::file_size(shard) - 5) : static_cast<void>(fs::remove(shard));
    const test::LogText log;
    std::int64_t step = 0;
    CHECK(resumed(saved.folder.path(), step).code() == Code::ok);
    CHECK(step == 8);
    CHECK(log.text.find("task-00001.safetensors") != std::string::npos);
    CHECK(log.text.find("continues from the checkpoint before it: step-0000000008") != std::string::npos);
    CHECK(fs::exists(saved.last + ".damaged"));
    CHECK(difference(run_all(saved.folder.path(), local_files()), saved.variables) == "");
    CHECK(sound(saved.folder.path()).size() == 2);
  }
}

/// How often the text has the part.
int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST_CASE("old checkpoints and leftovers that cannot be removed stay, with a warning each, and are no fault") {
  const Saved saved;
  fs::copy(saved.folder / "step-0000000008", saved.folder / "step-0000000007", fs::copy_options::recursive);
  fs::create_directory(saved.folder / ".step-0000000003-job.tmp");
  FaultyFiles files(1 << 30, FaultyFiles::Fault::full);
  files.fixed = {"/step-0000000008", "/step-0000000007", "/.step-0000000003"};
  fs::resize_file(saved.last + "/manifest.json", 5);
  for (int start = 0; start < 2; ++start) {
    const test::LogText log;
    CHECK(difference(run_all(saved.folder.path(), files), saved.variables) == "");
    CHECK(count_of(log.text, "an incomplete checkpoint stays: ") == 1);
    CHECK(count_of(log.text, "an old checkpoint stays: ") == 1);
    CHECK(fs::exists(saved.folder / "step-0000000007"));
  }
  CHECK(fs::exists(saved.last + ".damaged"));
}

TEST_CASE("a damaged checkpoint that cannot be put aside stays, and later ones get names above its own") {
  for (const bool is_file : {false, true}) {
    CAPTURE(is_file);
    const Saved saved;
    if (is_file) {
      fs::remove_all(saved.last);
      local_files().write(saved.last, "no folder");
    } else {
      fs::remove(saved.last + "/manifest.json");
    }
    FaultyFiles files(1 << 30, FaultyFiles::Fault::full);
    files.fixed = {"/step-0000000009"};
    for (int start = 0; start < 2; ++start) {
      const test::LogText log;
      CHECK(difference(run_all(saved.folder.path(), files), saved.variables) == "");
      CHECK(count_of(log.text, "a damaged checkpoint stays: ") == (start == 0 ? 1 : 0));
    }
    const std::vector<CheckpointFacts> left = checkpoints_in(saved.folder.path(), local_files());
    REQUIRE(left.size() == 2);
    CHECK(left[0].problem != "");
    CHECK(left[1].name == "step-0000000010");
    CHECK(left[1].step == 9);
    CHECK(left[1].problem == "");
  }
}

TEST_CASE("091 any byte of a checkpoint changed: refused by name, or harmless") {
  const Saved saved;
  fs::remove_all(saved.folder / "step-0000000008");
  int tensors = 0;
  for (const std::string name : {"manifest.json", "task-00000.safetensors", "task-00001.safetensors"}) {
    const std::string path = saved.last + "/" + name;
    const std::string before(local_files().read(path).text());
    for (std::size_t i = 0; i < before.size(); ++i) {
      CAPTURE(name);
      CAPTURE(i);
      std::string flipped = before;
      flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
      local_files().write(path, flipped);
      const std::vector<CheckpointFacts> all = checkpoints_in(saved.folder.path(), local_files());
      REQUIRE(all.size() == 1);
      if (all[0].problem.empty()) {
        // The byte is a space between fields.
        std::int64_t step = 0;
        CHECK(resumed(saved.folder.path(), step).code() == Code::ok);
        continue;
      }
      CHECK(all[0].problem.find(name) != std::string::npos);
      if (all[0].problem.find("tensor \"") != std::string::npos) ++tensors;
      if (i % 97 != 0) continue;
      std::int64_t step = 0;
      const Error error = resumed(saved.folder.path(), step);
      CHECK(error.code() == Code::file);
      CHECK(says(error, "has no checkpoint that can be loaded"));
      CHECK(says(error, name));
    }
    local_files().write(path, before);
  }
  CHECK(tensors > 64);
}

TEST_CASE("092 the checkpoint of another graph: lists what is missing, extra and different") {
  const Saved saved;
  Graph other;
  const Value cut = other.variable("cut", other.constant({1.0F, 2.0F}));
  const Value more = other.variable("more", other.constant({1.0F}));
  RunRequest request;
  request.targets = {assign(cut, cut * 2.0), assign(more, more * 2.0)};
  Session session(other, cluster_of(2));
  const Error error = error_of(
      [&] { const Checkpoints checkpoints(session, request, {.folder = saved.folder.path(), .resume = true}); });
  CHECK(error.code() == Code::file);
  CHECK(says(error, "missing: more float32[1]"));
  CHECK(says(error, "extra: whole float32[4]"));
  CHECK(says(error, "differs: cut is float32[2] in the graph, float32[6,4] in the file"));
}

TEST_CASE("093 another number of tasks: each gets its part") {
  for (const int tasks : {1, 3, 4}) {
    CAPTURE(tasks);
    const Saved saved;
    CHECK(difference(run_all(saved.folder.path(), local_files(), tasks), saved.variables) == "");
  }
}

TEST_CASE("094 names of tensors that are paths never name a file") {
  for (const std::string name : {"../../outside", "/tmp/outside", "manifest.json", "a/b"}) {
    CAPTURE(name);
    const TempFolder folder;
    Walk walk(name);
    {
      Session session(walk.graph, cluster_of(2));
      Checkpoints checkpoints(session, walk.request, {.folder = folder / "a/b"});
      walk.request.checkpoints = &checkpoints;
      session.run(walk.request);
      checkpoints.save();
    }
    CHECK(local_files().list(folder / "a/b") == std::vector<std::string>{"lock", "step-0000000001"});
    CHECK(local_files().list(folder / "a/b/step-0000000001") ==
          std::vector<std::string>{"manifest.json", "task-00000.safetensors", "task-00001.safetensors"});
    CHECK(local_files().list(folder.path()) == std::vector<std::string>{"a"});
    Session session(walk.graph, cluster_of(1));
    const Checkpoints checkpoints(session, walk.request, {.folder = folder / "a/b", .resume = true});
    CHECK(checkpoints.step() == 1);
  }
}

TEST_CASE("095 a second job in the same folder is refused while the first lives") {
  const TempFolder folder;
  Walk walk;
  Session session(walk.graph, cluster_of(2));
  {
    const Checkpoints first(session, walk.request, {.folder = folder.path()});
    std::int64_t step = 0;
    const Error error = resumed(folder.path(), step);
    CHECK(error.code() == Code::usage);
    CHECK(says(error, "another job uses it"));
    CHECK(says(error, "process " + std::to_string(::getpid())));
  }
  CHECK_NOTHROW(Checkpoints(session, walk.request, {.folder = folder.path()}));
}

TEST_CASE("a folder that is moved, deleted or replaced while a job saves to it ends the job, and is not made again") {
  const TempFolder folder;
  const std::string used = folder / "used", moved = folder / "moved";
  FaultyFiles files(1 << 30, FaultyFiles::Fault::full);
  std::function<void()> disturb = [&] { fs::rename(used, moved); };
  int saves = 0, at = 2;
  SUBCASE("moved between two saves") {}
  SUBCASE("moved during a save") {
    at = 0;
    files.before_write = [&] {
      if (saves == 2 && fs::exists(used)) disturb();
    };
  }
  SUBCASE("deleted") {
    disturb = [&] { fs::remove_all(used); };
  }
  SUBCASE("replaced by a folder of another job") {
    disturb = [&] {
      fs::rename(used, moved);
      fs::create_directory(used);
      static_cast<void>(FolderLock(used, "another job"));
    };
  }
  Walk walk;
  Session session(walk.graph, cluster_of(1));
  Checkpoints checkpoints(session, walk.request,
                          {.folder = used, .every_steps = 2, .files = &files, .before_save = [&](int) {
                             if (++saves == at) disturb();
                           }});
  walk.request.checkpoints = &checkpoints;
  walk.request.steps = kSteps;
  const Error error = error_of([&] { session.run(walk.request); });
  CHECK(error.code() == Code::file);
  CHECK(says(error, used));
  CHECK(says(error, "was moved, deleted, replaced or locked by another job while this job saved to it"));
  CHECK(saves == 2);
  if (fs::exists(used)) CHECK(local_files().list(used) == std::vector<std::string>{"lock"});
  if (fs::exists(moved)) CHECK(sound(moved) == std::vector<std::string>{"step-0000000002"});
}

/// Each look at it takes 20 s.
class FastClock final : public Clock {
 public:
  TimePoint now() override { return TimePoint(std::chrono::seconds(20 * ++looks_)); }
  void sleep(Duration) override {}

 private:
  std::atomic<std::int64_t> looks_{0};
};

/// A file system in which no write ever returns. It stays until the process ends, as the threads that write.
FaultyFiles& hanging_files() {
  static auto& never = *new std::promise<void>;
  static auto& files = *new FaultyFiles(1 << 30, FaultyFiles::Fault::full);
  files.before_write = [answer = never.get_future().share()] {
    if (hanging) answer.wait();
  };
  return files;
}

TEST_CASE("a file system that does not answer ends the job after its deadline, at the next save and at the end") {
  for (const int tasks : {1, 2}) {
    for (const int every : {2, 0}) {
      CAPTURE(tasks);
      CAPTURE(every);
      const TempFolder folder;
      FastClock clock;
      Walk walk;
      Session session(walk.graph, cluster_of(tasks));
      static FaultyFiles& files = hanging_files();
      hanging = false;  // the folder is tried at the start
      Checkpoints checkpoints(session, walk.request,
                              {.folder = folder.path(), .every_steps = every, .clock = &clock, .files = &files});
      hanging = true;
      walk.request.checkpoints = &checkpoints;
      walk.request.steps = kSteps;
      const Error error = error_of([&] {
        session.run(walk.request);
        checkpoints.save();
      });
      CHECK(error.code() == Code::stalled);
      CHECK(says(error, "checkpoint of step " + std::to_string(every == 0 ? kSteps : 2) + ": writing to "));
      CHECK(says(error, folder.path()));
      CHECK(says(error, "has made no progress for 60 s"));
    }
  }
}

TEST_CASE("a checkpoint may take longer than the deadline while it makes progress") {
  const TempFolder folder;
  test::ManualClock clock;
  FaultyFiles files(1 << 30, FaultyFiles::Fault::full);
  files.before_write = [&] { clock.advance(std::chrono::seconds(50)); };
  Walk walk;
  Session session(walk.graph, cluster_of(2));
  Checkpoints checkpoints(session, walk.request,
                          {.folder = folder.path(), .every_steps = 2, .clock = &clock, .files = &files});
  walk.request.checkpoints = &checkpoints;
  walk.request.steps = kSteps;
  CHECK_NOTHROW(session.run(walk.request));
  CHECK_NOTHROW(checkpoints.save());
}

TEST_CASE("096 any failed fsync is a failed save, and what was there can be loaded") {
  const TensorMap wanted = undisturbed();
  int failures = 0;
  for (int at = 0;; ++at) {
    CAPTURE(at);
    const TempFolder folder;
    const test::LogText log;
    syncs_until_failure = at;
    const Error error = error_of([&] { run_all(folder.path(), local_files()); });
    const bool failed = syncs_until_failure < 0;
    syncs_until_failure = -1;
    if (!failed) break;
    ++failures;
    const bool pruned = error.code() == Code::ok;
    CHECK((pruned ? log.text.find("an old checkpoint stays") != std::string::npos : error.code() == Code::resource));
    sound(folder.path());
    CHECK(difference(run_all(folder.path(), local_files()), wanted) == "");
  }
  CHECK(failures > 20);
}

TEST_CASE("098 what else lies in the folder, such as an unreadable pointer to the latest, is not looked at") {
  const Saved saved;
  fs::create_directory(saved.folder / "latest");
  local_files().write(saved.folder / "step-12", "not a checkpoint");
  fs::create_symlink("nowhere", saved.folder / "step-latest");
  std::int64_t step = 0;
  CHECK(resumed(saved.folder.path(), step).code() == Code::ok);
  CHECK(step == 9);
}

TEST_CASE("a checkpoint of a newer ferry is refused, and no older one is taken in its place") {
  const Saved saved;
  local_files().write(saved.last + "/manifest.json", R"({"ferry_checkpoint": 2})");
  std::int64_t step = 0;
  const Error error = resumed(saved.folder.path(), step);
  CHECK(error.code() == Code::file);
  CHECK(says(error, "a checkpoint of version 2; this ferry reads up to 1"));
}

TEST_CASE("a checkpoint with more behind a NUL, of a version that never was, or with a link in it is refused") {
  const Saved saved;
  const std::string path = saved.last + "/manifest.json", shard = saved.last + "/task-00000.safetensors";
  const auto problem = [&] { return checkpoints_in(saved.folder.path(), local_files()).back().problem; };
  CHECK(problem().empty());
  const std::string manifest(local_files().read(path).text());
  local_files().write(path, manifest + std::string("\0more", 5));
  CHECK(problem().find("it is not JSON") != std::string::npos);
  local_files().write(path, R"({"ferry_checkpoint": 0})");
  CHECK(problem().find("version 0 there never was") != std::string::npos);
  local_files().write(path, manifest);
  SUBCASE("its file") {
    fs::rename(shard, saved.folder / "elsewhere");
    fs::create_symlink(saved.folder / "elsewhere", shard);
  }
  SUBCASE("its folder") {
    fs::rename(saved.last, saved.folder / "elsewhere");
    fs::create_directory_symlink(saved.folder / "elsewhere", saved.last);
  }
  CHECK(problem().find("symbolic link") != std::string::npos);
}

TEST_CASE("no more of a checkpoint's file is read than the manifest says that there is") {
  const Saved saved;
  fs::resize_file(saved.last + "/task-00000.safetensors", std::uintmax_t{10} << 30);
  const std::string problem = checkpoints_in(saved.folder.path(), local_files()).back().problem;
  CHECK_MESSAGE(problem.find("too large") != std::string::npos, problem);
}

}  // namespace
}  // namespace ferry
