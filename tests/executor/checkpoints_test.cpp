// Checkpoints: a run that continues from one ends like a run that was never stopped.
#include "executor/session/checkpoints.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/files/files.hpp"
#include "base/files/npy.hpp"
#include "base/system/interrupt.hpp"
#include "executor/state/checkpoint_format.hpp"
#include "tests/executor/in_processes.hpp"
#include "tests/support/faulty_files.hpp"
#include "tests/support/has.hpp"
#include "tests/support/log_text.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"
#include "tests/support/walk.hpp"

namespace ferry {
namespace {

using test::cluster_of;
using test::difference;
using test::error_of;
using test::says;
using test::TempFolder;
using test::Walk;

constexpr std::int64_t kSteps = 10;

std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> all;
  for (const CheckpointFacts& facts : checkpoints_in(folder, local_files())) {
    CHECK(facts.problem == "");
    all.push_back(facts.name);
  }
  return all;
}

TensorMap undisturbed(int tasks) {
  Walk walk;
  Session session(walk.graph, cluster_of(tasks));
  walk.request.steps = kSteps;
  session.run(walk.request);
  session.run(walk.other);
  return session.variables();
}

/// Runs the request up to step `steps`, with checkpoints as `options` say. Gives the variables after kSteps, else none.
TensorMap run_to(std::int64_t steps, int tasks, CheckpointOptions options) {
  Walk walk;
  Session session(walk.graph, cluster_of(tasks));
  Checkpoints checkpoints(session, walk.request, std::move(options));
  walk.request.checkpoints = &checkpoints;
  walk.request.steps = steps - checkpoints.step();
  session.run(walk.request);
  if (steps == kSteps) session.run(walk.other);
  return steps == kSteps ? session.variables() : TensorMap();
}

TEST_CASE("checkpoints: a run that goes on from one ends with the bits of one that was never stopped") {
  for (const int tasks : {1, 2, 3}) {
    CAPTURE(tasks);
    const TempFolder folder;
    run_to(7, tasks, {.folder = folder / "c", .every_steps = 3});
    CHECK(names(folder / "c") == std::vector<std::string>{"step-0000000003", "step-0000000006"});
    CHECK(difference(run_to(kSteps, tasks, {.folder = folder / "c", .every_steps = 3, .resume = true}),
                     undisturbed(tasks)) == "");
  }
}

TEST_CASE("checkpoints: only the newest are kept, and saving twice at one step saves once") {
  const TempFolder folder;
  Walk walk;
  Session session(walk.graph, cluster_of(2));
  Checkpoints checkpoints(session, walk.request, {.folder = folder.path(), .every_steps = 2, .keep = 2});
  walk.request.checkpoints = &checkpoints;
  for (int i = 0; i < 7; ++i) session.run(walk.request);
  checkpoints.save();
  checkpoints.save();
  CHECK(names(folder.path()) == std::vector<std::string>{"step-0000000006", "step-0000000007"});
}

TEST_CASE("checkpoints: saved by two tasks, they give one, three and four tasks the same variables") {
  const TempFolder folder;
  TensorMap saved;
  {
    Walk walk;
    Session session(walk.graph, cluster_of(2));
    Checkpoints checkpoints(session, walk.request, {.folder = folder.path()});
    walk.request.checkpoints = &checkpoints;
    walk.request.steps = 5;
    session.run(walk.request);
    session.run(walk.other);
    checkpoints.save();
    saved = session.variables();
  }
  for (const int tasks : {1, 2, 3, 4}) {
    CAPTURE(tasks);
    Walk walk;
    Session session(walk.graph, cluster_of(tasks));
    const Checkpoints checkpoints(session, walk.request, {.folder = folder.path(), .resume = true});
    CHECK(checkpoints.step() == 5);
    CHECK(checkpoints.steps_of(walk.other) == 1);
    CHECK(difference(session.variables(), saved) == "");
  }
}

/// Notes which thread reads a task's file.
class NotedFiles final : public test::FaultyFiles {
 public:
  NotedFiles() : FaultyFiles(1 << 30, Fault::full) {}

  FileBytes read_beneath(const std::string& root, std::string_view relative, std::uint64_t limit) override {
    if (relative.find("/task-") != std::string_view::npos) {
      const std::lock_guard lock(mutex_);
      ++reads;
      readers.insert(std::this_thread::get_id());
    }
    return FaultyFiles::read_beneath(root, relative, limit);
  }

  int reads = 0;
  std::set<std::thread::id> readers;

 private:
  std::mutex mutex_;
};

TEST_CASE("checkpoints: each task reads what the task of its number has saved, unless there were more tasks") {
  const TempFolder folder;
  run_to(6, 3, {.folder = folder.path(), .every_steps = 6});
  for (const int tasks : {2, 3, 4}) {
    CAPTURE(tasks);
    NotedFiles files;
    Walk walk;
    Session session(walk.graph, cluster_of(tasks));
    const Checkpoints checkpoints(session, walk.request, {.folder = folder.path(), .resume = true, .files = &files});
    CHECK(checkpoints.step() == 6);
    CHECK(files.reads == 3);
    CHECK(files.readers.size() == (tasks < 3 ? 1 : 3));
  }
}

TEST_CASE("checkpoints: by time, at the first boundary after it") {
  const TempFolder folder;
  test::ManualClock clock;
  Walk walk;
  Session session(walk.graph, cluster_of(2));
  Checkpoints checkpoints(session, walk.request,
                          {.folder = folder.path(), .every_seconds = 10, .keep = 9, .clock = &clock});
  walk.request.checkpoints = &checkpoints;
  walk.request.steps = 8;
  walk.request.on_step = [&](std::int64_t, std::span<const Tensor>) { clock.advance(std::chrono::seconds(4)); };
  session.run(walk.request);
  checkpoints.save();
  CHECK(names(folder.path()) == std::vector<std::string>{"step-0000000003", "step-0000000006", "step-0000000008"});
}

TEST_CASE("checkpoints: variables without a value are none, until they have one") {
  const TempFolder folder;
  run_to(2, 2, {.folder = folder.path(), .every_steps = 2});
  Walk walk;
  Session session(walk.graph, cluster_of(2));
  const Checkpoints checkpoints(session, walk.request, {.folder = folder.path(), .resume = true});
  CHECK(session.run(walk.other)[0].defined());
}

TEST_CASE("checkpoints: refused are folders that have any, another seed, another request and bad options") {
  const TempFolder folder;
  run_to(4, 1, {.folder = folder.path(), .every_steps = 2});
  Walk walk;
  const Cluster cluster = cluster_of(2);
  SessionOptions seeded;
  seeded.run.seed = 7;
  Session session(walk.graph, cluster, seeded);
  const auto refused = [&](CheckpointOptions options) {
    options.folder = options.folder.empty() ? folder.path() : options.folder;
    return error_of([&] { const Checkpoints checkpoints(session, walk.request, options); });
  };
  CHECK(refused({}).code() == Code::usage);
  CHECK(says(refused({}), "has checkpoints already, the newest of step 4"));
  CHECK(refused({.resume = true}).code() == Code::usage);
  CHECK(says(refused({.resume = true}), "was saved with the seed 0, this run has 7"));
  CHECK(refused({.keep = 0}).code() == Code::usage);
  CHECK(refused({.every_steps = -1}).code() == Code::usage);
  CHECK(refused({.every_seconds = std::nan("")}).text() ==
        "CheckpointOptions::every_seconds: nan is not from 0 to 1e+09");
  Checkpoints checkpoints(session, walk.request, {.folder = folder / "new"});
  walk.other.checkpoints = &checkpoints;
  const Error other = error_of([&] { session.run(walk.other); });
  CHECK(other.code() == Code::usage);
  CHECK(says(other, "another request"));
  Session second(walk.graph, cluster_of(2));
  walk.request.checkpoints = &checkpoints;
  const Error of_another = error_of([&] { second.run(walk.request); });
  CHECK(of_another.code() == Code::usage);
  CHECK(says(of_another, "RunRequest::checkpoints are of another session"));
  walk.request.checkpoints = &checkpoints;
  CHECK_NOTHROW(session.run(walk.request));
}

TEST_CASE("checkpoints: told to stop, the run saves, stops at one step on all tasks, and can go on") {
  const TempFolder folder;
  {
    Walk walk;
    Session session(walk.graph, cluster_of(3));
    Checkpoints checkpoints(session, walk.request, {.folder = folder.path()});
    walk.request.checkpoints = &checkpoints;
    walk.request.steps = kSteps;
    walk.request.on_step = [](std::int64_t step, std::span<const Tensor>) {
      if (step == 3) request_preemption();
    };
    const Error error = error_of([&] { session.run(walk.request); });
    clear_interrupt();
    CHECK(error.code() == Code::preempted);
    CHECK(says(error, "stopped after step "));
    CHECK(session.variables().size() == 3);
  }
  REQUIRE(names(folder.path()).size() == 1);
  CHECK(difference(run_to(kSteps, 3, {.folder = folder.path(), .resume = true}), undisturbed(3)) == "");
}

TEST_CASE("checkpoints: saved when that is asked for, once for requests that come together, and the run continues") {
  const TempFolder folder;
  test::ManualClock clock;
  Walk walk;
  Session session(walk.graph, cluster_of(2));
  Checkpoints checkpoints(session, walk.request, {.folder = folder.path(), .keep = 9, .clock = &clock});
  walk.request.checkpoints = &checkpoints;
  walk.request.steps = 12;
  walk.request.on_step = [&](std::int64_t step, std::span<const Tensor>) {
    clock.advance(std::chrono::milliseconds(200));  // longer than between two exchanges
    if (step == 1 || step == 3 || step == 8) request_save();
  };
  session.run(walk.request);
  checkpoints.save();
  const std::vector<std::string> saved = names(folder.path());
  REQUIRE(saved.size() == 3);
  CHECK(saved[0] < "step-0000000006");
  CHECK(saved[1] > "step-0000000008");
  CHECK(saved[2] == "step-0000000012");
}

/// What a run on a file of 24 rows, rows.npy with the numbers 0 to 23, is resumed with.
struct Settings {
  std::int64_t batch = 4;
  BatchOptions order = {.shuffle = false};
  double rate = 0.5;
  std::string file = "rows.npy";
  std::int64_t rows = 24;
};

struct Resumed {
  std::int64_t step = 0;  ///< at which it began
  std::vector<float> rows;
};

void write_rows(const std::string& path, std::int64_t count, float first) {
  std::vector<float> rows(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = first + static_cast<float>(i);
  write_npy(local_files(), path, "<f4", std::array{count}, std::as_bytes(std::span(rows)));
}

/// Runs `steps` steps from the newest checkpoint in `folder`/saved, and saves at the end.
Resumed resume(const TempFolder& folder, const Settings& settings, std::int64_t steps) {
  Graph graph;
  const Value table = settings.file.ends_with("/") ? read_raw(graph, settings.file, DType::float32, {settings.rows})
                                                   : read_npy(graph, settings.file, DType::float32, {settings.rows});
  const Value rows = batch({table}, settings.batch, settings.order)[0];
  const Value sums = graph.variable("sums", graph.constant(0.0));
  RunRequest request;
  request.targets = {assign(sums, sums * settings.rate + sum(rows))};
  request.fetches = {rows};
  SessionOptions options;
  options.run.data_folder = folder.path();
  Session session(graph, cluster_of(2), options);
  Checkpoints checkpoints(session, request, {.folder = folder / "saved", .keep = 9, .resume = true});
  Resumed resumed{checkpoints.step(), {}};
  request.checkpoints = &checkpoints;
  request.steps = steps;
  request.on_step = [&](std::int64_t, std::span<const Tensor> fetched) {
    const auto now = fetched[0].data<float>();
    resumed.rows.insert(resumed.rows.end(), now.begin(), now.end());
  };
  session.run(request);
  checkpoints.save();
  return resumed;
}

TEST_CASE("checkpoints: with another batch size a run continues at the same row, and the newest checkpoint counts") {
  for (const bool shuffle : {false, true}) {
    CAPTURE(shuffle);
    const TempFolder folder, other;
    write_rows(folder / "rows.npy", 24, 0);
    write_rows(other / "rows.npy", 24, 0);
    const std::vector<float> undisturbed = resume(other, {.batch = 24, .order = {.shuffle = shuffle}}, 2).rows;
    std::vector<float> seen;
    std::vector<std::int64_t> begins;
    const test::LogText log;
    for (const auto& [size, steps] : {std::pair(4, 3), {6, 1}, {3, 4}}) {
      const Resumed run = resume(folder, {.batch = size, .order = {.shuffle = shuffle, .rest = Rest::keep}}, steps);
      begins.push_back(run.step);
      seen.insert(seen.end(), run.rows.begin(), run.rows.end());
    }
    CHECK(begins == std::vector<std::int64_t>{0, 2, 6});
    CHECK(std::equal(seen.begin(), seen.end(), undisturbed.begin()));
    CHECK(seen.size() == 30);
    CHECK(log.text.find("batch = 6, was 4") != std::string::npos);
    CHECK(log.text.find("step 3 of the checkpoint is step 2 with these batches") != std::string::npos);
    CHECK(names(folder / "saved") == std::vector<std::string>{"step-0000000003", "step-0000000004", "step-0000000010"});
  }
}

TEST_CASE("checkpoints: other data, another order and batches that begin at other rows are refused by name") {
  const TempFolder folder;
  write_rows(folder / "rows.npy", 24, 0);
  write_rows(folder / "moved.npy", 24, 0);
  write_rows(folder / "other.npy", 24, 100);
  write_rows(folder / "more.npy", 30, 0);
  resume(folder, {}, 3);
  const auto refused = [&](const Settings& settings, const char* what) {
    const test::LogText log;
    const Error error = error_of([&] { resume(folder, settings, 1); });
    CHECK(error.code() == Code::usage);
    CHECK(says(error, "was saved by a run that reads its data otherwise"));
    CHECK_MESSAGE(says(error, what), error.text());
  };
  refused({.batch = 5}, "batch = 5, was 4: none of these batches begins at row 12 of the epoch");
  refused({.order = {.shuffle = true}}, "shuffle = true, was false");
  refused({.order = {.shuffle = false, .seed = 3}}, "seed = 3, was 0");
  refused({.file = "other.npy"}, "content = ");
  refused({.file = "more.npy", .rows = 30}, "rows = 30, was 24");
  refused({.order = {.shuffle = false, .stream_from = 1}}, "\"batch\" is not in this run");
  std::filesystem::rename(folder / "rows.npy", folder / "kept.npy");
  std::filesystem::rename(folder / "other.npy", folder / "rows.npy");
  refused({}, "ReadNpy \"readnpy\"");
  CHECK(resume(folder, {.file = "moved.npy"}, 1).rows.front() == 12);  // data may be moved
}

TEST_CASE("checkpoints: a folder of files is known by their names and by what they contain") {
  const TempFolder folder;
  const auto write = [&](const std::string& name, float first) {
    std::vector<float> rows(12, first);
    local_files().write(folder / ("shards/" + name), std::as_bytes(std::span(rows)));
  };
  local_files().make_folders(folder / "shards");
  write("a", 1);
  write("b", 2);
  resume(folder, {.file = "shards/"}, 3);
  CHECK(resume(folder, {.file = "shards/"}, 1).step == 3);
  write("b", 3);
  const Error error = error_of([&] { resume(folder, {.file = "shards/"}, 1); });
  CHECK(error.code() == Code::usage);
  CHECK(says(error, "content = files with the hash"));
}

TEST_CASE("checkpoints: another constant is named, and the run continues") {
  const TempFolder folder;
  write_rows(folder / "rows.npy", 24, 0);
  resume(folder, {}, 3);
  const test::LogText log;
  CHECK(resume(folder, {.rate = 0.25}, 1).step == 3);
  CHECK_MESSAGE(log.text.find("resumes with another setting: Constant") != std::string::npos, log.text);
  CHECK_MESSAGE(log.text.find("0.25, was ") != std::string::npos, log.text);
  CHECK(log.text.find("was saved by an older ferry") == std::string::npos);
}

TEST_CASE("checkpoints: options that differ between processes are refused") {
  const TempFolder folder;
  test::in_processes(2, [&](int rank, const Cluster& cluster) {
    Walk walk;
    Session session(walk.graph, cluster);
    const Error error = error_of(
        [&] { const Checkpoints checkpoints(session, walk.request, {.folder = folder / "saved", .keep = 3 + rank}); });
    CHECK(error.code() == Code::usage);
    CHECK(says(error, "task 0 has every_steps = 0, every_seconds = 0, keep = 3, resume = false"));
    CHECK(says(error, "task 1 has every_steps = 0, every_seconds = 0, keep = 4, resume = false"));
  });
}

TEST_CASE("checkpoints: other rows that are fed by parts are named, but not other parts of the same rows") {
  const TempFolder folder;
  const auto log_of_resumed = [&](int tasks, const FeedMap& feeds) {
    Graph g;
    const Value x = g.input("x", DType::float32, {4}), v = g.variable("v", g.constant({0.0}));
    RunRequest request{.targets = {assign(v, v + sum(x))}, .feeds = feeds};
    const test::LogText log;
    Session session(g, cluster_of(tasks));
    Checkpoints checkpoints(session, request, {.folder = folder / "saved", .resume = true});
    request.checkpoints = &checkpoints;
    session.run(request);
    checkpoints.save();
    return log.text;
  };
  const auto rows = [](std::vector<float> of) { return Tensor::of<float>({static_cast<std::int64_t>(of.size())}, of); };
  log_of_resumed(2, {{"x", parts({rows({1, 2, 3}), rows({4})})}});
  CHECK(log_of_resumed(2, {{"x", parts({rows({1, 2}), rows({3, 4})})}}) == "");
  CHECK(log_of_resumed(3, {{"x", parts({rows({1}), rows({}), rows({2, 3, 4})})}}) == "");
  const std::string other = log_of_resumed(2, {{"x", parts({rows({1, 2}), rows({4, 3})})}});
  CHECK(test::has(other, "resumes with another setting: Input \"x\""));
  CHECK(test::has(other, "feed = 4 rows by parts, with the hash "));
  CHECK(test::has(other, ", was 4 rows by parts, with the hash "));
}

TEST_CASE("checkpoints: one without settings, of an older ferry, is resumed with one warning") {
  const TempFolder folder;
  write_rows(folder / "rows.npy", 24, 0);
  resume(folder, {}, 3);
  const std::string saved = folder / "saved/step-0000000003";
  Manifest manifest = read_manifest(local_files(), saved);
  REQUIRE(manifest.settings);
  manifest.settings.reset();
  local_files().write(saved + "/manifest.json", manifest_text(manifest));
  const test::LogText log;
  CHECK(resume(folder, {.batch = 6}, 1).step == 3);
  const std::size_t at = log.text.find("was saved by an older ferry");
  CHECK(at != std::string::npos);
  CHECK(log.text.find("was saved by an older ferry", at + 1) == std::string::npos);
}

}  // namespace
}  // namespace ferry
