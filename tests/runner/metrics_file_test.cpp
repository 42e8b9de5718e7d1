#include "runner/files/metrics_file.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/faulty_files.hpp"
#include "tests/support/log_text.hpp"
#include "tests/support/manual_clock.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

using std::chrono::milliseconds;

std::string text_in(const std::string& path) {
  const FileBytes bytes = local_files().read(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("each step is a line of JSON, written some times a second") {
  const test::TempFolder folder;
  const std::string path = folder / "m.jsonl";
  test::ManualClock clock;
  {
    MetricsFile file(path, 0, local_files(), clock);
    CHECK(text_in(path).empty());
    clock.advance(milliseconds(100));
    file.add(1, "train", {{"loss", 0.5}, {"a \"b\"", NAN}});
    CHECK(text_in(path).empty());  // too soon
    clock.advance(milliseconds(150));
    file.add(2, "train", {{"loss", 0.25}});
    CHECK(text_in(path) == R"({"step":1,"seconds":0.1,"entry":"train","values":{"loss":0.5,"a \"b\"":null}}
{"step":2,"seconds":0.25,"entry":"train","values":{"loss":0.25}}
)");
    file.add(2, "eval", {{"accuracy", 1}});
  }
  CHECK(text_in(path).ends_with(R"({"step":2,"seconds":0.25,"entry":"eval","values":{"accuracy":1.0}}
)"));
}

TEST_CASE("a run that goes on keeps the lines of the steps that it has done, a new one empties the file") {
  const test::TempFolder folder;
  const std::string path = folder / "m.jsonl";
  test::ManualClock clock;
  for (const std::int64_t before : {0, 2}) {
    MetricsFile file(path, before, local_files(), clock);
    for (std::int64_t step = before + 1; step <= 4; ++step)
      file.add(step, "train", {{"x", static_cast<double>(before)}});
  }
  CHECK(text_in(path) == R"({"step":1,"seconds":0.0,"entry":"train","values":{"x":0.0}}
{"step":2,"seconds":0.0,"entry":"train","values":{"x":0.0}}
{"step":3,"seconds":0.0,"entry":"train","values":{"x":2.0}}
{"step":4,"seconds":0.0,"entry":"train","values":{"x":2.0}}
)");
  local_files().write(path, "{\"step\":1}\n{\"step\":2}\n{\"st");  // by a run that was killed
  { const MetricsFile file(path, 2, local_files(), clock); }
  CHECK(text_in(path) == "{\"step\":1}\n{\"step\":2}\n");
  local_files().write(path, "{\"step\":1}\nloss 3\n");
  const Error error = test::error_of([&] { const MetricsFile file(path, 2, local_files(), clock); });
  CHECK(error.code() == Code::file);
  CHECK(test::says(error, "m.jsonl\":2: this is no line of --metrics"));
  CHECK(text_in(path) == "{\"step\":1}\nloss 3\n");
  { const MetricsFile file(path, 0, local_files(), clock); }
  CHECK(text_in(path).empty());
}

TEST_CASE("an evaluation that is repeated after the checkpoint of its step has one line") {
  const test::TempFolder folder;
  const std::string path = folder / "m.jsonl";
  test::ManualClock clock;
  for (const std::int64_t before : {0, 2}) {
    MetricsFile file(path, before, local_files(), clock);
    if (before == 0) file.add(2, "train", {});
    file.add(2, "eval", {{"accuracy", 1}});
    file.add(3, "train", {});
    file.add(3, "eval", {});
  }
  CHECK(text_in(path) == R"({"step":2,"seconds":0.0,"entry":"train","values":{}}
{"step":2,"seconds":0.0,"entry":"eval","values":{"accuracy":1.0}}
{"step":3,"seconds":0.0,"entry":"train","values":{}}
{"step":3,"seconds":0.0,"entry":"eval","values":{}}
)");
}

TEST_CASE("a full disk costs the lines, not the run, and is told once") {
  const test::TempFolder folder;
  test::ManualClock clock;
  test::FaultyFiles files(1, test::FaultyFiles::Fault::full);
  const test::LogText log;
  {
    MetricsFile file(folder / "m.jsonl", 0, files, clock);
    for (std::int64_t step = 1; step <= 3; ++step) {
      clock.advance(milliseconds(1000));
      file.add(step, "train", {{"loss", 1}});
    }
  }
  CHECK(log.text.find("No space left on device") != std::string::npos);
  CHECK(log.text.find("--metrics") == log.text.rfind("--metrics"));
  CHECK(text_in(folder / "m.jsonl").empty());
}

}  // namespace
}  // namespace ferry
