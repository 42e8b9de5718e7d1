#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/format.hpp"
#include "base/ranges.hpp"
#include "base/text.hpp"
#include "comm/backends.hpp"
#include "comm/launch_variables.hpp"
#include "comm/transport.hpp"
#include "executor/cluster.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/doctor_report.hpp"
#include "runner/command/machine.hpp"

namespace ferry {
namespace {

/// For people: the limit of a control group, and the file that sets it. Empty if the limit is not below `machine`.
std::string limit_text(const GroupLimit& limit, std::uint64_t machine, const std::string& amount) {
  return limit.most < machine ? "; its control group may have " + amount + " (" + limit.file + ")" : std::string();
}

Finding cpu_finding(const Machine& machine) {
  const GroupLimit& quota = machine.limits.processor;
  const nlohmann::json cores = static_cast<double>(quota.most) / 1000;
  nlohmann::json data{{"model", machine.cpu}, {"cores", machine.cores}, {"mask", machine.mask}};
  if (!quota.file.empty()) data["quota"] = cores;
  return {"cpu",
          machine.cpu + ", " + plural(static_cast<std::uint64_t>(machine.cores), "core") + "; this process may use " +
              plural(machine.mask.size(), "core") + ": " + ranges(machine.mask) +
              limit_text(quota, 1000 * machine.mask.size(), "the time of " + cores.dump() + " cores"),
          data};
}

Finding memory_finding(const Machine& machine) {
  const GroupLimit& limit = machine.limits.memory;
  nlohmann::json data{{"bytes", machine.memory_bytes}, {"available_bytes", machine.free_bytes}};
  if (!limit.file.empty()) data["limit_bytes"] = limit.most;
  return {"memory",
          human_bytes(machine.memory_bytes) + ", " + human_bytes(machine.free_bytes) + " available" +
              limit_text(limit, machine.memory_bytes, human_bytes(limit.most)),
          data, true};
}

Finding kernels_finding() {
  const KernelTable& cpu = cpu_kernels();
  return {"kernels",
          "cpu, " + std::string(cpu.level()) + ", " + std::string(cpu.library()),
          {{"cpu", cpu.level()}, {"library", cpu.library()}}};
}

Finding compiler_finding() {
  const CpuCompiler found = cpu_compiler();
  nlohmann::json data{{"version", found.version}, {"path", found.path}, {"why", found.why}, {"cache", found.cache}};
  if (!found.why.empty())
    return {"compiler",
            "none, so elementwise ops run one after another: " + found.why + " (docs/guide/compiled_ops.md)", data};
  return {"compiler",
          formatted("of elementwise ops: {}, {}; cache: {}", as_is(found.version), found.path,
                    found.cache.empty() ? "none" : found.cache),
          data};
}

Finding gpus_finding(const Cluster& cluster) {
  const TaskInfo& info = cluster.topology().tasks[cluster.rank()];
  if (info.gpus == 0)
    return {"gpus", "0: " + info.no_gpus + "; --device sim simulates some", {{"count", 0}, {"why", info.no_gpus}}};
  std::string text = std::to_string(info.gpus);
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& gpu : cluster.gpus()) {
    text += (all.empty() ? ": " : "; ") + gpu;
    all.push_back(gpu);
  }
  nlohmann::json found{{"count", info.gpus}, {"memory_bytes", info.gpu_memory_bytes}, {"gpus", all}};
  if (!info.no_gpus.empty()) {
    text += "; " + info.no_gpus;
    found["why"] = info.no_gpus;
  }
  return {"gpus", text, found};
}

Finding shm_finding(const Machine& machine) {
  return {"/dev/shm",
          machine.shm_bytes == 0
              ? "none"
              : human_bytes(machine.shm_bytes) + ", " + human_bytes(machine.shm_free_bytes) + " free",
          {{"bytes", machine.shm_bytes}, {"free_bytes", machine.shm_free_bytes}},
          true};
}

Finding tcp_finding(const Machine& machine) {
  if (machine.tcp_congestion.empty()) return {"tcp", "congestion control unknown", nullptr};
  const std::string paces = machine.tcp_congestion == "bbr"
                                ? ", which paces: messages of 1 MB take up to 3 times as long as "
                                  "with cubic (docs/guide/launching.md)"
                                : "";
  return {"tcp", formatted("congestion control by {}{}", machine.tcp_congestion, as_is(paces)), machine.tcp_congestion};
}

bool differs_between_tasks(std::string_view variable) {
  const auto* const found = std::ranges::find(kLaunchVariables, variable, &LaunchVariable::name);
  return found->meaning == LaunchVariable::Meaning::rank || found->meaning == LaunchVariable::Meaning::number;
}

/// `alone`: the job has no other tasks. Otherwise the text has "…" for variables that always differ between tasks.
Finding launcher_finding(bool alone) {
  std::string text;
  nlohmann::json data = nlohmann::json::object();
  for (const auto& [name, value] : launcher_variables()) {
    const bool of_task = differs_between_tasks(name);
    text += (text.empty() ? "" : " ") + name + "=" + (of_task && !alone ? "…" : formatted("{}", value));
    data[name] = value;
  }
  return {"launcher", text.empty() ? "none: started by hand" : text, data};
}

Finding mpi_finding() {
  const MpiFound mpi = find_mpi();
  const std::vector<std::string> others = other_mpis(mpi.abi);
  nlohmann::json data{{"version", mpi.version}, {"abi", mpi.abi},     {"library", mpi.library},
                      {"reason", mpi.reason},   {"tried", mpi.tried}, {"package", mpi.package},
                      {"others", others}};
  if (mpi.version.empty())
    return {"mpi",
            "none that ferry can use, so jobs run over TCP" +
                (mpi.package.empty() ? "" : "; for jobs over MPI, install " + mpi.package) +
                "; --json has the libraries that ferry tried",
            data};
  return {"mpi",
          mpi.version + (mpi.library.empty() ? "" : formatted(" ({})", mpi.library)) + ", since " + mpi.reason +
              "; also " + join(others, ", "),
          data};
}

Finding threads_finding(const Cluster& cluster) {
  const std::int32_t threads = cluster.topology().tasks[cluster.rank()].threads;
  return {"threads", std::to_string(threads), threads};
}

/// The first line of an error; the command prints the rest at its end.
std::string first_line(const Error& error) {
  return error.text().substr(0, error.text().find('\n'));
}

/// The finding of a process that has not become a task of its job, because of `error`.
Finding no_job_finding(const Error& error) {
  return {"job", "none", {{"error", first_line(error)}}};
}

Finding job_finding(const Cluster& cluster) {
  const std::string_view transport = cluster.transport(cluster.rank()).name();
  return {"job",
          plural(static_cast<std::uint64_t>(cluster.size()), "task") + " over " + std::string(transport),
          {{"task", cluster.rank()}, {"tasks", cluster.size()}, {"transport", transport}}};
}

/// `mpi`, `job`: findings that depend on the launcher's variables.
std::vector<Finding> examine(const Cluster& cluster, Finding mpi, Finding job) {
  const Machine machine = this_machine();
  return {
      {"ferry", FERRY_VERSION ", built by " FERRY_COMPILER, {{"version", FERRY_VERSION}, {"compiler", FERRY_COMPILER}}},
      {"host", machine.host, machine.host},
      cpu_finding(machine),
      memory_finding(machine),
      shm_finding(machine),
      tcp_finding(machine),
      {"descriptors", std::to_string(machine.descriptors), machine.descriptors},
      gpus_finding(cluster),
      kernels_finding(),
      compiler_finding(),
      std::move(mpi),
      launcher_finding(cluster.size() == 1),
      threads_finding(cluster),
      std::move(job)};
}

/// The findings of all tasks of the job. Collective: all tasks call it.
std::vector<TaskFindings> examine_all(const Cluster& cluster) {
  const std::string mine = packed(examine(cluster, mpi_finding(), job_finding(cluster))) + "\n";
  const std::vector<std::uint8_t> all =
      cluster.all_gather(std::span(reinterpret_cast<const std::uint8_t*>(mine.data()), mine.size()));
  const std::string text(all.begin(), all.end());
  const std::vector<std::string_view> lines = split(text, '\n');
  std::vector<TaskFindings> tasks;
  for (const TaskInfo& info : cluster.topology().tasks) tasks.push_back({info.host, unpacked(lines[tasks.size()])});
  return tasks;
}

/// The findings of this process alone.
std::vector<TaskFindings> examine_alone(const Error& error) {
  Finding mpi{"mpi", "unknown", nlohmann::json::object()};
  try {
    mpi = mpi_finding();
  } catch (const Error& unusable) {
    mpi.text = first_line(unusable);
  }
  const Cluster alone = Cluster::over(inproc_transports(1));
  return {{0, examine(alone, std::move(mpi), no_job_finding(error))}};
}

void report(std::span<const TaskFindings> tasks, bool as_json) {
  print(as_json ? doctor_json(tasks) : doctor_text(tasks));
}

int doctor(bool as_json) try {
  const Cluster cluster = Cluster::connect();
  const std::vector<TaskFindings> tasks = examine_all(cluster);
  if (cluster.rank() == 0) report(tasks, as_json);
  return 0;
} catch (const Error& error) {
  if (!error.is_told_elsewhere() && error.code() != Code::interrupted) report(examine_alone(error), as_json);
  throw;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("doctor", "Reports the installation, this machine, and this job");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Prints one JSON object");
  add_examples(*command, R"(
    ferry doctor                    this machine
    mpirun -np 2 ferry doctor       what all tasks of a job find, in one table; differences have a star)");
  command->callback([&action, as_json] { action = [as_json] { return doctor(*as_json); }; });
}

}  // namespace ferry
