#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "runner/command/commands.hpp"
#include "runner/launch/worker.hpp"
#include "runner/options/number_options.hpp"

namespace ferry {

void add_worker_command(CLI::App& app, const std::vector<std::string>& launched, Action& action) {
  CLI::App* command = app.add_subcommand(
      "worker", "Runs an ssh server in a container, for ferry launch; after SIGTERM, its tasks save first");
  auto options = std::make_shared<WorkerOptions>();
  auto port = std::make_shared<int>(0);
  command->add_option("COMMAND", options->command,
                      "The ssh server, in the foreground: the first word that is not an option, or all words after --; "
                      "default: /usr/sbin/sshd -De");
  constexpr int kMostPort = 65535;
  restrict_range(
      command->add_option("--port", *port, "The port of the ssh server; without it the port of its configuration"), 1,
      kMostPort);
  command
      ->add_option_function<std::string>(
          "--grace", [options](const std::string& text) { options->grace = time_span("--grace", text); },
          "How long tasks may continue after SIGTERM, as to save a checkpoint; default 30, as "
          "terminationGracePeriodSeconds of Kubernetes")
      ->type_name("SECONDS");
  add_examples(*command, R"(
    ferry worker    /usr/sbin/sshd -De; after SIGTERM its tasks save a checkpoint before it ends
    ferry worker --port 2222 --grace 110    another port, and more time
    ferry worker -- /usr/sbin/sshd -De -f sshd_config    an ssh server with options of yours)");
  command->callback([&action, &launched, options, port] {
    action = [&launched, options, port] {
      if (*port != 0 && !launched.empty())
        throw Error(Code::usage, "ferry worker: --port is for the ssh server that it starts without a COMMAND")
            .hint("leave out --port, and name the port in COMMAND");
      options->command = launched;
      if (launched.empty()) options->command = {"/usr/sbin/sshd", "-De"};
      if (*port != 0) options->command.push_back("-p" + std::to_string(*port));
      return run_worker(*options);
    };
  });
}

}  // namespace ferry
