#include <CLI/CLI.hpp>
#include <memory>

#include "base/files/files.hpp"
#include "base/text.hpp"
#include "runner/command/commands.hpp"
#include "runner/files/written_files.hpp"
#include "runner/report/report_page.hpp"
#include "runner/report/run_report.hpp"

namespace ferry {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  std::string out;
};

/// What a report, or a trace, says of its run.
ReportedRun read_run(const std::string& file) {
  const FileBytes bytes = local_files().read(file);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (is_report_page(text)) return {file, run_in_page(text, file)};
  RunReport report("");
  report.set_trace(text, file);
  return {file, report.json()};
}

int write_report(const ReportOptions& options) {
  check_report_file("--out", options.out);
  std::vector<GivenFile> read;
  for (const std::string& file : options.files) read.push_back({"", file});
  require_apart(read, {{"--out", options.out}});
  std::vector<ReportedRun> runs;
  for (const std::string& file : options.files) runs.push_back(read_run(file));
  local_files().write(options.out, report_page(runs));
  return 0;
}

}  // namespace

void add_report_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("report", "Shows two runs side by side, or a trace, as a page for a browser");
  auto options = std::make_shared<ReportOptions>();
  command
      ->add_option("FILE", options->files,
                   "One or two runs: what ferry run --report (.html) or ferry run --trace (.json) wrote")
      ->required()
      ->expected(1, 2);
  command->add_option("--out", options->out, "The page")->required()->type_name("FILE.html");
  add_examples(*command, R"(
    ferry report before.html after.html --out both.html    what became faster, line by line
    ferry report trace.json --out trace.html               the trace of an earlier version too)");
  command->callback([&action, options] { action = [options] { return write_report(*options); }; });
}

}  // namespace ferry
