// The `ferry` command.
#include <CLI/CLI.hpp>

#include "base/process/descriptor.hpp"
#include "base/system/output.hpp"
#include "runner/command/commands.hpp"
#include "runner/options/command_line.hpp"
#include "runner/run/job.hpp"

namespace {

int run_command_line(int argc, char** argv) {
  CLI::App app("ferry runs dataflow graphs over tasks and finds the messages by itself.", "ferry");
  app.set_version_flag("--version", "ferry " FERRY_VERSION);
  app.require_subcommand(1);
  ferry::Action action;
  ferry::add_run_command(app, action);
  ferry::add_plan_command(app, action);
  ferry::add_explain_command(app, action);
  ferry::add_check_command(app, action);
  ferry::add_show_command(app, action);
  ferry::add_import_command(app, action);
  ferry::add_conformance_command(app, action);
  ferry::add_doctor_command(app, action);
  ferry::add_report_command(app, action);
  ferry::add_bench_command(app, action);
  std::vector<std::string> launched;
  ferry::add_launch_command(app, launched, action);
  ferry::add_examples(app, R"(
    ferry run add.pb --tasks 3    runs a graph on three virtual tasks
    mpirun -np 3 ferry run add.pb    the same on three processes
    ferry launch -n 3 ferry run add.pb    the same without MPI
    ferry plan add.pb --tasks 3    prints who does what, and every message
    ferry COMMAND --help  the options of a command, with examples)");
  launched = ferry::take_launched(app, argc, argv);
  const auto parse = [&] { return ferry::parse_command_line(app, argc, argv); };
  const bool joins_job = argc > 1 && (std::string_view(argv[1]) == "run" || std::string_view(argv[1]) == "doctor");
  return (joins_job ? ferry::before_job({}, parse) : parse()) ? action() : 0;
}

}  // namespace

int main(int argc, char** argv) {
  ferry::open_standard();
  const ferry::WithoutWriteSignals no_signals;
  return ferry::guarded([&] { return run_command_line(argc, argv); });
}
