#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "base/format.hpp"
#include "comm/launch_variables.hpp"
#include "executor/cluster.hpp"
#include "runner/command/commands.hpp"
#include "runner/launch/agent.hpp"
#include "runner/launch/launcher.hpp"
#include "runner/options/number_options.hpp"

namespace ferry {
namespace {

constexpr int kMostRestarts = 1'000'000;
constexpr std::string_view kRendezvousVariable = "FERRY_RENDEZVOUS";

/// "NAME=VALUE" for a task. A NAME alone gets the value that the variable has in this process.
std::string variable_of(const std::string& text) {
  const std::string name = text.substr(0, text.find('='));
  if (name.empty()) throw Error(Code::usage, "-x {}: no name", text).hint("-x NAME=VALUE");
  const auto is_own = [&](const LaunchVariable& variable) {
    return variable.set_by_ferry_launch && variable.name == name;
  };
  if (std::ranges::any_of(kLaunchVariables, is_own))
    throw Error(Code::usage, "-x {}: ferry launch itself gives each task its {}", text, as_is(name))
        .hint(name == "MASTER_ADDR" ? "--interface NAME" : "leave it out");
  if (name == kRendezvousVariable)
    throw Error(Code::usage, "-x " + name + ": the tasks of ferry launch meet at the launcher").hint("leave it out");
  if (name.size() < text.size()) return text;
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) throw Error(Code::usage, "-x {}: it is not set here", name).hint("-x " + name + "=VALUE");
  return name + "=" + value;
}

/// True if the word is an option of `command` and the next word is its value.
bool takes_next(const CLI::App& command, const std::string& word) {
  if (word.find('=') != std::string::npos) return false;
  const CLI::Option* option = command.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_min() > 0;
}

void add_host_options(CLI::App& command, LaunchOptions& options) {
  restrict_range(
      command.add_option("-n,--tasks", options.tasks,
                         "How many tasks (or -np N); without it one for each slot of the hosts, or core of this one"),
      1, kMostTasks);
  restrict_range(command.add_option("--ppn", options.per_host,
                                    "How many on each host (or -ppn K); without it as many as it has slots"),
                 1, kMostTasks)
      ->type_name("K");
  CLI::Option* hosts =
      command
          .add_option("--hosts", options.hosts,
                      "Where, and how many slots each host has: h1:2,h2; without it on the nodes of the SLURM "
                      "allocation, or else on this host")
          ->type_name("HOST[:N],…");
  command
      .add_option(
          "--hostfile", options.hostfile,
          "The same from a file, a host a line: \"h1 slots=2 max_slots=4\" or \"h1:2\"; # begins a comment; without "
          "it the file that OMPI_MCA_orte_default_hostfile, I_MPI_HYDRA_HOST_FILE or HYDRA_HOST_FILE names")
      ->type_name("FILE")
      ->excludes(hosts);
  command
      .add_option("--interface", options.interface,
                  "The interface, by name or address, of this host on which the tasks meet; without it the one by "
                  "which the first host is reached by ssh")
      ->type_name("NAME");
  command
      .add_option(
          "--ssh", options.ssh,
          "The command that reaches a host, with options: \"ssh -p 2222 -i key\"; default: ssh, and srun for the "
          "nodes of an allocation")
      ->type_name("COMMAND");
  command
      .add_option_function<std::string>(
          "-x,--env", [&options](const std::string& text) { options.variables.push_back(variable_of(text)); },
          "A variable for the environment of all tasks, which on other hosts is that of an ssh login; repeatable")
      ->type_name("NAME[=VALUE]")
      ->trigger_on_parse();
}

void add_end_options(CLI::App& command, LaunchOptions& options) {
  command.add_flag(
      "--go-on", options.continue_after_loss,
      "A task other than task 0 that is killed, or whose host is lost, does not end the job: that is for the "
      "other tasks to decide");
  restrict_range(command.add_option("--restarts", options.restarts, "How often the job is started again when it fails"),
                 0, kMostRestarts);
  command
      .add_option_function<std::string>(
          "--restart-wait",
          [&options](const std::string& text) { options.restart_wait = time_span("--restart-wait", text); },
          "How long to wait before the first restart; doubles with each, up to 60; default 1")
      ->type_name("SECONDS");
  command
      .add_option_function<std::string>(
          "--deadline", [&options](const std::string& text) { options.arrival_wait = time_span("--deadline", text); },
          "How long hosts may take to come: those that ssh does not reach yet are tried again; default 60")
      ->type_name("SECONDS");
  command
      .add_option_function<std::string>(
          "--grace", [&options](const std::string& text) { options.grace = time_span("--grace", text); },
          "How long tasks may go on after Ctrl-C or SIGTERM before they are killed, or with --go-on after task 0; "
          "default 30")
      ->type_name("SECONDS");
}

}  // namespace

std::vector<std::string> take_launched(const CLI::App& app, int& argc, char** argv) {
  if (argc < 2 || (std::strcmp(argv[1], "launch") != 0 && std::strcmp(argv[1], "worker") != 0)) return {};
  const CLI::App& command = *app.get_subcommand(argv[1]);
  int end = 2;
  while (end < argc && argv[end][0] == '-' && std::strcmp(argv[end], "--") != 0) {
    // mpirun's spelling; CLI11 would read -p pn and -n p.
    static char per_host[] = "--ppn", tasks[] = "--tasks";
    if (std::strcmp(argv[end], "-ppn") == 0) argv[end] = per_host;
    if (std::strcmp(argv[end], "-np") == 0) argv[end] = tasks;
    end += takes_next(command, argv[end]) ? 2 : 1;
  }
  end = std::min(end, argc);
  const int begin = end < argc && std::strcmp(argv[end], "--") == 0 ? end + 1 : end;
  std::vector<std::string> launched(argv + begin, argv + argc);
  argc = end;
  return launched;
}

void add_launch_command(CLI::App& app, const std::vector<std::string>& launched, Action& action) {
  CLI::App* command = app.add_subcommand("launch", "Starts the tasks of a job, here or over ssh, and supervises them");
  auto options = std::make_shared<LaunchOptions>();
  auto is_agent = std::make_shared<bool>(false);
  command->add_option("COMMAND", options->command,
                      "What each task runs: the first word that is no option, or all after --");
  add_host_options(*command, *options);
  add_end_options(*command, *options);
  command->add_flag("--agent", *is_agent)->group("");  // the launcher starts its agent on a host with it
  add_examples(*command, R"(
    ferry launch -n 2 -- ferry run model.pb    two tasks on this host
    ferry launch --hosts h1:2,h2:2 -- ferry run model.pb    four tasks on two hosts
    ferry launch --hostfile hosts.txt -ppn 1 --restarts 3 -- ferry run model.pb --checkpoint c --resume
    ferry launch -n 3 sh -c 'echo $RANK of $WORLD_SIZE'    any program)");
  command->callback([&action, &launched, options, is_agent] {
    action = [&launched, options, is_agent] {
      if (*is_agent) return run_launch_agent();
      options->command = launched;
      if (launched.empty())
        throw Error(Code::usage, "ferry launch: no command").hint("ferry launch -n 2 -- ferry run model.pb");
      return launch(*options);
    };
  });
}

}  // namespace ferry
