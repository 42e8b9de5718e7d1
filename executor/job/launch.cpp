#include "executor/job/launch.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/process/environment.hpp"
#include "base/system/clock.hpp"
#include "base/system/interrupt.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "comm/launch_variables.hpp"

namespace ferry {
namespace {

constexpr std::chrono::seconds kTask0Prints{2};  // the time for task 0 to come to the same error and print it

Launch over_tcp(TcpOptions found, const ClusterOptions& options) {
  Launch launch{Launch::By::tcp, found.tasks, found.task, std::move(found)};
  launch.tcp.deadline = options.deadline;
  if (!options.interface.empty()) launch.tcp.interface = options.interface;
  return launch;
}

/// Why no MPI was found: the missing plug-in, if an MPI is there, else the first library that is not.
std::string reason_of(const MpiFound& mpi) {
  const auto plugin = std::ranges::find_if(
      mpi.tried, [](const std::string& why) { return why.find("libferry_mpi_") != std::string::npos; });
  return plugin != mpi.tried.end() ? *plugin : mpi.tried.front();
}

/// A launch over TCP. The tasks find one another through the launcher's PMI.
Launch over_pmi(const MpiLaunch& numbers, std::string reason, const ClusterOptions& options) {
  TcpOptions tcp{.task = numbers.rank, .tasks = numbers.size, .rendezvous = kPmiPlace, .reason = std::move(reason)};
  tcp.interface = environment("FERRY_INTERFACE");
  tcp.secret = environment("FERRY_SECRET");
  return over_tcp(std::move(tcp), options);
}

/// "RANK and WORLD_SIZE say", or the names of another launcher.
std::string numbers_say(const TcpOptions& tcp) {
  return tcp.rank_variable + " and " + tcp.size_variable + " say";
}

/// Error(usage) unless the launcher of MPI and the variables of TCP agree on rank and size.
void require_agreement(const MpiLaunch& mpi, const TcpOptions& tcp) {
  if (mpi.rank == tcp.task && mpi.size == tcp.tasks) return;
  throw Error(Code::usage, "launch: " + mpi.by + " says that this is task " + std::to_string(mpi.rank) + " of " +
                               std::to_string(mpi.size) + ", " + numbers_say(tcp) + " " + std::to_string(tcp.task) +
                               " of " + std::to_string(tcp.tasks))
      .hint("choose by --transport mpi or --transport tcp, or unset the variables of another launch");
}

/// The variables that number the tasks of a launch over TCP, or have an address for it, if they are set and do not
/// suffice for a launch.
std::vector<LaunchVariable> incomplete_launch() {
  std::vector<LaunchVariable> found;
  if (tcp_launch()) return found;
  for (const LaunchVariable& variable : kLaunchVariables) {
    using enum LaunchVariable::Meaning;
    const bool counts = variable.meaning == rank || variable.meaning == size || variable.meaning == address;
    if (variable.by == Launcher::tcp && counts && !environment(variable.name.data()).empty()) found.push_back(variable);
  }
  return found;
}

/// Error(usage) if this process is one of several tasks that were not started by a launcher of MPI: over MPI each of
/// them would be a job of its own.
void require_no_other_launch() {
  const auto tcp = tcp_launch();
  const auto numbers = numbered_launch();
  for (const LaunchVariable& variable : incomplete_launch())
    if (variable.meaning != LaunchVariable::Meaning::address)
      throw Error(Code::usage,
                  "--transport mpi: {}={} is set, and no mpirun or srun --mpi=pmix has started this process",
                  as_is(variable.name), environment(variable.name.data()))
          .hint("start the tasks by mpirun or srun --mpi=pmix, or unset {}", as_is(variable.name));
  const int tasks = tcp ? tcp->tasks : numbers ? numbers->size : 1;
  if (tasks == 1) return;
  throw Error(Code::usage,
              "--transport mpi: {} that this is one of {} tasks, and no mpirun or srun --mpi=pmix has started it",
              tcp ? numbers_say(*tcp) : numbers->by + " says", tasks)
      .hint(
          "leave --transport out, start the tasks by mpirun or srun --mpi=pmix, or unset the variables of another "
          "launch");
}

/// Error(usage) if only FERRY_RENDEZVOUS is set: each task would be a job of its own.
void require_numbers() {
  if (environment("FERRY_RENDEZVOUS").empty() || numbered_launch()) return;
  throw Error(Code::usage, "launch: FERRY_RENDEZVOUS is set, RANK and WORLD_SIZE are not")
      .hint(
          "set RANK, from 0, and WORLD_SIZE for each task, or unset FERRY_RENDEZVOUS; --transport inproc is a job of "
          "this process alone");
}

}  // namespace

Launch launch_of(const ClusterOptions& options) {
  const std::string& wanted = options.transport;
  if (wanted == "inproc") return {};
  if (wanted == "mpi") {
    const auto mpi = mpi_launch();
    if (!mpi) require_no_other_launch();
    return {Launch::By::mpi, mpi ? mpi->size : 1, mpi ? mpi->rank : 0, {}};
  }
  if (wanted == "tcp") {
    auto tcp = tcp_launch();
    const auto numbers = tcp ? std::nullopt : numbered_launch();
    if (numbers && numbers->size > 1) tcp = tcp_launch(numbers);
    if (!tcp && numbers && numbers->size > 1 && pmi_offered()) return over_pmi(*numbers, "--transport tcp", options);
    if (!tcp && numbers && numbers->size > 1)
      throw Error(Code::usage, "--transport tcp: " + numbers->by + " says that there are " +
                                   std::to_string(numbers->size) + " tasks, and nothing says where they meet")
          .hint(
              "FERRY_RENDEZVOUS=file:/shared/folder/NAME, or MASTER_ADDR and MASTER_PORT, for all of them "
              "(mpirun -x FERRY_RENDEZVOUS; docs/getting_started/rendezvous.md)");
    if (!tcp)
      throw Error(Code::usage, "--transport tcp: RANK and WORLD_SIZE are not set")
          .hint(
              "start each task of a job with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or RANK, WORLD_SIZE and "
              "FERRY_RENDEZVOUS (docs/getting_started/rendezvous.md)");
    return over_tcp(*std::move(tcp), options);
  }
  if (wanted != "auto")
    throw Error(Code::usage, "--transport " + wanted + ": unknown").hint("one of auto, inproc, mpi, tcp");
  const auto mpi = mpi_launch();
  auto tcp = tcp_launch();
  const bool by_mpi = mpi && mpi->size > 1, by_tcp = tcp && tcp->tasks > 1;
  if (by_mpi && by_tcp) require_agreement(*mpi, *tcp);
  // If the launcher offers PMI, the tasks can run without an MPI library, unless FERRY_MPI asks for one.
  if (by_mpi && pmi_offered() && environment("FERRY_MPI").empty())
    if (const MpiFound found = find_mpi(); found.version.empty()) return over_pmi(*mpi, reason_of(found), options);
  if (by_mpi) return {Launch::By::mpi, mpi->size, mpi->rank, {}};
  if (by_tcp) return over_tcp(*std::move(tcp), options);
  if (!tcp) require_numbers();
  return {};
}

int launched_tasks(const ClusterOptions& options) {
  return launch_of(options).processes;
}

int launched_task(const ClusterOptions& options) {
  return launch_of(options).task;
}

void warn_of_copies(const ClusterOptions& options) {
  if (options.transport != "auto") return;
  const auto numbers = numbered_launch();
  if (const auto variables = incomplete_launch(); !numbers && !variables.empty()) {
    std::vector<std::string> names, values;
    for (const LaunchVariable& variable : variables) {
      names.emplace_back(variable.name);
      values.push_back(formatted("{}={}", as_is(variable.name), environment(variable.name.data())));
    }
    log_warn(join(values, " and ") + (values.size() == 1 ? " is" : " are") +
             " set, but no other variable of a launch: this process runs the whole job by itself\n  "
             "try: set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for each task "
             "(docs/getting_started/rendezvous.md), or unset " +
             join(names, " and "));
  }
  if (!numbers || numbers->size == 1 || numbers->rank != 0) return;
  log_warn("srun starts this program " + std::to_string(numbers->size) + " times (" + numbers->by +
           "), and each runs the whole job by itself\n  try: srun --mpi=pmix for Open MPI, srun --mpi=pmi2 for MPICH "
           "or without an MPI; or --transport tcp, with "
           "FERRY_RENDEZVOUS=file:/shared/folder/NAME (docs/getting_started/rendezvous.md); or --transport inproc if "
           "separate jobs are meant");
}

Error let_task_0_print(Error error) {
  try {
    end_others_at_exit();
    const auto launch = mpi_launch();
    if (!launch || launch->rank == 0) return error;
    if (interrupt_requested() != 0) return error.told_elsewhere();
    // The launcher ends this process by SIGTERM, which a handler would report.
    struct sigaction ends {};
    struct sigaction before {};
    ends.sa_handler = SIG_DFL;
    sigaction(SIGTERM, &ends, &before);
    system_clock().sleep(kTask0Prints);
    sigaction(SIGTERM, &before, nullptr);
  } catch (const Error&) {  // contradictory or incomplete variables
  }
  return error;
}

OutputOfLaunch output_of_launch() {
  try {
    if (mpi_launch()) return OutputOfLaunch::together;
    const auto tcp = tcp_launch();
    return tcp && tcp->served ? OutputOfLaunch::numbered : OutputOfLaunch::apart;
  } catch (const Error&) {  // contradictory or incomplete variables
    return OutputOfLaunch::apart;
  }
}

}  // namespace ferry
