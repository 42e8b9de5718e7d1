// Records of a server's turns: a written record can be read, and damaged records or records of another run are
// reported.
#include "executor/observe/turn_record.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/support/has.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

using Turn = TurnRecord::Turn;
using Kind = TurnRecord::Turn::Kind;
const std::vector<std::int32_t> kWorkers{1, 2};

std::string content(const std::string& path) {
  const FileBytes bytes = local_files().read(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Why a record with this content cannot be replayed.
std::string refused(const std::string& text, const std::vector<std::int32_t>& workers = kWorkers) {
  const test::TempFolder folder;
  local_files().write(folder / "turns.0", text);
  TurnRecord record(local_files(), "", folder / "turns", 0);
  try {
    record.begin_step(0, workers);
  } catch (const Error& error) {
    return error.text();
  }
  return "";
}

TEST_CASE("recorded turns come back") {
  const test::TempFolder folder;
  {
    TurnRecord record(local_files(), folder / "turns", "", 3);
    record.begin_step(7, kWorkers);
    for (const Turn& turn : {Turn{1, Kind::give}, {2, Kind::give}, {2, Kind::take}, {1, Kind::lost}}) record.add(turn);
    record.end_step();
    record.begin_step(8, kWorkers);
    record.end_step();
  }
  CHECK(content(folder / "turns.3") == "ferry turns 1\ntask 3 serves 1 2\nstep 7: +1 +2 -2 !1\nstep 8:\n");
  TurnRecord again(local_files(), "", folder / "turns", 3);
  CHECK(again.replays());
  again.begin_step(7, kWorkers);
  CHECK(again.next()->worker == 1);
  CHECK(again.next()->kind == Kind::give);
  CHECK(again.next()->kind == Kind::take);
  CHECK(again.next()->kind == Kind::lost);
  CHECK(!again.next());
  again.begin_step(8, kWorkers);
  CHECK(!again.next());
  CHECK_THROWS_WITH(again.begin_step(9, kWorkers), doctest::Contains("has no turns of step 9"));
}

TEST_CASE("a run that resumes goes on in the middle of a record") {
  const test::TempFolder folder;
  local_files().write(folder / "turns.0", "ferry turns 1\ntask 0 serves 1 2\nstep 0: +1\nstep 1: +2\nstep 5: -1\n");
  TurnRecord record(local_files(), "", folder / "turns", 0);
  record.begin_step(1, kWorkers);
  CHECK(record.next()->worker == 2);
  record.begin_step(5, kWorkers);
  CHECK(record.next()->kind == Kind::take);
}

TEST_CASE("a record says after how many steps a worker was lost") {
  const test::TempFolder folder;
  local_files().write(folder / "turns.0",
                      "ferry turns 1\ntask 0 serves 1 2\nstep 5: +1 +2 -2 +2 -1 +1\nstep 6: -2 +2 -1 !2 +1\n");
  TurnRecord record(local_files(), "", folder / "turns", 0);
  CHECK(record.last_steps(kWorkers) == std::map<std::int32_t, std::int64_t>{{2, 7}});
  record.begin_step(5, kWorkers);
  CHECK(record.next()->worker == 1);
}

TEST_CASE("what is no record of this job is refused, with its line") {
  const std::string head = "ferry turns 1\ntask 0 serves 1 2\n";
  CHECK(refused(head + "step 0: +1\n").empty());
  CHECK(test::has(refused(""), "line 1: this is no record of turns"));
  CHECK(test::has(refused("ferry turns 2\n"), "line 1: this is no record of turns"));
  CHECK(test::has(refused("ferry turns 1"), "it is cut short"));
  CHECK(test::has(refused(head + "step 0: +1\n", {1, 2, 3}), "line 2: it is of other workers: task 0 serves 1 2, not"));
  CHECK(test::has(refused(head + "step x: +1\n"), "line 3: this is no later step"));
  CHECK(test::has(refused(head + "step 0: +1\nstep 0: +1\n"), "line 4: this is no later step"));
  CHECK(test::has(refused(head + "step 0: +3\n"), "line 3: there is no turn \"+3\""));
  CHECK(test::has(refused(head + "step 0: 1\n"), "line 3: there is no turn \"1\""));
  CHECK(test::has(refused(head + "step 0: +99999999999999\n"), "there is no turn"));
  CHECK(test::has(refused(head + "step 3: +1\n"), "has no turns of step 0"));
}

TEST_CASE("nothing is written of a run without turns") {
  const test::TempFolder folder;
  { TurnRecord record(local_files(), folder / "turns", "", 0); }
  CHECK(!local_files().exists(folder / "turns.0"));
}

}  // namespace
}  // namespace ferry
