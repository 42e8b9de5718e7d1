#include "comm/failure.hpp"

#include <doctest/doctest.h>

namespace ferry {
namespace {

TEST_CASE("tasks are listed as people do") {
  CHECK(tasks_text(std::vector<int>{3}) == "task 3");
  CHECK(tasks_text(std::vector<int>{1, 3}) == "tasks 1 and 3");
  CHECK(tasks_text(std::vector<int>{1, 3, 4}) == "tasks 1, 3 and 4");
}

TEST_CASE("a failure survives the wire") {
  const auto back = unpack_failure(pack_failure({7, Code::numeric, std::string("NaN\n  at \0 x.cpp:3", 18)}));
  REQUIRE(back.has_value());
  CHECK(back->task == 7);
  CHECK(back->code == Code::numeric);
  CHECK(back->text == std::string("NaN\n  at \0 x.cpp:3", 18));
  CHECK(back->unreached_by == -1);
  CHECK(unpack_failure(pack_failure({.task = 4, .text = "cut", .unreached_by = 2}))->unreached_by == 2);
  CHECK_FALSE(unpack_failure("short").has_value());
}

TEST_CASE("errors say who, and what to do") {
  const Error lost = error_of({2, Code::file, "graph.pb: is empty"});
  CHECK(lost.code() == Code::peer_lost);
  CHECK(lost.text() == "task 2 failed first: graph.pb: is empty");
  CHECK(lost.job_code() == Code::file);
  const Error cut = error_of({.task = 4, .code = Code::peer_lost, .text = "no answer", .unreached_by = 2});
  CHECK(cut.text() == "the connection from task 2 to task 4 is lost: no answer");
  const Error missing = missing_error(std::vector<int>{0, 2}, 4);
  CHECK(missing.code() == Code::stalled);
  CHECK(missing.text().starts_with("exchange: tasks 0 and 2 of 4 did not come before the deadline\n  try: "));
  CHECK(closed_error(std::vector<int>{1}).text().starts_with("exchange: task 1 has finished"));
  CHECK(size_error(0, 1, 9, 12, 16).text() == "channel 9 from task 0 to task 1: 12 bytes sent, 16 expected");
}

}  // namespace
}  // namespace ferry
