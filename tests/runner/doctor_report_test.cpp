#include "runner/command/doctor_report.hpp"

#include <doctest/doctest.h>

namespace ferry {
namespace {

TaskFindings found(int host, const std::string& cpu, const std::string& memory) {
  return {host, {{"cpu", cpu, {{"model", cpu}}}, {"memory", memory, memory, true}}};
}

TEST_CASE("what one task finds is a line for each topic") {
  const std::vector<TaskFindings> alone{found(0, "fast", "2 GiB")};
  CHECK(doctor_text(alone) == "cpu           fast\nmemory        2 GiB\n");
}

TEST_CASE("where tasks differ there is a star, and a line for each text with its tasks") {
  const std::vector<TaskFindings> tasks{found(0, "fast", "2 GiB"), found(0, "slow", "2 GiB"), found(1, "fast", "2 GiB"),
                                        found(1, "fast", "2 GiB")};
  CHECK(doctor_text(tasks) ==
        "cpu *         tasks 0,2-3  fast\n"
        "              task 1       slow\n"
        "memory        2 GiB\n"
        "* differs between tasks\n");
}

TEST_CASE("what changes all the time is told by the first task of each host") {
  const std::vector<TaskFindings> here{found(0, "fast", "2 GiB"), found(0, "fast", "1.9 GiB")};
  CHECK(doctor_text(here) == "cpu           fast\nmemory        2 GiB\n");
  const std::vector<TaskFindings> apart{found(0, "fast", "2 GiB"), found(1, "fast", "1.9 GiB")};
  CHECK(doctor_text(apart) ==
        "cpu           fast\n"
        "memory *      task 0  2 GiB\n"
        "              task 1  1.9 GiB\n"
        "* differs between tasks\n");
}

TEST_CASE("JSON has what each task found, and the topics that differ") {
  const auto json = nlohmann::json::parse(
      doctor_json(std::vector<TaskFindings>{found(0, "fast", "2 GiB"), found(0, "slow", "1 GiB")}));
  CHECK(json["tasks"][1]["cpu"]["model"] == "slow");
  CHECK(json["tasks"][1]["memory"] == "1 GiB");
  CHECK(json["differ"] == nlohmann::json{"cpu"});
}

TEST_CASE("findings travel as one line, whatever bytes they have") {
  const std::vector<Finding> sent{{"launcher", "RANK=\\xff", {{"RANK", "\xff\n"}}}, {"memory", "2 GiB", 2, true}};
  const std::string line = packed(sent);
  CHECK(line.find('\n') == std::string::npos);
  const std::vector<Finding> got = unpacked(line);
  REQUIRE(got.size() == 2);
  CHECK(got[0].text == sent[0].text);
  CHECK(got[1].data == 2);
  CHECK(got[1].changes);
}

}  // namespace
}  // namespace ferry
