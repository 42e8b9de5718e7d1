#include "runner/launch/job_table.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "base/text.hpp"

namespace ferry {
namespace {

std::vector<int> processes(int first, int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST_CASE("a few tasks have a line each") {
  const std::vector<HostRow> rows = {{"h1", 0, {4001, 4002}, "0-3"}, {"node-17", 2, {89}, "0,2"}};
  CHECK(join(job_table(rows), "\n") ==
        "  task  host     process  cores\n"
        "  0     h1       4001     0-3\n"
        "  1     h1       4002     0-3\n"
        "  2     node-17  89       0,2");
}

TEST_CASE("many tasks have a line for each host") {
  const std::vector<HostRow> rows = {{"h1", 0, processes(100, 16), "0-15"}, {"h2", 16, {9, 7, 8}, "0-15"}};
  CHECK(join(job_table(rows), "\n") ==
        "  tasks  host  processes  cores\n"
        "  0-15   h1    100-115    0-15\n"
        "  16-18  h2    7-9        0-15");
}

TEST_CASE("columns stand below each other, whatever is in them") {
  std::vector<int> odd = processes(0, 60);
  for (int& process : odd) process = 2 * process + 1;
  const auto lines = job_table(std::vector<HostRow>{{"hôte", 0, odd, "0"}});
  CHECK(lines[0] == "  tasks  host  processes                                              cores");
  CHECK(lines[1] == "  0-59   hôte  1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,… (184 bytes)  0");
}

TEST_CASE("a table has one screen") {
  const std::vector<HostRow> rows(500, HostRow{"h", 0, {1}, "0"});
  const auto lines = job_table(rows);
  CHECK(lines.size() == 31);
  CHECK(lines.back() == "  … and 471 more hosts");
}

}  // namespace
}  // namespace ferry
