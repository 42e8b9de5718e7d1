#include <CLI/CLI.hpp>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/files/files.hpp"
#include "base/number_text.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "bench/calibration/calibration.hpp"
#include "runner/command/commands.hpp"
#include "runner/files/cluster_file.hpp"
#include "runner/files/written_files.hpp"
#include "runner/options/number_options.hpp"
#include "runner/run/job.hpp"

namespace ferry {
namespace {

struct CalibrateOptions {
  JobOptions job;
  std::string out;
  double seconds = 20;
};

constexpr int kDigits = 4;  // significant digits of a figure

/// The number with kDigits significant digits: a measurement is not more exact.
double rounded(double number) {
  double result = 0;
  static_cast<void>(parse_real(digits_text(number, kDigits), result));
  return result;
}

LinkCost rounded(const LinkCost& link) {
  return {rounded(link.latency_seconds), rounded(link.bytes_per_second)};
}

/// The costs with rounded figures. A link that was not measured has the default costs.
PlanningCosts rounded(PlanningCosts costs) {
  costs.on_host = rounded(costs.on_host);
  costs.between_hosts = rounded(costs.between_hosts);
  for (std::optional<LinkCost>* const sums : {&costs.sums_on_host, &costs.sums_between_hosts})
    if (*sums) *sums = rounded(**sums);
  ComputeCosts& c = costs.compute;
  for (double* const figure :
       {&c.call, &c.wait, &c.memory_byte, &c.cache_byte, &c.cache_bytes, &c.product_flop, &c.convolution_flop,
        &c.reduction_flop, &c.element_flop, &c.parallel_flops, &c.parallel_bytes})
    *figure = rounded(*figure);
  return costs;
}

std::string ps(double picoseconds) {
  return digits_text(picoseconds, kDigits) + " ps";
}

std::string text_of(const LinkCost& link) {
  return digits_text(rounded(link.latency_seconds * 1e6), kDigits) + " us + bytes / " +
         digits_text(rounded(link.bytes_per_second * 1e-9), kDigits) + " GB/s";
}

/// A line for each kind of sums: "all-reduce of 2 tasks of a host: 4 B 1.9 us, …".
std::string sums_text(const std::vector<bench::AllReduceTimes>& all) {
  std::string text;
  for (const bench::AllReduceTimes& sums : all) {
    std::vector<std::string> times;
    for (const auto& [bytes, seconds] : sums.seconds)
      times.push_back(human_bytes(static_cast<std::uint64_t>(bytes)) + " " +
                      digits_text(rounded(seconds * 1e6), kDigits) + " us");
    text += "all-reduce of " + plural(static_cast<std::uint64_t>(sums.members), "task") +
            (sums.one_host ? " of a host: " : ", each on another host: ") + join(times, ", ") + "\n";
  }
  return text;
}

std::string summary(const Topology& measured, const std::vector<bench::AllReduceTimes>& sums) {
  const ComputeCosts& c = measured.compute;
  std::string text = "a kernel's call " + digits_text(rounded(c.call * 1e-3), kDigits) + " ns\n" + "a byte " +
                     ps(c.memory_byte) + "; " + ps(c.cache_byte) + " in kernels that touch at most " +
                     human_bytes(static_cast<std::uint64_t>(c.cache_bytes)) + "\n" + "a flop of products " +
                     ps(c.product_flop) + ", of convolutions " + ps(c.convolution_flop) + ", of reductions " +
                     ps(c.reduction_flop) + ", of other ops " + ps(c.element_flop) + "\n";
  if (measured.tasks[0].threads > 1)
    text += plural(measured.tasks[0].threads, "thread") + " divide " + digits_text(c.parallel_flops, kDigits) +
            " of arithmetic and " + digits_text(c.parallel_bytes, kDigits) + " of memory traffic\n";
  if (measured.size() == 1) return text;
  text += "a message that a task waits for " + digits_text(rounded(c.wait * 1e-6), kDigits) + " us more\n";
  const PlanningCosts usual;
  if (measured.on_host != usual.on_host) text += "messages on a host " + text_of(measured.on_host) + "\n";
  if (measured.between_hosts != usual.between_hosts)
    text += "messages between hosts " + text_of(measured.between_hosts) + "\n";
  return text + sums_text(sums);
}

/// Puts the tasks of each host into one memory group. The virtual tasks of this process represent processes, which
/// share memory on a host.
void share_memory(Topology& topology) {
  for (TaskInfo& task : topology.tasks) task.memory_group = task.host;
}

int calibrate(const CalibrateOptions& options) {
  run_before_job(options.job.cluster, [&] { check_written_file("-o", options.out); });
  run_in_job(options.job, false, [&](const Cluster& cluster) {
    const bench::Calibration made = bench::calibrate(cluster, options.seconds);
    if (cluster.rank() != 0) return;
    Topology measured = cluster.topology();
    static_cast<PlanningCosts&>(measured) = rounded(made.costs);
    if (std::ssize(cluster.local_tasks()) == cluster.size()) share_memory(measured);
    std::string comments = "# Written by ferry calibrate.\n";
    const std::string sums = sums_text(made.sums);
    for (const std::string_view line : split(sums, '\n'))
      if (!line.empty()) comments.append("# ").append(line).append("\n");
    local_files().write(options.out, comments + cluster_text(measured, own_origin()));
    print(summary(measured, made.sums));
  });
  return 0;
}

}  // namespace

void add_calibrate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measures this machine and the links of this job, and writes the costs for plans");
  auto options = std::make_shared<CalibrateOptions>();
  command->add_option("-o,--out", options->out, "The file to write")->type_name("FILE.pbtxt")->required();
  restrict_range(command->add_option("--tasks", options->job.cluster.tasks,
                                     "The number of virtual tasks in this process, if no launcher started it"),
                 1, kMostTasks);
  restrict_range(
      command->add_option(
          "--threads", options->job.cluster.threads,
          "Threads of each task; default: the cores that this process may use, divided by the tasks that share them"),
      1, kMostThreads);
  command->add_option("--seconds", options->seconds, "How long to measure; default 20")
      ->check(CLI::Range(0.1, 50.0).description(""))
      ->type_name("SECONDS");
  add_examples(*command, R"(
    ferry calibrate -o machine.pbtxt                 the kernels of this machine
    mpirun -np 2 ferry calibrate -o machine.pbtxt    and the messages between the tasks of a job
    ferry run model.pb --cluster machine.pbtxt       plans with these costs)");
  command->callback([&action, options] { action = [options] { return calibrate(*options); }; });
}

}  // namespace ferry
