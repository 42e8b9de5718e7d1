#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/ranges.hpp"
#include "base/text.hpp"
#include "comm/backends.hpp"
#include "executor/job/cluster.hpp"
#include "kernels/kernel.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/machine.hpp"

namespace ferry {
namespace {

/// A line of the report: a topic and a sentence for people, a key and values for programs (--json).
struct Finding {
  std::string topic;
  std::string text;
  nlohmann::json data;
};

Finding cpu_finding(const Machine& machine) {
  return {"cpu",
          machine.cpu + ", " + plural(static_cast<std::uint64_t>(machine.cores), "core") + "; this process may use " +
              plural(machine.mask.size(), "core") + ": " + ranges(machine.mask),
          {{"model", machine.cpu}, {"cores", machine.cores}, {"mask", machine.mask}}};
}

Finding memory_finding(const Machine& machine) {
  return {"memory",
          human_bytes(machine.memory_bytes) + ", " + human_bytes(machine.free_bytes) + " available",
          {{"bytes", machine.memory_bytes}, {"available_bytes", machine.free_bytes}}};
}

Finding kernels_finding() {
  const KernelTable& cpu = cpu_kernels();
  return {"kernels",
          "cpu, " + std::string(cpu.level()) + ", " + std::string(cpu.library()),
          {{"cpu", cpu.level()}, {"library", cpu.library()}}};
}

Finding shm_finding(const Machine& machine) {
  return {"/dev/shm",
          machine.shm_bytes == 0
              ? "none"
              : human_bytes(machine.shm_bytes) + ", " + human_bytes(machine.shm_free_bytes) + " free",
          {{"bytes", machine.shm_bytes}, {"free_bytes", machine.shm_free_bytes}}};
}

Finding launcher_finding() {
  const auto variables = launcher_variables();
  std::string text;
  nlohmann::json data = nlohmann::json::object();
  for (const auto& [name, value] : variables) {
    text += (text.empty() ? "" : " ") + name + "=" + escaped(value);
    data[name] = value;
  }
  return {"launcher", text.empty() ? "none: started by hand" : text, data};
}

Finding mpi_finding() {
  if (!mpi_built()) return {"mpi", "none: built without MPI", {{"built", false}}};
  return {"mpi",
          mpi_version() + "; ferry asks for MPI_THREAD_FUNNELED",
          {{"built", true}, {"version", mpi_version()}, {"thread_level", "MPI_THREAD_FUNNELED"}}};
}

/// The job that this process is in; joins it.
Finding job_finding() {
  const Cluster cluster = Cluster::connect();
  nlohmann::json tasks = nlohmann::json::array();
  std::string text = plural(static_cast<std::uint64_t>(cluster.size()), "task") + " over " +
                     std::string(cluster.transport(cluster.rank()).name());
  for (int task = 0; task < cluster.size(); ++task) {
    const TaskInfo& info = cluster.topology().tasks[static_cast<std::size_t>(task)];
    text += "\n             task " + std::to_string(task) + (task == cluster.rank() ? " (this one)" : "") + " on " +
            info.host_name + ", " + plural(static_cast<std::uint64_t>(info.threads), "thread");
    tasks.push_back({{"host", info.host_name}, {"threads", info.threads}});
  }
  return {"job",
          text,
          {{"task", cluster.rank()}, {"transport", cluster.transport(cluster.rank()).name()}, {"tasks", tasks}}};
}

std::vector<Finding> examine() {
  const Machine machine = this_machine();
  return {
      {"ferry", FERRY_VERSION ", built by " FERRY_COMPILER, {{"version", FERRY_VERSION}, {"compiler", FERRY_COMPILER}}},
      {"host", machine.host, machine.host},
      cpu_finding(machine),
      memory_finding(machine),
      shm_finding(machine),
      {"descriptors", std::to_string(machine.descriptors), machine.descriptors},
      {"gpus", "0: built without CUDA; --device sim simulates some", {{"count", 0}, {"why", "built without CUDA"}}},
      kernels_finding(),
      mpi_finding(),
      launcher_finding(),
      job_finding()};
}

int doctor(bool as_json) {
  nlohmann::json all = nlohmann::json::object();
  std::string text;
  for (const Finding& finding : examine()) {
    all[finding.topic] = finding.data;
    text += finding.topic + std::string(finding.topic.size() < 13 ? 13 - finding.topic.size() : 1, ' ') + finding.text +
            "\n";
  }
  print(as_json ? all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" : text);
  return 0;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("doctor", "What is installed, and what this machine and this job have");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "As one JSON object");
  add_examples(*command, R"(
    ferry doctor                    this machine
    mpirun -np 2 ferry doctor       what each task of a job finds)");
  command->callback([&action, as_json] { action = [as_json] { return doctor(*as_json); }; });
}

}  // namespace ferry
