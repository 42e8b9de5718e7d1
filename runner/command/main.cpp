// The `ferry` command.
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/descriptor.hpp"
#include "base/system/output.hpp"
#include "runner/command/commands.hpp"
#include "runner/options/command_line.hpp"
#include "runner/run/job.hpp"

namespace {

/// The words of the command line; "ferry" alone and "ferry help [COMMAND]" become a request for help.
std::vector<char*> words_of(int argc, char** argv) {
  static char help[] = "--help";
  std::vector<char*> words(argv, argv + argc);
  if (argc == 1) words.push_back(help);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back(help);
  }
  words.push_back(nullptr);
  return words;
}

int run_command_line(int argc, char** argv) {
  CLI::App app("ferry runs dataflow graphs on one task or many, and generates the messages between the tasks.",
               "ferry");
  app.set_version_flag("-v,--version", "ferry " FERRY_VERSION)->description("Prints the version");
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
  ferry::add_new_command(app, action);
  ferry::add_bench_command(app, action);
  ferry::add_calibrate_command(app, action);
  ferry::add_quote_command(app, action);
  std::vector<std::string> launched;
  ferry::add_launch_command(app, launched, action);
  ferry::add_worker_command(app, launched, action);
  ferry::add_examples(app, R"(
    ferry run add.pb --tasks 3    runs a graph on three virtual tasks
    mpirun -np 3 ferry run add.pb    the same on three processes
    ferry launch -n 3 ferry run add.pb    the same without MPI
    ferry plan add.pb --tasks 3    a summary of the plan, and the largest messages
    ferry help COMMAND    the options of a command, with examples)");
  launched = ferry::take_launched(app, argc, argv);
  const auto parse = [&] { return ferry::parse_command_line(app, argc, argv); };
  const std::string_view command = argc > 1 ? argv[1] : "";
  const bool joins_job = command == "run" || command == "doctor" || command == "calibrate";
  return (joins_job ? ferry::run_before_job({}, parse) : parse()) ? action() : 0;
}

}  // namespace

int main(int argc, char** argv) {
  ferry::open_standard();
  const ferry::WithoutWriteSignals no_signals;
  std::vector<char*> words = words_of(argc, argv);
  return ferry::guarded([&] { return run_command_line(static_cast<int>(words.size()) - 1, words.data()); });
}
