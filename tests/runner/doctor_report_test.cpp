#include "runner/command/doctor_report.hpp"

#include <doctest/doctest.h>

#include "base/text.hpp"

namespace ferry {
namespace {

TaskFindings found(int host, const std::string& cpu, const std::string& memory) {
  return {host, {{"cpu", cpu, {{"model", cpu}}}, {"memory", memory, memory, true}}};
}

constexpr const char* kNoMpi = "openmpi-bin";  // the missing package
constexpr const char* kNoPlugin = "ferry-mpich";
constexpr const char* kReady = "ready for     one process, jobs over TCP (ferry launch)\n";

TaskFindings task_with(const char* library, std::uint64_t descriptors, const char* congestion, const char* mpi,
                       const char* package, int gpus) {
  return {0,
          {{"tcp", "", congestion},
           {"descriptors", "", descriptors},
           {"gpus", "", {{"count", gpus}}},
           {"kernels", "", {{"cpu", "x86-64-v3"}, {"library", library}}},
           {"mpi", "", {{"version", mpi}, {"package", package}}}}};
}

/// All parts of the conclusion in one line.
std::string conclusion(const std::vector<TaskFindings>& tasks) {
  const Readiness found = readiness(tasks);
  std::string text = join(found.ready, ", ") + found.obstacle;
  for (const Suggestion& each : found.suggestions) text += " | " + each.command;
  return text;
}

TEST_CASE("the uses that are ready, and the commands to type, follow from the findings") {
  const std::string both = "one process, jobs over TCP (ferry launch)";
  const std::string mpi = ", jobs over MPI (Open MPI v4.1.4)";
  const TaskFindings good = task_with("openblas-Haswell", 1024, "cubic", "Open MPI v4.1.4", "", 0);
  const TaskFindings no_mpi = task_with("openblas-Haswell", 1024, "cubic", "", kNoMpi, 0);
  const TaskFindings no_plugin = task_with("openblas-Haswell", 1024, "cubic", "", kNoPlugin, 0);
  const TaskFindings no_known_mpi = task_with("openblas-Haswell", 1024, "cubic", "", "", 0);
  const TaskFindings few_files = task_with("openblas-Haswell", 1023, "cubic", "Open MPI v4.1.4", "", 0);
  const TaskFindings paced = task_with("openblas-Haswell", 1024, "bbr", "Open MPI v4.1.4", "", 0);
  const TaskFindings gpus = task_with("openblas-Haswell", 1024, "cubic", "Open MPI v4.1.4", "", 2);
  const TaskFindings other = task_with("openblas-SkylakeX", 1024, "cubic", "Open MPI v4.1.4", "", 0);
  struct Case {
    std::vector<TaskFindings> tasks;
    std::string expected;
  };
  const std::vector<Case> cases{
      {{good}, both + mpi},
      {{no_mpi}, both + " | sudo apt-get install openmpi-bin"},
      {{no_known_mpi}, both},
      {{no_plugin}, both + " | sudo apt-get install ./ferry-mpich_*.deb"},
      {{few_files}, both + mpi + " | ulimit -n 1024"},
      {{paced}, both + mpi + " | sudo sysctl -w net.ipv4.tcp_congestion_control=reno"},
      {{gpus}, both + mpi + ", GPUs (--device gpu)"},
      {{good, gpus}, both + mpi},
      {{good, no_mpi}, both + " | sudo apt-get install openmpi-bin"},
      {{good, paced}, both + mpi + " | sudo sysctl -w net.ipv4.tcp_congestion_control=reno"},
      {{good, other},
       "the tasks multiply matrices by different code, and ferry rejects such a job (see the line kernels) | export "
       "OPENBLAS_CORETYPE=Haswell"},
  };
  for (const Case& each : cases) CHECK(conclusion(each.tasks) == each.expected);
}

TEST_CASE("a job that cannot begin is the conclusion") {
  TaskFindings task = task_with("openblas", 200, "cubic", "", kNoMpi, 0);
  task.findings.push_back({"job", "none", {{"error", "launch: RANK is set, MASTER_ADDR is not"}}});
  CHECK(conclusion({task}) == "launch: RANK is set, MASTER_ADDR is not");
}

TEST_CASE("the last lines of the table are the conclusion") {
  const std::string text = doctor_text(std::vector{task_with("openblas", 200, "cubic", "", kNoMpi, 0)});
  CHECK(text.substr(text.find("ready for")) ==
        std::string(kReady) +
            "to type       ulimit -n 1024                    # for large jobs over TCP\n"
            "              sudo apt-get install openmpi-bin  # for jobs over MPI\n");
  const std::string differs = doctor_text(std::vector{task_with("openblas-Haswell", 1024, "cubic", "", kNoMpi, 0),
                                                      task_with("openblas-Zen", 1024, "cubic", "", kNoMpi, 0)});
  CHECK(differs.substr(differs.find("not ready")) ==
        "not ready     the tasks multiply matrices by different code, and ferry rejects such a job (see the line "
        "kernels)\n"
        "to type       export OPENBLAS_CORETYPE=Haswell  # for all tasks, before the job starts\n");
}

TEST_CASE("what one task finds is a line for each topic") {
  const std::vector<TaskFindings> alone{found(0, "fast", "2 GiB")};
  CHECK(doctor_text(alone) == std::string("cpu           fast\nmemory        2 GiB\n") + kReady);
}

TEST_CASE("where tasks differ there is a star, and a line for each text with its tasks") {
  const std::vector<TaskFindings> tasks{found(0, "fast", "2 GiB"), found(0, "slow", "2 GiB"), found(1, "fast", "2 GiB"),
                                        found(1, "fast", "2 GiB")};
  CHECK(doctor_text(tasks) == std::string() +
                                  "cpu *         tasks 0,2-3  fast\n"
                                  "              task 1       slow\n"
                                  "memory        2 GiB\n"
                                  "* differs between tasks\n" +
                                  kReady);
}

TEST_CASE("what changes all the time is told by the first task of each host") {
  const std::vector<TaskFindings> here{found(0, "fast", "2 GiB"), found(0, "fast", "1.9 GiB")};
  CHECK(doctor_text(here) == std::string("cpu           fast\nmemory        2 GiB\n") + kReady);
  const std::vector<TaskFindings> apart{found(0, "fast", "2 GiB"), found(1, "fast", "1.9 GiB")};
  CHECK(doctor_text(apart) == std::string() +
                                  "cpu           fast\n"
                                  "memory *      task 0  2 GiB\n"
                                  "              task 1  1.9 GiB\n"
                                  "* differs between tasks\n" +
                                  kReady);
}

TEST_CASE("JSON has what each task found, and the topics that differ") {
  const auto json = nlohmann::json::parse(
      doctor_json(std::vector<TaskFindings>{found(0, "fast", "2 GiB"), found(0, "slow", "1 GiB")}));
  CHECK(json["tasks"][1]["cpu"]["model"] == "slow");
  CHECK(json["tasks"][1]["memory"] == "1 GiB");
  CHECK(json["differ"] == nlohmann::json{"cpu"});
  CHECK(json["ready"] == nlohmann::json{"one process", "jobs over TCP (ferry launch)"});
  CHECK(json["obstacle"] == "");
  CHECK(json["suggestions"].empty());
  const auto without_mpi = nlohmann::json::parse(doctor_json(std::vector{task_with("", 1024, "", "", kNoMpi, 0)}));
  CHECK(without_mpi["suggestions"][0]["command"] == "sudo apt-get install openmpi-bin");
  CHECK(without_mpi["suggestions"][0]["purpose"] == "for jobs over MPI");
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
