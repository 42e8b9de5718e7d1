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
      command.add_option(
          "-n,--tasks", options.tasks,
          "The number of tasks (or -np N); default: one for each slot of the hosts, or for each core of this host"),
      1, kMostTasks);
  restrict_range(
      command.add_option("--ppn", options.per_host, "The number of tasks on each host (or -ppn K); default: its slots"),
      1, kMostTasks)
      ->type_name("K");
  CLI::Option* hosts =
      command
          .add_option("--hosts", options.hosts,
                      "The hosts and their slots, such as h1:2,h2; default: the nodes of the SLURM allocation, else "
                      "this host")
          ->type_name("HOST[:N],…");
  command
      .add_option(
          "--hostfile", options.hostfile,
          "A file with one host on each line, \"h1 slots=2 max_slots=4\" or \"h1:2\"; # begins a comment; default: the "
          "file that OMPI_MCA_orte_default_hostfile, I_MPI_HYDRA_HOST_FILE or HYDRA_HOST_FILE names")
      ->type_name("FILE")
      ->excludes(hosts);
  command
      .add_option("--interface", options.interface,
                  "The interface of this host, by name or address, on which the tasks meet; default: the one that "
                  "reaches the first host by ssh")
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
          "Adds a variable to the environment of all tasks; on other hosts it is the environment of an ssh login; "
          "repeatable")
      ->type_name("NAME[=VALUE]")
      ->trigger_on_parse();
}

void add_end_options(CLI::App& command, LaunchOptions& options) {
  command.add_flag(
      "--go-on", options.continue_after_loss,
      "Continues after the loss of a task other than task 0, or of its host; the other tasks decide whether the "
      "job ends");
  restrict_range(command.add_option("--restarts", options.restarts, "The number of times to start a failed job again"),
                 0, kMostRestarts);
  command
      .add_option_function<std::string>(
          "--restart-wait",
          [&options](const std::string& text) { options.restart_wait = time_span("--restart-wait", text); },
          "The wait before the first restart; it doubles with each restart, up to 60; default 1")
      ->type_name("SECONDS");
  command
      .add_option_function<std::string>(
          "--deadline", [&options](const std::string& text) { options.arrival_wait = time_span("--deadline", text); },
          "The time to reach all hosts; ferry tries a host again until then; default 60")
      ->type_name("SECONDS");
  command
      .add_option_function<std::string>(
          "--grace", [&options](const std::string& text) { options.grace = time_span("--grace", text); },
          "The time that tasks have after Ctrl-C or SIGTERM before ferry kills them, and with --go-on after the end of "
          "task 0; default 30")
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
                      "The command of each task: the first word that is not an option, or all words after --");
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
